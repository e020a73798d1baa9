"""The people of an organization, and shutting one of them out."""
