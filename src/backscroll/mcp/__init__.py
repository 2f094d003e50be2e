"""The server for agents: the user's own history as memory, over the Model Context Protocol. A door."""
