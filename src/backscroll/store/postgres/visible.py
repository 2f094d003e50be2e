"""Limit statements to one build of the index and to what a scope allows the reader to see.

Every table is shadowed by a common table expression of the same name, as in the local store. Row-level security is the
second wall: without the shadows, the reader's role would still see nothing else.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, Final

from backscroll.store.postgres.connection import PgConnection, run
from backscroll.store.reader import Scope
from backscroll.store.sql.statements import StatementRows


class PgRows:
    """The rows of a build within a scope."""

    def __init__(self, connection: PgConnection, scope: Scope) -> None:
        self.scope = scope
        self._connection = connection
        homes = sorted(scope.homes or ())
        self._rights = {
            "scope_machines": [machine for machine, _ in homes],
            "scope_homes": [home for _, home in homes],
            "scope_sources": sorted(scope.sources),
        }

    @property
    def is_everything(self) -> bool:
        """Whether nothing is hidden from the reader."""
        return self.scope.homes is None

    def transaction(self) -> AbstractContextManager[object]:
        """Let all statements in it read the same state."""
        self._connection.as_reader(self.scope)
        return self._connection.snapshot()

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> StatementRows:
        """Run a statement that reads."""
        connection = self._connection.as_reader(self.scope)
        everything = self.is_everything
        rights = {} if everything else self._rights

        def change(text: str) -> str:
            return limited(text, everything=everything)

        return run(connection, statement, values, change, {**rights, "this_build": self._connection.build or 0})


@lru_cache(maxsize=2000)
def limited(statement: str, *, everything: bool) -> str:
    """Return the statement with every table limited to a build and, unless everything is visible, to a scope.

    Both are parameters: PostgreSQL prepares a statement once for all builds.
    """
    named = set(NAME.findall(statement))
    needed = [table for table in SHADOWS if table in named or (not everything and table in ("files", "chats"))]
    if not needed:
        return statement
    statement = statement.strip()
    own = WITH.match(statement)
    rest = f", {statement[own.end() :]}" if own else f" {statement}"
    shadows = []
    for table in needed:
        scope = "" if everything else f" and ({SHADOWS[table]})"
        rows = f"select * from backscroll.{table} where build = %(this_build)s{scope}"  # noqa: S608 - a name of ours
        if table == "files" and not everything:
            shadows.append(f"visible_files as not materialized ({rows})")
            rows = f"select f.* from visible_files f where {HAS_TRANSCRIPT}"  # noqa: S608
        shadows.append(f"{table} as not materialized ({rows})")
    return f"with recursive {', '.join(shadows)}{rest}"


# A tool's result in a file of its own is shown only with the transcript that it belongs to.
HAS_TRANSCRIPT: Final = """f.kind <> 'tool-result' or exists (
  select 1 from visible_files s where s.chat = f.chat and s.kind <> 'tool-result')"""
IN_FILES: Final = "file in (select id from files)"
SHADOWS: Final = {
    "files": "(machine, home) in (select * from unnest(%(scope_machines)s::text[], %(scope_homes)s::text[]))"
    " or source = any(%(scope_sources)s::text[])",
    "chats": "id in (select chat from files)",
    "blocks": "source_file in (select id from files) or source_file is null and chat in ("
    "select c.id from chats c where c.title_file in (select id from files))",
    **dict.fromkeys(
        ("records", "calls", "counted", "shared_answers", "spent", "unrecorded", "problems", "links", "titles"),
        IN_FILES,
    ),
    "shared_calls": "true",
    "marks": "true",
}
"""The visible rows of each table."""
WITH: Final = re.compile(r"with\s+(?:recursive\s+)?", re.IGNORECASE)
NAME: Final = re.compile(r"\b[a-z_]+\b")
