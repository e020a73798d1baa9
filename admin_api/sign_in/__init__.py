"""Signing in with a browser: by a provider's authorization code, or by an address that the local issuer signed."""
