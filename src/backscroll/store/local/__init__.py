"""A store on this machine's disk: SQLite for rows, tantivy for words."""
