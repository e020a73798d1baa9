"""The journal and its applier (docs/decisions/0057-the-record-is-appended-then-applied.md)."""
