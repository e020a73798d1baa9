"""/admin/traffic: intercepted traffic, as it was captured and masked."""
