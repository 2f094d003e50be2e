"""The tree that the rows of a chat make: copies folded into one node, nodes gathered into turns.

A turn is what begins with something typed and holds all that hangs below it until the next. Parallel tool calls,
progress and attachments fork the tree of rows; only a prompt forks the tree of turns. So nothing that hangs beside a
path is lost, and only what the user took back is a branch. A prompt that goes back into the middle of a turn cuts
that turn in two: what had been answered from there on becomes a turn of its own.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from backscroll.conversation.cutting import answered_past, cut_turns
from backscroll.conversation.kinds import TURNS, RowKind
from backscroll.conversation.rows import Row
from backscroll.conversation.turns import FAR, Node, Turn, walk

__all__ = ["FAR", "Node", "Tree", "Turn", "walk"]

GOES_ON: Final = frozenset({RowKind.COMPACTION, RowKind.COMPACT_SUMMARY})
"""Rows where the client started a new chain although the conversation continued."""


class Tree:
    """Grows row by row; an addition that changes earlier parts marks it stale, to be rebuilt."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.roots: list[Turn] = []
        self.stale = False
        self.has_copies = False
        self.aliases: dict[str, str] = {}
        self._in_circle: set[str] = set()
        """Of rows that are said to be copies of one another, the one that counts as the original."""
        self._missing: set[str] = set()
        self._last: dict[str, Node] = {}
        self._continued: set[str] = set()
        """Rows that begin a session which another one goes on in."""
        self._continuing: set[str] = set()
        """The files of those others: what is added there changes where the former hang."""

    @classmethod
    def of(
        cls, transcripts: Mapping[str, Sequence[Row]], aliases: Mapping[str, str], earlier_of: Mapping[str, str]
    ) -> "Tree":
        """Build the tree of these transcripts, in any order.

        `aliases` are rows that are copies though nothing in them says so; `earlier_of` maps a file to the one it
        continues.
        """
        tree = cls()
        tree.aliases.update(aliases)
        for rows in transcripts.values():
            for row in rows:
                tree._note_fork(row)
        before: dict[int, Row] = {}
        for file, rows in transcripts.items():
            for earlier, row in pairwise(rows):
                before[id(row)] = earlier
            for row in rows:
                tree._fold(row)
            if rows:
                tree._last[file] = tree.nodes[tree.key_of(rows[-1].uuid)]
        for file, earlier_file in earlier_of.items():
            rows, previous = transcripts[file], transcripts[earlier_file]
            tree._continuing.add(earlier_file)
            if not rows:
                tree._continuing.add(file)  # its first row is going to hang on what is there
            elif previous:
                first = tree.nodes[tree.key_of(rows[0].uuid)].row
                before[id(first)] = previous[-1]
                tree._continued.add(first.uuid)
        tree.stale = True  # it is cut below: until then nothing has to be found out row by row
        for node in sorted(tree.nodes.values(), key=lambda node: (node.row.when or FAR, node.position)):
            tree._place_with_ancestors(node, before)
        for root in tree.roots:
            cut_turns(root)
        tree.stale = False
        return tree

    def key_of(self, uuid: str) -> str:
        """The row that this one is a copy of, or itself."""
        if uuid not in self.aliases:
            return uuid
        passed: dict[str, int] = {}
        while uuid in self.aliases and uuid not in self._in_circle:
            if uuid in passed:  # rows that are said to be copies of one another
                uuid = min(list(passed)[passed[uuid] :])
                self._in_circle.add(uuid)
                break
            passed[uuid] = len(passed)
            uuid = self.aliases[uuid]
        # The next time the way is short: copies of copies may be thousands deep.
        self.aliases.update((name, uuid) for name in passed if name != uuid)
        return uuid

    def find(self, uuid: str | None) -> Node | None:
        """The node of this row, if there is one."""
        if uuid is None:
            return None
        return self.nodes.get(uuid if uuid not in self.aliases else self.key_of(uuid))

    def all_nodes(self) -> list[Node]:
        """A copy of the list of nodes: another thread can add rows during an iteration."""
        return list(self.nodes.values())

    def add(self, row: Row) -> None:
        """Add the next row of a transcript."""
        if self.stale:
            return
        if self._continuing:
            self.stale = row.transcript in self._continuing
        if row.forked_from is not None:
            self._note_fork(row)
        node, is_new = self._fold(row)
        if is_new and not self.stale:
            # Nearly always its parent is there, under its own name.
            parent = self.nodes.get(row.parent) if row.parent is not None and not self.aliases else None
            if parent is None or parent is node:
                parent = self._parent_of(node, self._last.get(row.transcript))
            self._place(node, parent)
        self._last[row.transcript] = node

    def _note_fork(self, row: Row) -> None:
        origin = row.forked_from.message_uuid if row.forked_from else None
        if origin and origin != row.uuid and row.uuid not in self.aliases:
            self.aliases[row.uuid] = origin
            if row.uuid in self.nodes or row.uuid in self._missing:
                self.stale = True

    def _fold(self, row: Row) -> tuple[Node, bool]:
        key = self.key_of(row.uuid) if self.aliases else row.uuid
        node = self.nodes.get(key)
        if node is None:
            node = self.nodes[key] = Node(row)
            if key in self._missing:
                self.stale = True  # something hangs on it that was put elsewhere
            return node, True
        self.has_copies = True
        best = node.add_copy(row)
        if best is not node.row:
            # Where the parent is lost, the place depends on the file: another file, another place.
            goes_on = best.kind in GOES_ON or best.uuid in self._continued or node.row.uuid in self._continued
            lost = self.find(best.parent) in (None, node) and (best.parent is not None or goes_on)
            changed = (best.parent, best.kind, best.uuid) != (node.row.parent, node.row.kind, node.row.uuid)
            if lost or changed or node.is_in_circle:
                self.stale = True
            node.row = best
        return node, False

    def _parent_of(self, node: Node, before: Node | None) -> Node | None:
        """The parent of the node; if the parent is lost, the row before it in the file."""
        row = node.row
        parent = self.find(row.parent)
        if parent is not None and parent is not node:
            return parent
        if row.parent is not None:
            self._missing.add(self.key_of(row.parent))
        elif row.kind not in GOES_ON and row.uuid not in self._continued:
            return None
        return before if before is not node else None

    def _place(self, node: Node, parent: Node | None) -> None:
        node.parent = parent
        turn = parent.turn if parent else None
        kind = node.row.kind
        if turn is None or kind in TURNS:
            turn = Turn(node.row.uuid, node if kind in TURNS else None, parent)
            if turn.parent is None:
                self.roots.append(turn)
            if not self.stale and parent and parent.turn and answered_past(parent, parent.turn):
                self.stale = True  # the turn before it has to be cut
        elif turn.children and kind is RowKind.ANSWER:
            self.stale = True  # perhaps this goes on past where a prompt hangs
        turn.take(node)

    def _place_with_ancestors(self, node: Node, before: dict[int, Row]) -> None:
        """Place the ancestors of the node before it."""
        waiting: list[tuple[Node, Node | None]] = []
        entered: dict[int, int] = {}
        step: Node | None = node
        while step is not None and step.turn is None:
            if id(step) in entered:
                self._cut([other for other, _ in waiting[entered[id(step)] :]], before)
                break
            entered[id(step)] = len(waiting)
            parent = self._parent_of(step, self._before(step, before))
            waiting.append((step, parent))
            step = parent
        for child, parent in reversed(waiting):
            if child.turn is None:
                self._place(child, parent)

    def _cut(self, circle: list[Node], before: dict[int, Row]) -> None:
        """Break a cycle of rows at one of them: a compaction first, else the earliest."""
        # Not where we came in: that depends on what else hangs there.
        cut = min(
            circle, key=lambda node: (node.row.kind is not RowKind.COMPACTION, node.row.when or FAR, node.position)
        )
        for node in circle:
            node.is_in_circle = True
        earlier = self._before(cut, before)
        if earlier is not None and earlier.turn is None:
            earlier = self._placed(earlier, before) if self._ends_outside(earlier, circle, before) else None
        self._place(cut, earlier)
        # The others hang on it one after the other; the circle is written from child to parent.
        at = circle.index(cut)
        for child, parent in reversed(list(pairwise([*circle[at + 1 :], *circle[:at], cut]))):
            if child.turn is None:
                self._place(child, parent)

    def _ends_outside(self, node: Node, circle: list[Node], before: dict[int, Row]) -> bool:
        """Whether the ancestors of the node lead neither into this cycle nor into another one."""
        met = {id(other) for other in circle}
        step: Node | None = node
        while step is not None and step.turn is None:
            if id(step) in met:
                return False
            met.add(id(step))
            step = self._parent_of(step, self._before(step, before))
        return True

    def _placed(self, node: Node, before: dict[int, Row]) -> Node:
        self._place_with_ancestors(node, before)
        return node

    def _before(self, node: Node, before: dict[int, Row]) -> Node | None:
        earlier = before.get(id(node.row))
        return self.find(earlier.uuid) if earlier else None
