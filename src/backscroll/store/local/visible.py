"""Limit statements to the rows that a scope allows the reader to see.

Every table with content is shadowed by a common table expression of the same name that has only the rows of visible
files. So each statement is written once, as if nothing else existed, and none can forget the scope. A scope of
everything leaves statements as they are, so it costs nothing.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import apsw

from backscroll.store.batches import storable
from backscroll.store.local.database import snapshot
from backscroll.store.reader import Scope
from backscroll.store.sql.statements import array


class VisibleRows:
    """The rows of a store within a scope. Runs statements like a connection does."""

    def __init__(self, connection: apsw.Connection, scope: Scope) -> None:
        self.scope = scope
        self._connection = connection
        self._homes: str | None = None
        self._sources = array(sorted(map(storable, scope.sources)))
        if scope.homes is not None:
            self._homes = array([[storable(machine), storable(home)] for machine, home in sorted(scope.homes)])

    @property
    def is_everything(self) -> bool:
        """Whether nothing is hidden from the reader."""
        return self._homes is None

    def transaction(self) -> AbstractContextManager[object]:
        """Let all statements in it read the same state."""
        return snapshot(self._connection)

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> apsw.Cursor:
        """Run a statement that reads. Its parameters are named, or are `?` without numbers."""
        if self._homes is None:
            return self._connection.execute(statement, values)
        if isinstance(values, Mapping):
            rights = {"homes": self._homes, "sources": self._sources}
            return self._connection.execute(limited(statement, ":homes", ":sources"), {**values, **rights})
        return self._connection.execute(limited(statement, "?", "?"), (self._homes, self._sources, *values))


def limited(statement: str, homes: str, sources: str) -> str:
    """Return the statement with every table limited to files of the homes and sources bound to parameters."""
    if NOT_LIMITED.search(statement):
        raise ValueError(f"this statement reads around the scope: {statement}")
    statement = INDEX_HINT.sub("", statement.strip())
    own = WITH.match(statement)
    rest = f", {statement[own.end() :]}" if own else f" {statement}"
    shadows = {"visible_files": VISIBLE_FILES, **SHADOWS}
    tables = ", ".join(f"{name} as not materialized ({rows})" for name, rows in shadows.items())
    return f"with recursive {tables.format(homes=homes, sources=sources)}{rest}"


# With `+`, no index is used for the scope: a statement keeps the plan that it has without it, and an id is looked up in
# the index of ids, not by reading all visible rows.
WITH_RECORD: Final = "exists (select 1 from main.records r where r.id = t.record and r.file in (select id from files))"
# The passage of a title has no record: it belongs to the file stored with the chat's title.
IS_TITLE: Final = """t.record is null and exists (
  select 1 from main.chats c where c.id = t.chat and c.title_file in (select id from files))"""
VISIBLE_FILES: Final = """select * from main.files where (machine, home) in
  (select json_extract(value, '$[0]'), json_extract(value, '$[1]') from json_each({homes}))
  or source in (select value from json_each({sources}))"""
WITH_FILE: Final = (
    "records", "calls", "counted", "shared_answers", "spent", "client_totals", "unrecorded", "problems", "links",
    "titles",
)  # fmt: skip
SHADOWS: Final = {
    # A tool's result in a file of its own is shown only with the transcript that it belongs to.
    "files": "select f.* from visible_files f where f.kind <> 'tool-result' or exists ("
    "select 1 from visible_files s where s.chat = f.chat and s.kind <> 'tool-result')",
    "chats": "select * from main.chats where +id in (select chat from files)",
    "blocks": f"select * from main.blocks t where {WITH_RECORD} or {IS_TITLE}",  # noqa: S608 - no values in it
    **{
        table: f"select * from main.{table} where +file in (select id from files)"  # noqa: S608
        for table in WITH_FILE
    },
}
"""The visible rows of each table."""
WITH: Final = re.compile(r"with\s+(?:recursive\s+)?", re.IGNORECASE)
INDEX_HINT: Final = re.compile(r"\bindexed by \w+")
"""An index hint. A shadow has no index of its own; the planner finds those of the table."""
NOT_LIMITED: Final = re.compile(r"\bv_\w+|\bmain\.|\?\d", re.IGNORECASE)
"""Unlimited reads: views read the tables themselves; a numbered parameter would be bound to the homes."""
