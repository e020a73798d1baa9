"""What Slack sends when somebody presses a button."""
