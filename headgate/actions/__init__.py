"""Actions: what an agent wants to do, as it is decided, recorded and shown."""
