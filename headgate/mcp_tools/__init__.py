"""The tools that MCP servers offer, pinned to the definitions that were accepted."""
