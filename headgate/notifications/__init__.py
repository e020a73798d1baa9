"""Notifications about approvals and incidents, in the channels that people use."""
