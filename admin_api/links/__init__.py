"""The page behind a link in a notification."""
