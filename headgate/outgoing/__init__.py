"""Calls that Headgate makes by itself: to addresses that the organization's rules permit, bounded in time and size."""
