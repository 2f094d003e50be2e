"""The MCP server: the user's own history as memory for agents."""
