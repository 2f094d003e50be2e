"""The tree that the rows of a chat make: copies folded into one node, nodes gathered into turns.

A turn begins with a typed text and holds all rows below it until the next. Parallel tool calls, progress and
attachments fork the tree of rows; only a prompt forks the tree of turns. So no row beside a path is lost, and only
turns that the user took back are a branch. A prompt that goes back into the middle of a turn cuts that turn in two: the
answers from there on become a turn of their own.

There is one root, with its replacements: any other row whose parent is missing follows the row before it in its file.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from backscroll.conversation.cutting import answered_past, cut_turns
from backscroll.conversation.kinds import TURNS, RowKind
from backscroll.conversation.parts import PartFinder
from backscroll.conversation.preserved import PreservedRows
from backscroll.conversation.rows import Row
from backscroll.conversation.turns import FAR, Node, Turn, walk

__all__ = ["FAR", "Node", "Tree", "Turn", "walk"]


class Tree:
    """A tree that grows row by row; an addition that changes earlier parts marks it stale, to be rebuilt."""

    def __init__(self, *, in_parts: bool = True) -> None:
        """With `in_parts`, a row without a parent continues from the row before it; else it begins a new root."""
        self._in_parts = in_parts
        self.nodes: dict[str, Node] = {}
        self.roots: list[Turn] = []
        self.stale = False
        self.has_copies = False
        self.aliases: dict[str, str] = {}
        self._in_circle: set[str] = set()
        """The row that counts as the original, of rows that are said to be copies of one another."""
        self._missing: set[str] = set()
        self._last: dict[str, Node] = {}
        self._beside: dict[str, Node] = {}
        """By the first row of a file whose parent is lost: the first row of an older file with the same parent."""
        self.assumed: set[str] = set()
        """First rows of files that follow an older file only for lack of any other row to follow."""
        self._preserved = PreservedRows(self.key_of, self.find)
        self._finders: dict[str, PartFinder] = {}
        self._continuing: set[str] = set()
        """Files that others continue: rows added to them change the place of those others."""

    @classmethod
    def of(
        cls,
        transcripts: Mapping[str, Sequence[Row]],
        aliases: Mapping[str, str],
        earlier_of: Mapping[str, str],
        *,
        in_parts: bool = True,
    ) -> "Tree":
        """Build the tree of these transcripts, oldest first.

        `aliases` maps unmarked copies to their originals; `earlier_of` maps a file to the one it
        continues.
        """
        tree = cls(in_parts=in_parts)
        tree.aliases.update(aliases)
        for rows in transcripts.values():
            for row in rows:
                tree._note_fork(row)
        for rows in transcripts.values():
            for row in rows:
                if row.preserved is not None:
                    tree._preserved.note(row)
        before: dict[int, Row] = {}
        for file, rows in transcripts.items():
            for earlier, row in pairwise(rows):
                before[id(row)] = earlier
            for row in rows:
                tree._fold(row)
            if rows:
                tree._last[file] = tree.nodes[tree.key_of(rows[-1].uuid)]
        tree._continue(transcripts, earlier_of, before)
        tree.stale = True  # it is cut below: until then, skip the checks for each row
        for node in sorted(tree.nodes.values(), key=lambda node: (node.row.when or FAR, node.position)):
            tree._place_with_ancestors(node, before)
        for root in tree.roots:
            cut_turns(root)
        for rows in transcripts.values():
            for row in rows:
                tree._find_part(row, tree.nodes[tree.key_of(row.uuid)])
        tree.stale = False
        return tree

    def _continue(
        self, transcripts: Mapping[str, Sequence[Row]], earlier_of: Mapping[str, str], before: dict[int, Row]
    ) -> None:
        """Record that the first row of a file, if its parent is missing, follows the last row of the earlier file.

        Without a declared earlier file, it is the next older one. Sessions that began at the same lost row are
        beside each other.
        """
        lost: dict[str, Node] = {}
        for older, file in pairwise([None, *transcripts]):
            rows, earlier = transcripts[file or ""], earlier_of.get(file or "")
            is_said = earlier is not None or not self._in_parts
            earlier = earlier if is_said else older
            if not rows:
                # Its first row will get its parent from these files.
                self._continuing |= {name for name in (file, earlier) if name}
                continue
            first = self.nodes[self.key_of(rows[0].uuid)]
            if first.row is not rows[0] or self._named_parent(first) is not None:
                continue
            if first.row.parent is not None:
                beside = lost.setdefault(self.key_of(first.row.parent), first)
                if beside is not first:
                    self._beside[first.row.uuid] = beside
                    earlier = None
            if earlier is not None and earlier != file:
                if not is_said:
                    self.assumed.add(first.row.uuid)
                self._continuing.add(earlier)
                if transcripts[earlier]:
                    before[id(first.row)] = transcripts[earlier][-1]

    def _find_part(self, row: Row, node: Node) -> None:
        """Record the reason why a part of the conversation begins with a row, if one does."""
        if not self._in_parts:
            return
        finder = self._finders.get(row.transcript)
        if finder is None:
            finder = self._finders[row.transcript] = PartFinder()
        finder.see(node)

    def key_of(self, uuid: str) -> str:
        """Return the row that this one is a copy of, or the row itself."""
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
        """Return the node of a row, if there is one."""
        if uuid is None:
            return None
        return self.nodes.get(uuid if uuid not in self.aliases else self.key_of(uuid))

    def all_nodes(self) -> list[Node]:
        """Return a copy of the list of nodes: another thread can add rows during an iteration."""
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
        if row.preserved is not None or (self._preserved and self.key_of(row.uuid) in self._preserved.names):
            self.stale = True
        if is_new and not self.stale:
            # Nearly always its parent is there, under its own name.
            is_plain = row.parent is not None and not self.aliases and not self._preserved
            parent = self.nodes.get(row.parent or "") if is_plain else None
            if parent is None or parent is node:
                last = self._last.get(row.transcript)
                parent = self._parent_of(node, {id(row): last.row} if last else {})
            self._place(node, parent)
        if not self.stale:
            self._find_part(row, node)
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
                self.stale = True  # a child of it was placed elsewhere
            return node, True
        self.has_copies = True
        best = node.add_copy(row)
        if best is not node.row:
            # Where the parent is lost, the place depends on the file: another file, another place.
            lost = self.find(best.parent) in (None, node)
            changed = (best.parent, best.kind, best.uuid) != (node.row.parent, node.row.kind, node.row.uuid)
            if lost or changed or node.is_in_circle:
                self.stale = True
            node.row = best
        return node, False

    def _parent_of(self, node: Node, before: Mapping[int, Row]) -> Node | None:
        """Return the parent of the node; if that is missing, the row before it in the file."""
        while True:
            row = node.row
            parent = self._named_parent(node)
            if parent is not None:
                return parent
            if row.parent is not None:
                self._missing.add(self.key_of(row.parent))
            elif not self._in_parts:
                return None
            replaced = self._replaced(node)
            if replaced is None:
                break
            if replaced.turn is not None:
                return replaced.parent
            node = replaced
        earlier = self._before(node, before)
        return earlier if earlier is not node else None

    def _named_parent(self, node: Node) -> Node | None:
        """Return the row that a row names as its parent, if it is there."""
        parent = self.find(self._preserved.parent_of(node) if self._preserved else node.row.parent)
        return parent if parent is not node else None

    def _replaced(self, node: Node) -> Node | None:
        """Return the row that this one replaces, if the parent that it names is missing."""
        other = self._beside.get(node.row.uuid) or self.find(node.row.instead_of)
        return other if other is not None and other.position < node.position else None

    def _part_of(self, node: Node, parent: Node | None) -> Node:
        """Return the row that begins the chain of links of a row."""
        if parent is not None and (parent.row.uuid == node.row.parent or self._named_parent(node) is parent):
            return parent.part
        while (other := self._replaced(node)) is not None:
            node = other
        return node

    def _place(self, node: Node, parent: Node | None) -> None:
        node.parent = parent
        node.part = self._part_of(node, parent)
        turn = parent.turn if parent else None
        kind = node.row.kind
        if turn is None or kind in TURNS:
            turn = Turn(node.row.uuid, node if kind in TURNS else None, parent)
            if turn.parent is None:
                self.roots.append(turn)
            if not self.stale and parent and parent.turn and answered_past(parent, parent.turn):
                self.stale = True  # the turn before it has to be cut
        elif turn.children and kind is RowKind.ANSWER:
            self.stale = True  # perhaps this continues past the parent of a prompt
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
            parent = self._parent_of(step, before)
            waiting.append((step, parent))
            step = parent
        for child, parent in reversed(waiting):
            if child.turn is None:
                self._place(child, parent)

    def _cut(self, circle: list[Node], before: dict[int, Row]) -> None:
        """Break a cycle of rows: where a link is missing, else at a compaction, else at the earliest row."""
        # Not where we entered: that depends on the other rows below the cycle.
        cut = min(
            circle,
            key=lambda node: (
                self._named_parent(node) is not None,
                node.row.kind is not RowKind.COMPACTION,
                node.row.when or FAR,
                node.position,
            ),
        )
        for node in circle:
            node.is_in_circle = True
        earlier = self._before(cut, before)
        if earlier is not None and earlier.turn is None:
            earlier = self._placed(earlier, before) if self._ends_outside(earlier, circle, before) else None
        self._place(cut, earlier)
        # The others follow it one after the other; the circle is listed from child to parent.
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
            step = self._parent_of(step, before)
        return True

    def _placed(self, node: Node, before: dict[int, Row]) -> Node:
        self._place_with_ancestors(node, before)
        return node

    def _before(self, node: Node, before: Mapping[int, Row]) -> Node | None:
        earlier = before.get(id(node.row))
        return self.find(earlier.uuid) if earlier else None
