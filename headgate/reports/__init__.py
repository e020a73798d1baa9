"""Reports about the record: what they say, and the files that they are."""
