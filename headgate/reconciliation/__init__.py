"""Checks that the tables behind lists and pages match the sealed events."""
