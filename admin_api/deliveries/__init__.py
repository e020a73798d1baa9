"""What webhooks and notifications show of what was sent."""
