"""OPA's own cases, run against this engine: what passes, what does not, and in which direction it fails."""
