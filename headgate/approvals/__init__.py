"""Approvals: a held action, the votes on it, and what a retry of the same call may use."""
