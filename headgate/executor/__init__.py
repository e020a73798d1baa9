"""Carrying out what was allowed or approved: claim, decide again, attempt, settle."""
