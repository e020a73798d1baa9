"""The dashboard: pages for people, over the same routes that programs call."""
