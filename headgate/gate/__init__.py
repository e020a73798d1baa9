"""The policy decision point: from a call to its decision, its hold and its record."""
