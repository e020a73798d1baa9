"""Explains refusals to developers."""
