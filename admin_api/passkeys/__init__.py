"""Routes of people about their own passkeys."""
