"""Nodes (rows with their copies) and turns (the nodes from one prompt to the next)."""

import heapq
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.parts import PartStart
from backscroll.conversation.rows import Row

FAR: Final = datetime.max.replace(tzinfo=UTC)


class Node:
    """A row of the chat with all its copies; `row` is the copy that counts."""

    __slots__ = ("copies", "is_in_circle", "latest", "parent", "part", "position", "row", "starts_part", "turn")

    def __init__(self, row: Row) -> None:
        self.row = row
        self.copies = [row]
        self.latest: dict[str, Row] | None = None
        """The last copy in each file, once there is more than one."""
        self.position = (row.position, row.transcript)
        """Position among its siblings: that of its first copy."""
        self.is_in_circle = False
        self.parent: Node | None = None
        self.turn: Turn | None = None
        self.part = self
        """The row that begins its chain of links: itself, if the parent that it names is missing."""
        self.starts_part: PartStart | None = None
        """Reason why a part of the conversation begins with the row, if one does."""

    def add_copy(self, row: Row) -> Row:
        """Add a copy, and return the row that counts. In one file a later row replaces an earlier one."""
        if self.latest is None:
            self.latest = {self.row.transcript: self.row}
        self.copies.append(row)
        self.position = min(self.position, (row.position, row.transcript))
        if row.transcript == self.row.transcript and row.uuid != self.row.uuid:
            return self.row  # the history was written again, under new names
        self.latest[row.transcript] = row
        if _originality(row) <= _originality(self.row):
            return row
        # Only where the original itself was replaced by something later, another copy may take its place.
        return self.row if row.transcript != self.row.transcript else min(self.latest.values(), key=_originality)


class Turn:
    """A prompt and everything up to the next prompt.

    `head` is None where a conversation begins without a prompt, and for the rest of a turn that was cut in two.
    """

    __slots__ = ("after", "children", "has_answer", "head", "key", "nodes", "parent")

    def __init__(self, key: str, head: Node | None, after: Node | None) -> None:
        self.key = key
        self.head = head
        self.after = after
        """Parent row of the turn."""
        self.parent = after.turn if after else None
        self.children: list[Turn] = []
        self.nodes: list[Node] = []
        self.has_answer = False
        if self.parent:
            self.parent.children.append(self)

    def take(self, node: Node) -> None:
        """Add the node to this turn."""
        node.turn = self
        self.nodes.append(node)
        if not self.has_answer:
            self.has_answer = node.row.kind is RowKind.ANSWER

    def path(self) -> list["Turn"]:
        """Return all turns from the first one to this one."""
        turns: list[Turn] = []
        turn: Turn | None = self
        while turn is not None:
            turns.append(turn)
            turn = turn.parent
        turns.reverse()
        return turns

    def in_order(self) -> list[Node]:
        """Return the rows of the turn: parents before children, otherwise in file order."""
        if self._is_in_order():
            return list(self.nodes)
        children = children_in(self)
        tops = (node for node in self.nodes if node.parent is None or node.parent.turn is not self)
        ready = [(node.position, node.row.uuid, node) for node in tops]
        heapq.heapify(ready)
        ordered = []
        while ready:
            node = heapq.heappop(ready)[2]
            ordered.append(node)
            for child in children.get(id(node), ()):
                heapq.heappush(ready, (child.position, child.row.uuid, child))
        return ordered

    def _is_in_order(self) -> bool:
        """Whether its rows came in file order, each after its parent, as they nearly always do."""
        last: tuple[int, str] = (-1, "")
        for node in self.nodes:
            position, parent = node.position, node.parent
            if position <= last or (parent is not None and parent.turn is self and parent.position >= position):
                return False
            last = position
        return True


def walk(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield these turns and all below them."""
    waiting = list(turns)
    while waiting:
        turn = waiting.pop()
        yield turn
        waiting.extend(turn.children)


def children_in(turn: Turn) -> dict[int, list[Node]]:
    """Return the child nodes within a turn, by the `id` of their parent."""
    children: dict[int, list[Node]] = {}
    for node in turn.nodes:
        if node.parent is not None and node.parent.turn is turn:
            children.setdefault(id(node.parent), []).append(node)
    return children


def _originality(row: Row) -> tuple[bool, datetime, bool, int, str]:
    """Sort key of copies, of which the smallest counts: a copy of this machine, else that with the original time.

    A fork has fewer rows before the copy than the session that it was made from.
    """
    return row.is_elsewhere, row.when or FAR, row.forked_from is not None, -row.position, row.transcript
