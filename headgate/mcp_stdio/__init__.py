"""An MCP server of the stdio transport behind the gate: the API decides each message before it is passed on."""
