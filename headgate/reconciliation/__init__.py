"""Whether the tables that lists show say what the sealed events say."""
