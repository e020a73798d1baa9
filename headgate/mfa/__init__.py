"""The second factor of people: recovery codes for those who have lost it, and TOTP where Headgate issues the tokens."""
