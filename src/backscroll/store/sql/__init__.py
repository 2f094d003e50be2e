"""Rows in SQL that SQLite and PostgreSQL both understand: what a store reads and writes, asked through its engine."""
