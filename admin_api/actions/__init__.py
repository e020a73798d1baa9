"""Explicit actions, and what became of every action."""
