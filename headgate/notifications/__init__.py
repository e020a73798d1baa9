"""Telling people that something waits for them, where they already are."""
