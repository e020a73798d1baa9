"""Grants: a person's standing permission for one agent's calls of one kind, bounded in time, number and sum."""
