"""/v1/connections: credentials of other platforms, which agents use and never see."""
