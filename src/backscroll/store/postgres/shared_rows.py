"""The rows of files of several builds, read as if they were one build.

An id has the number of its build in front, so that statements need not know of builds. For the database indexes, which
have ids as they are in their builds, each comparison of two ids is written as one of builds and of these ids.
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
    """A shared file, by the numbers that its build has for it and for its chat."""

    build: int
    file: int
    chat: int


class SharedRights:
    """The files that others share with a reader."""

    def __init__(self, files: Sequence[SharedFile]) -> None:
        columns = [[file.build for file in files], [file.file for file in files], [file.chat for file in files]]
        names = ("shared_builds", "shared_files", "shared_chats")
        self.values = {name: array_of("bigint", column) for name, column in zip(names, columns, strict=True)}
        """The files as arrays for every statement, written once."""
        self.setting = shared_setting(sorted({file.build for file in files}), *columns)
        """The files as the setting of a session."""


def shared_setting(builds: Sequence[int], *files: Sequence[int]) -> str:
    """Return the setting that the database's `shared_builds` and `shared_files` read; without files, for whole
    builds.
    """
    lists = [builds, *files] if files else [builds, [], [], []]
    return " ".join(f"{{{','.join(map(str, numbers))}}}" for numbers in lists)


class SharedRows:
    """The rows that others share with a reader, whose scope has the pins and tags. No other rows are visible."""

    is_everything = False

    def __init__(self, connection: PgConnection, scope: Scope, rights: SharedRights) -> None:
        self.scope = scope
        self.rights = rights
        self._connection = connection

    def transaction(self) -> AbstractContextManager[object]:
        """Let all statements in it read the same state."""
        self._connection.as_shared_reader(self.rights.setting)
        return self._connection.snapshot()

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> StatementRows:
        """Run a statement that reads."""
        connection = self._connection.as_shared_reader(self.rights.setting)
        return run(connection, statement, values, limited_to_shared, self.rights.values)


def parts_of(number: int) -> tuple[int, int]:
    """Return the build of an id, and its id in that build."""
    return number >> SHIFT, number & ((1 << SHIFT) - 1)


@lru_cache(maxsize=2000)
def limited_to_shared(statement: str) -> str:
    """Return the statement, limited to the rows of shared files."""
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
    """Return the statement with builds in its comparisons of ids."""
    tables: dict[str, set[str]] = {}
    for table, alias in ALIAS.findall(statement):
        tables.setdefault(alias or table, set()).add(table)
    known = {alias: min(named_tables) for alias, named_tables in tables.items() if len(named_tables) == 1}

    def of_two(match: re.Match[str]) -> str:
        alias, column, other_alias, other_column = match.groups()
        if alias not in known or other_alias not in known:
            return match[0]
        are_ids = (column in IDS[known[alias]], other_column in IDS[known[other_alias]])
        if all(are_ids):
            return f"({alias}.build = {other_alias}.build and {alias}.raw_{column} = {other_alias}.raw_{other_column})"
        return match[0] if any(are_ids) else f"({match[0]} and {alias}.build = {other_alias}.build)"

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
"""The columns that are ids; the views also have each of them as `raw_…`."""
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
    "calls", "shared_calls", "counted", "shared_answers", "spent", "client_totals", "unrecorded", "problems", "links",
    "titles",
}  # fmt: skip
"""Tables that are not read for several builds."""
