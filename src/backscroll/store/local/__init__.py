"""A store on this machine's own disk: SQLite for rows, tantivy for words."""

from backscroll.store.local.store import LocalStore

__all__ = ["LocalStore"]
