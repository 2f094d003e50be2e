"""The searchable data: rows, chats and words, derived from the transcripts. One interface, several stores."""
