"""The tools of MCP servers, as they were accepted and seen."""
