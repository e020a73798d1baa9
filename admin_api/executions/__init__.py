"""Executions: what is queued, runs, and has run."""
