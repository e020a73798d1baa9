"""Routes of people about their own second factor."""
