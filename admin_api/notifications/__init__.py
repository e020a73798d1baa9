"""/admin/notifications and /admin/settings/notifications."""
