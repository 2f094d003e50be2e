"""A store on this machine's own disk: SQLite for rows, tantivy for words."""
