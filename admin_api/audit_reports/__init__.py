"""Reports about the record."""
