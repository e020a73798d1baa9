"""Clients for other people's programs that are published by themselves."""
