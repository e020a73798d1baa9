"""/admin/webhooks."""
