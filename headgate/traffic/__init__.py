"""Intercepted traffic, kept for review: captured, masked, sealed, read, erased."""
