"""/admin/settings/siem."""
