"""Trackers, chats and source hosts in which approvals are asked for, shown and decided."""
