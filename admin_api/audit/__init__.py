"""The record, read and verified."""
