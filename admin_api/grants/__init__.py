"""Grants: what people have permitted beforehand."""
