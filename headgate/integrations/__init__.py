"""Trackers, chats and source hosts that show approval requests and take decisions on them."""
