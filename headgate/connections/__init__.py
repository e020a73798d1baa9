"""Credentials of other platforms: kept encrypted, chosen with the decision, added to a call after it, never shown."""
