"""A PostgreSQL, and a team server on a real socket."""

from tests.support.postgres import database, postgres

__all__ = ["database", "postgres"]
