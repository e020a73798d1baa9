"""Secrets that an organization entrusts to the gate: encrypted at rest, opened where they are used, never shown."""
