"""Check a whole index: every file must be as it was written, and rows and words must belong to the same passages."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import apsw
import tantivy
from tantivy import Query

from backscroll.store.base import DamagedStoreError
from backscroll.store.local.faults import translates_errors
from backscroll.store.local.generations import TEXT
from backscroll.store.local.text import SCHEMA, TextIndex
from backscroll.store.local.verified_files import check_sum
from backscroll.store.reader import EVERYTHING
from backscroll.store.sql.orphans import orphans
from backscroll.store.sql.statements import select

if TYPE_CHECKING:
    from backscroll.store.local.store import LocalStore

AT_ONCE: Final = 100_000
"""The number of passages compared at once: memory stays small however many there are."""
MAX_REPORTED: Final = 20
ATTEMPTS: Final = 5


def problems_of(store: "LocalStore") -> list[str]:
    """Return the problems of an existing index; empty if it is sound. Reads all of it, and changes nothing."""
    try:
        problems = _rows(store)
    except DamagedStoreError as error:
        return [f"the rows cannot be read: {error.message}"]
    # Before the words are opened: damaged files may make the engine end the process.
    words = store.file.with_name(TEXT)
    problems += [f"the words are damaged: {path.name}" for path in damaged_segments(words)]
    if not problems:
        try:
            problems += _settled_words(store)
        except DamagedStoreError as error:
            return [f"the words cannot be read: {error.message}"]
    return problems


def damaged_segments(folder: Path) -> Iterator[Path]:
    """Yield the files of a text index whose content does not match the checksum at their end."""
    for path in sorted(folder.glob("*.*")):
        if path.suffix not in (".json", ".lock") and not _is_sound(path):
            yield path


def _is_sound(path: Path) -> bool:
    try:
        check_sum(path)
    except DamagedStoreError:
        return False
    return True


@translates_errors
def _rows(store: "LocalStore") -> list[str]:
    connection = store.connection
    messages = [str(row[0]) for row in select(connection, f"pragma integrity_check({MAX_REPORTED})")]
    problems = [] if messages == ["ok"] else [f"the rows are damaged: {line}" for line in messages]
    return problems + orphans(connection)


def _settled_words(store: "LocalStore") -> list[str]:
    """Return problems with the words that persist: another process may be writing during the comparison."""
    for _ in range(ATTEMPTS):
        before = _state(store)
        problems = _words(store)
        if not problems or _state(store) == before:
            return problems
    return []


@translates_errors
def _state(store: "LocalStore") -> tuple[object, ...]:
    return store.connection.pragma("data_version"), store.text.opstamp


@translates_errors
def _words(store: "LocalStore") -> list[str]:
    """Check that every indexed passage has its document, and every document its passage."""
    connection, searcher = store.connection, store.text.searcher()
    waiting = store.within(EVERYTHING).pending().passages
    missing = extra = 0
    highest = max(_highest(connection), _last_document(store.text))
    for first in range(0, highest + 1, AT_ONCE):
        ids = {row[0] for row in select(connection, PASSAGES, (first, first + AT_ONCE))}
        documents = _documents(searcher, first)
        extra += len(documents) - len(set(documents))
        extra += len(set(documents) - ids - {row[0] for row in select(connection, DELETED, (first, first + AT_ONCE))})
        missing += len(ids - set(documents))
    problems = []
    if missing > waiting:
        problems.append(f"{missing - waiting:,} passages cannot be found by their words")
    if extra:
        problems.append(f"{extra:,} words point to passages that are not there")
    return problems


def _documents(searcher: tantivy.Searcher, first: int) -> list[int]:
    query = Query.range_query(SCHEMA, "block", tantivy.FieldType.Unsigned, first, first + AT_ONCE, True, False)
    return [int(value) for value, _ in searcher.search(query, limit=2 * AT_ONCE, order_by_field="block").hits]


def _highest(connection: apsw.Connection) -> int:
    return int(select(connection, "select coalesce(max(id), 0) from blocks")[0][0])


def _last_document(text: TextIndex) -> int:
    return max(text.marks(), default=0)


PASSAGES: Final = "select id from blocks where id >= ? and id < ?"
DELETED: Final = "select block from deleted where block >= ? and block < ?"
