"""The journal and its applier (docs/decisions/0057-append-the-record-then-apply-it.md)."""
