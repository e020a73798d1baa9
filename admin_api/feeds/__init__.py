"""Live feeds: one poller for all viewers of an organization's events."""
