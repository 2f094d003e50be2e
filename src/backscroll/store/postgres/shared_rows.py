"""The rows of files of several builds, read as if they were one build.

An id has the number of its build in front, so that statements need not know of builds. For the indexes, which know ids
as they are in their builds, each comparison of two ids is written as one of builds and of these.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, Final, NamedTuple

from backscroll.store.postgres.arrays import array_of
from backscroll.store.postgres.connection import PgConnection, run
from backscroll.store.postgres.sql_query import SHIFT
from backscroll.store.reader import Scope
from backscroll.store.sql.statements import StatementRows


class SharedFile(NamedTuple):
    """A file that is shared, by the numbers that its build has for it and for its chat."""

    build: int
    file: int
    chat: int


class SharedRights:
    """The files that others share with an asker."""

    def __init__(self, files: Sequence[SharedFile]) -> None:
        columns = [[one.build for one in files], [one.file for one in files], [one.chat for one in files]]
        names = ("shared_builds", "shared_files", "shared_chats")
        self.values = {name: array_of("bigint", column) for name, column in zip(names, columns, strict=True)}
        """For every statement: written as arrays once."""
        self.setting = shared_setting(sorted({one.build for one in files}), *columns)
        """As the session has them."""


def shared_setting(builds: Sequence[int], *files: Sequence[int]) -> str:
    """What the database's `shared_builds` and `shared_files` read; builds without files for all that is in them."""
    lists = [builds, *files] if files else [builds, [], [], []]
    return " ".join(f"{{{','.join(map(str, one))}}}" for one in lists)


class SharedRows:
    """What others share with an asker, whose scope says what is pinned and tagged. It sees nothing else."""

    is_everything = False

    def __init__(self, connection: PgConnection, scope: Scope, rights: SharedRights) -> None:
        self.scope = scope
        self.rights = rights
        self._connection = connection

    def transaction(self) -> AbstractContextManager[object]:
        """All statements in it see the same state."""
        self._connection.as_shared_reader(self.rights.setting)
        return self._connection.snapshot()

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> StatementRows:
        """Run a statement that reads."""
        connection = self._connection.as_shared_reader(self.rights.setting)
        return run(connection, statement, values, limited_to_shared, self.rights.values)


def parts_of(number: int) -> tuple[int, int]:
    """The build of an id, and the id that it has there."""
    return number >> SHIFT, number & ((1 << SHIFT) - 1)


@lru_cache(maxsize=2000)
def limited_to_shared(statement: str) -> str:
    """The statement about the rows of shared files."""
    named = set(NAME.findall(statement))
    if unknown := named & ELSEWHERE:
        raise NotImplementedError(f"{', '.join(sorted(unknown))} of several builds")
    shadows = [f"{table} as not materialized ({rows})" for table, rows in SHADOWS.items() if table in named]
    if not shadows:
        return statement
    statement = _with_builds(statement.strip())
    own = WITH.match(statement)
    rest = f", {statement[own.end() :]}" if own else f" {statement}"
    return f"with recursive {', '.join([SHARED, *shadows])}{rest}"


def _with_builds(statement: str) -> str:
    """The statement with builds in its comparisons of ids."""
    tables: dict[str, set[str]] = {}
    for table, alias in ALIAS.findall(statement):
        tables.setdefault(alias or table, set()).add(table)
    known = {alias: min(found) for alias, found in tables.items() if len(found) == 1}

    def of_two(match: re.Match[str]) -> str:
        one, column, other, its = match.groups()
        if one not in known or other not in known:
            return match[0]
        are_ids = (column in IDS[known[one]], its in IDS[known[other]])
        if all(are_ids):
            return f"({one}.build = {other}.build and {one}.raw_{column} = {other}.raw_{its})"
        return match[0] if any(are_ids) else f"({match[0]} and {one}.build = {other}.build)"

    def of_list(match: re.Match[str]) -> str:
        return LISTED.format(condition=match[0], alias=match[1], ids=match[2]) if match[1] in known else match[0]

    def of_value(match: re.Match[str]) -> str:
        ids = f"array[{match[2]}]"
        return LISTED.format(condition=match[0], alias=match[1], ids=ids) if match[1] in known else match[0]

    return IS_ID.sub(of_value, IN_IDS.sub(of_list, EQUAL.sub(of_two, statement)))


NAME: Final = re.compile(r"\b[a-z_]+\b")
WITH: Final = re.compile(r"with\s+(?:recursive\s+)?", re.IGNORECASE)
ALIAS: Final = re.compile(
    r"\b(?:from|join)\s+(files|chats|records|blocks)\b(?:\s+(?!on\b|where\b|join\b|left\b|order\b|group\b|limit\b|union\b)"
    r"(\w+))?"
)
EQUAL: Final = re.compile(r"\b(\w+)\.(\w+) = (\w+)\.(\w+)\b")
IN_IDS: Final = re.compile(r"\b(\w+)\.id = any\((%\(\w+\)s)\)")
IS_ID: Final = re.compile(r"\b(\w+)\.id = (%\(\w+\)s)")
LISTED: Final = f"""({{condition}}
  and {{alias}}.build = any(array(select (v >> {SHIFT})::int from unnest({{ids}}::bigint[]) v))
  and {{alias}}.raw_id = any(array(select v - ((v >> {SHIFT}) << {SHIFT}) from unnest({{ids}}::bigint[]) v)))"""  # noqa: S608
IDS: Final = {
    "files": {"id", "chat"},
    "chats": {"id", "title_file"},
    "records": {"id", "file"},
    "blocks": {"id", "record", "chat", "source_file"},
}
"""The columns that are ids; the views have each also as `raw_…`."""
SHARED: Final = """shared as materialized (select * from unnest(
  %(shared_builds)s::int[], %(shared_files)s::bigint[], %(shared_chats)s::bigint[]) as s(build, file, chat))"""
SHADOWS: Final = {
    "files": "select * from backscroll.shared_files_rows where (build, raw_id) in (select build, file from shared)",
    "chats": "select * from backscroll.shared_chats_rows where (build, raw_id) in (select build, chat from shared)",
    "records": """select * from backscroll.shared_records_rows
      where (build, raw_file) in (select build, file from shared)""",
    "blocks": """select * from backscroll.shared_blocks_rows
      where (build, raw_source_file) in (select build, file from shared)
      or raw_source_file is null and (build, raw_chat) in (select build, chat from shared)""",
}
"""The visible rows of each table. Row-level security is the second wall, as for one build."""
ELSEWHERE: Final = {
    "calls", "shared_calls", "counted", "shared_answers", "spent", "problems", "links", "titles"
}  # fmt: skip
"""Tables that are not read for several builds."""
