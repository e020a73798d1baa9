"""Passkeys of people whom no identity provider knows: Web Authentication (W3C, WebAuthn Level 3)."""
