"""The store of a team server: rows, chats and words in PostgreSQL."""
