"""Backup, restore and upgrade of an instance (docs/decisions/0089-a-backup-is-one-file.md)."""
