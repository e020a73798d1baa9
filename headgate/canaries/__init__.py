"""Canary tokens: values that nobody needs, and that no call may hold."""
