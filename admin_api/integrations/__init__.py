"""Settings of trackers, chats and source hosts, and what they send."""
