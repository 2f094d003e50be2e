"""Rows in SQL that SQLite and PostgreSQL both understand: the reads and writes of a store, run through its engine."""
