"""From texts to findings: secrets, personal data, and honest heuristics. Pure: no I/O but its own data files."""
