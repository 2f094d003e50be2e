"""Rows that stay in the context when a conversation is compacted, and their new place in the client.

"Summarize up to here" and some compactions keep a run of rows, head to tail, and summarise the rows before it. In the
file they stay in place, before the boundary; the client sends them after the summary (the anchor), and a fork has them
there. "Summarize from here" keeps the rows before: then the anchor is the boundary itself.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from backscroll.conversation.rows import Row
    from backscroll.conversation.turns import Node


class Preserved(NamedTuple):
    """A run of rows that a boundary names."""

    head: str
    anchor: str
    """The row that the run comes after."""
    tail: str


class PreservedRows:
    """The parents of rows, as the client has them, after a compaction that preserved some."""

    def __init__(self, key_of: Callable[[str], str], find: Callable[[str | None], "Node | None"]) -> None:
        self._key_of, self._find = key_of, find
        self._of_head: dict[str, Preserved] = {}
        self._of_anchor: dict[str, Preserved] = {}
        self._of_boundary: dict[str, Preserved] = {}
        self.names: set[str] = set()
        """All rows that a boundary names."""

    def __bool__(self) -> bool:
        return bool(self._of_boundary)

    def note(self, row: "Row") -> None:
        """Record the run of rows that a boundary preserves."""
        if row.preserved is not None:
            boundary = self._key_of(row.uuid)
            kept = Preserved(*map(self._key_of, row.preserved))
            self._of_boundary[boundary] = self._of_head[kept.head] = kept
            if kept.anchor != boundary:
                self._of_anchor[kept.anchor] = kept
            self.names |= {*kept}

    def parent_of(self, node: "Node") -> str | None:
        """Return the name of a row's parent."""
        name, key = node.row.parent, self._key_of(node.row.uuid)
        kept = self._of_head.get(key)
        if kept is not None and self._is_there(kept):
            if kept.anchor in self._of_anchor:
                return kept.anchor
            return self._own_parent(kept, node)  # a fork has it below the boundary
        kept = self._of_anchor.get(self._key_of(name)) if name is not None else None
        if kept is not None and self._is_there(kept):
            return kept.tail
        kept = self._of_boundary.get(key)
        if kept is not None and kept.anchor != key and name is not None and self._key_of(name) == kept.tail:
            head = self._find(kept.head)
            return self._own_parent(kept, head) if head is not None and self._is_there(kept) else name
        return name

    def _is_there(self, kept: Preserved) -> bool:
        """Whether the rows are there, as a run: some versions write its last row behind the summary by themselves."""
        tail = self._find(kept.tail)
        if tail is None or any(self._find(name) is None for name in kept):
            return False
        return kept.head == kept.tail or tail.row.parent is None or self._key_of(tail.row.parent) != kept.anchor

    def _own_parent(self, kept: Preserved, head: "Node") -> str | None:
        """Return the parent of the first preserved row from before it was preserved."""
        names = [copy.parent for copy in (head.row, *head.copies) if copy.parent is not None]
        return next((name for name in names if self._key_of(name) not in (kept.anchor, *self._of_boundary)), None)
