"""Half-remembered queries and questions over real chats, written by hand, and how well they are answered."""
