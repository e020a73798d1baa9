"""The record: events, their hash chain, and reading and verifying both."""
