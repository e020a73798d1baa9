"""Progress of background work, as server-sent events."""
