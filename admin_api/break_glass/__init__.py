"""Breaking the glass, and its review."""
