"""Rows and words of one moment, so that no answer contradicts itself while another process writes.

The writer commits rows first and then their words; deleted passages are listed in the rows until their words are
deleted too. So rows and words fit if no words were committed while the reading of the rows began, and if the passages
of that list are left out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import apsw
import tantivy

from backscroll.store.local.database import snapshot
from backscroll.store.local.faults import translate_errors
from backscroll.store.local.matches import ChatSizes
from backscroll.store.local.text import TextIndex, last_of_stages
from backscroll.store.search.nodes import IsOneOf, Node
from backscroll.store.search.words import STAGES
from backscroll.store.sql.statements import select


class Snapshot(NamedTuple):
    """The state that every part of an answer is read from."""

    searcher: tantivy.Searcher
    sizes: ChatSizes
    marks: list[int]
    """The last passage of each stage that is searchable."""
    hidden: tuple[Node, ...]
    """Nodes of the passages that are in the words only."""
    has_deleted: bool
    """Whether the engine still counts passages that were deleted."""


class Snapshots:
    """Takes snapshots of an open index. Keeps the sizes of its chats until it changes."""

    def __init__(self) -> None:
        self._sizes: tuple[object, ChatSizes] | None = None
        self._open: Snapshot | None = None

    @contextmanager
    def open(self, connection: apsw.Connection, text: TextIndex) -> Iterator[Snapshot]:
        """Open the current state, which stays the same in this context; inside another snapshot, return that one."""
        if self._open is not None:
            yield self._open
            return
        while True:
            with translate_errors():
                before, _ = text.current()
            with snapshot(connection):
                with translate_errors():
                    state = self._take(connection, text, before)
                if state is not None:  # else words were committed meanwhile, which takes far longer than an attempt
                    self._open = state
                    try:
                        yield state
                    finally:
                        self._open = None
                    return

    def _take(self, connection: apsw.Connection, text: TextIndex, stamp: int) -> Snapshot | None:
        noted = read_commit(connection)  # from here on, the rows do not change
        deleted = [block for (block,) in select(connection, "select block from deleted")]
        after, searcher = text.current()
        if after != stamp:
            return None
        version = (connection.pragma("data_version"), connection.total_changes(), stamp)
        if self._sizes is None or self._sizes[0] != version:
            self._sizes = (version, ChatSizes.of(connection, searcher))
        return Snapshot(
            searcher,
            self._sizes[1],
            marks_at(stamp, noted, searcher),
            (IsOneOf(tuple(deleted)),) if deleted else (),
            has_deleted=text.has_deleted,
        )


def read_commit(connection: apsw.Connection) -> dict[str, str]:
    """Return the last commit of the words that the rows know of: its stamp, and the progress of each stage."""
    return dict(select(connection, "select name, value from marks where name = 'stamp' or name like 'stage %'"))


def marks_at(stamp: int, noted: dict[str, str], searcher: tantivy.Searcher) -> list[int]:
    """Return the last passage of each stage: from the rows, or from the words if the rows are of another commit."""
    if noted.get("stamp") == str(stamp):
        return [int(noted[f"stage {number}"]) for number in range(len(STAGES))]
    return last_of_stages(searcher)
