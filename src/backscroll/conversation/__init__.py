"""Put conversations together. Pure: records in; messages, turns, branches, agents and chats out."""
