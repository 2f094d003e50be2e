"""The parts of a conversation: places where the client began a new chain of rows in mid-conversation, with reasons.

A row without a parent in the middle of a session is not a rewind. It follows the row before it, and a reader sees a
divider there that states the reason.
"""

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from backscroll.conversation.kinds import HUMAN, SILENT, TURNS, RowKind

if TYPE_CHECKING:
    from backscroll.conversation.turns import Node


class PartStart(StrEnum):
    """Reason why a part begins; of several reasons the first counts."""

    COMPACTED = "compacted"
    """Before 1.0.98 or so the summary stands alone, without a boundary."""
    CLEARED = "cleared"
    PLAN_ACCEPTED = "plan accepted"
    ROWS_LOST = "rows lost"
    """The first row names a parent that is in no file."""
    OTHER_SESSION = "other session"
    """Another session begins here, and names no row of the one before."""
    UNLINKED = "unlinked"
    """The first row names no parent, for an unknown reason."""


class PartFinder:
    """Finds the beginnings of parts in one file, from its rows in their order, after they have their place."""

    def __init__(self) -> None:
        self._start: PartStart | None = None
        """Reason for a part that has no visible row yet."""
        self._is_first = True
        self._was_unlinked = False
        self._was_cleared = False
        self._lost: set[str] = set()
        """Parents, of the rows so far, that are in no file."""

    def see(self, node: "Node") -> None:
        """Take the next row."""
        row = node.row
        if row.kind is RowKind.COMPACTION:
            self._start = None  # it is a divider itself
        elif node.part is node and node.parent is not None and row.kind not in SILENT:
            start = self._reason(row.parent)
            if row.kind is RowKind.COMPACT_SUMMARY:
                is_marked = node.parent.row.kind is RowKind.COMPACTION
                start = None if is_marked else PartStart.COMPACTED
            if start is not None:
                self._start = start if self._start is None else min(self._start, start, key=ORDER.index)
        self._is_first = False
        self._was_unlinked = row.parent is None
        if self._start is not None and row.kind in VISIBLE:
            start = self._start
            if start in UNEXPLAINED:
                if self._was_cleared or CLEAR.match(row.text):
                    start = PartStart.CLEARED
                elif row.text.startswith(PLAN):
                    start = PartStart.PLAN_ACCEPTED
            node.starts_part = start if node.starts_part is None else min(node.starts_part, start, key=ORDER.index)
            self._start = None
        if row.kind in TURNS:
            self._was_cleared = CLEAR.match(row.text) is not None

    def _reason(self, parent: str | None) -> PartStart | None:
        if parent is not None:
            is_known = parent in self._lost  # some tools give every row one parent, which does not exist
            self._lost.add(parent)
            return None if is_known else PartStart.ROWS_LOST
        if self._is_first:
            return PartStart.OTHER_SESSION
        # Some tools and old descriptions link no row at all.
        return None if self._was_unlinked else PartStart.UNLINKED


VISIBLE: Final = TURNS | HUMAN | {RowKind.ANSWER, RowKind.COMPACT_SUMMARY}
"""The kinds that are shown to every reader."""
UNEXPLAINED: Final = frozenset({PartStart.OTHER_SESSION, PartStart.UNLINKED})
ORDER: Final = list(PartStart)
CLEAR: Final = re.compile(r"/(?:clear|reset|new)(?!\S)")
PLAN: Final = "Implement the following plan"
