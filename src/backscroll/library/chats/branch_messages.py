"""The messages of a branch in reading order, as lists of rows without their records."""

import threading
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import is_retry_after, is_shown
from backscroll.conversation.parts import PartStart
from backscroll.conversation.rows import Row
from backscroll.conversation.tree import Node, Tree, Turn


class MessageEntry(NamedTuple):
    """A message as its rows, with its turn."""

    rows: list[Row]
    turn: Turn

    @property
    def key(self) -> str:
        """The unique key of the message."""
        return self.rows[0].uuid


class BranchMessages:
    """A branch as messages. Grows with the branch, in one thread while others read."""

    def __init__(
        self, turns: Iterable[Turn], results: Mapping[str, Row], lock: AbstractContextManager[object] | None = None
    ) -> None:
        """Collect the messages; `results` are the result rows by call, anywhere in the chat. `lock` is the chat's."""
        self._lock = lock or threading.RLock()
        self.entries: list[MessageEntry] = []
        self.turns: list[Turn] = []
        self.at: dict[str, int] = {}
        """The position of a message, by its key."""
        self.results = results
        self.caller: dict[str, str] = {}
        """The message that made a call."""
        self._owners: tuple[int, dict[str, str]] = (-1, {})
        self._rows = 0
        self.interrupted: set[Turn] = set()
        self.part_starts: dict[str, PartStart] = {}
        """The messages that begin a part of the conversation, with the reason."""
        self.broken = 0
        """The change after which the start of the branch was no longer the same."""
        self._changed: dict[str, int] = {}
        self._answers: dict[str, MessageEntry] = {}
        self._last: tuple[int, str] = (-1, "")
        for turn in turns:
            self._add_turn(turn)

    @property
    def keys(self) -> list[str]:
        """The keys of all messages."""
        return [entry.key for entry in self.entries]

    def entry(self, key: str) -> MessageEntry:
        """Return the message with this key."""
        return self.entries[self.at[key]]

    def before(self, key: str) -> str | None:
        """Return the key of the message before this one."""
        at = self.at[key]
        return self.entries[at - 1].key if at else None

    def message_with(self, uuid: str) -> str | None:
        """Return the message of a row or of the call of a result row; also by the id of a call or message."""
        with self._lock:
            rows, owners = self._owners
            if rows != self._rows:  # rarely needed, but then often
                owners = {call.uuid: self.caller[name] for name, call in self.results.items() if name in self.caller}
                for entry in reversed(self.entries):
                    owners |= {name: entry.key for row in entry.rows for name in (row.message_id, row.uuid) if name}
                self._owners = (self._rows, owners)
            return owners.get(uuid) or self.caller.get(uuid)

    def result_rows(self) -> list[Row]:
        """Return the rows of all results."""
        with self._lock:
            return list(self.results.values())

    def changed_since(self, version: int) -> list[str]:
        """Return the messages that are new or changed since a change, in order."""
        changed = []
        with self._lock:
            for key in reversed(self._changed):
                if self._changed[key] <= version:
                    break
                changed.append(key)
        return sorted(changed, key=self.at.__getitem__)

    def extend(self, tree: Tree, rows: Iterable[Row], version: int) -> bool:
        """Append rows; return False if they do not belong at the end."""
        with self._lock:
            return self._extend(tree, rows, version)

    def _extend(self, tree: Tree, rows: Iterable[Row], version: int) -> bool:
        for row in rows:
            node = tree.find(row.uuid)
            turn = node.turn if node else None
            if node is None or turn is None:
                continue  # a row of an agent
            if node.row is not row or len(node.copies) > 1 or (node.position < self._last and self.turns):
                return False  # a copy, such as a row that was written again, replaces an earlier row
            if not self.turns or turn is not self.turns[-1]:
                if self.turns and (turn.parent is not self.turns[-1] or turn.nodes[0] is not node):
                    return False
                self._begin(turn)
            self._last = node.position
            self._mark([self._add(node, turn), *self._callers(row)], version)
        return True

    def follows(self, old: "BranchMessages", rows: Iterable[Row], version: int) -> None:
        """Replace the old state of the branch: the common start stays the same, except for touched messages."""
        begins_alike = len(old.entries) <= len(self.entries) and all(
            earlier.key == other.key for earlier, other in zip(old.entries, self.entries, strict=False)
        )
        self.broken = old.broken if begins_alike else version
        self._changed = {key: since for key, since in old._changed.items() if key in self.at}
        for row in rows:
            self._mark([self.message_with(row.uuid), *self._callers(row)], version)
        self._mark((entry.key for entry in self.entries[len(old.entries) :]), version)

    def touch(self, call: str, version: int) -> None:
        """Mark a call that changed outside this branch, such as by more messages of its agent."""
        with self._lock:
            self._mark([self.caller.get(call)], version)

    def _callers(self, row: Row) -> list[str | None]:
        return [self.caller.get(call) for call in row.results]

    def _mark(self, keys: Iterable[str | None], version: int) -> None:
        for key in keys:
            if key is not None:
                self._changed.pop(key, None)  # so that the last change is always at the end
                self._changed[key] = version

    def _add_turn(self, turn: Turn) -> None:
        self._begin(turn)
        nodes = turn.in_order()
        for node in nodes:
            self._add(node, turn)
        self._last = max(self._last, *(node.position for node in nodes))

    def _begin(self, turn: Turn) -> None:
        self.turns.append(turn)
        self._answers = {}

    def _add(self, node: Node, turn: Turn) -> str | None:
        """Add a row to its message; return the message's key, if any."""
        row = node.row
        self._rows += 1
        if row.kind is RowKind.INTERRUPTION:
            self.interrupted.add(turn)
        if not is_shown(row):
            return None
        entry = self._answers.get(row.message_id or "") or self._retried(row, turn)
        if entry is None:
            entry = MessageEntry([row], turn)
            self.at[entry.key] = len(self.entries)
            self.entries.append(entry)
            if row.message_id is not None:
                self._answers[row.message_id] = entry
        else:
            entry.rows.append(row)
        if node.starts_part is not None:
            self.part_starts.setdefault(entry.key, node.starts_part)
        for made in row.calls:
            self.caller[made.id] = entry.key
        return entry.key

    def _retried(self, row: Row, turn: Turn) -> MessageEntry | None:
        """Return the last message, if this row is a retry of it."""
        last = self.entries[-1] if self.entries else None
        return last if last and last.turn is turn and is_retry_after(row, last.rows[-1]) else None
