"""The messages of a branch in reading order, as lists of rows without their records."""

import threading
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import is_retry_after, is_shown
from backscroll.conversation.rows import Row
from backscroll.conversation.tree import Tree, Turn


class MessageEntry(NamedTuple):
    """A message."""

    rows: list[Row]
    turn: Turn

    @property
    def key(self) -> str:
        """Its unique key."""
        return self.rows[0].uuid


class BranchMessages:
    """Grows with the branch, in one thread while others read."""

    def __init__(
        self, turns: Iterable[Turn], results: Mapping[str, Row], lock: AbstractContextManager[object] | None = None
    ) -> None:
        """`results` are the result rows by call, anywhere in the chat. `lock` is the chat's, held while it grows."""
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
        self.broken = 0
        """The change after which its start was no longer the same."""
        self._changed: dict[str, int] = {}
        self._answers: dict[str, MessageEntry] = {}
        self._last: tuple[int, str] = (-1, "")
        for turn in turns:
            self._add_turn(turn)

    @property
    def keys(self) -> list[str]:
        """All messages."""
        return [entry.key for entry in self.entries]

    def entry(self, key: str) -> MessageEntry:
        """A message."""
        return self.entries[self.at[key]]

    def before(self, key: str) -> str | None:
        """The message before one."""
        at = self.at[key]
        return self.entries[at - 1].key if at else None

    def message_with(self, uuid: str) -> str | None:
        """The message of a row or of the call of a result row; also by the id of a call or message."""
        with self._lock:
            rows, owners = self._owners
            if rows != self._rows:  # rarely needed, but then often
                owners = {call.uuid: self.caller[name] for name, call in self.results.items() if name in self.caller}
                for entry in reversed(self.entries):
                    owners |= {name: entry.key for row in entry.rows for name in (row.message_id, row.uuid) if name}
                self._owners = (self._rows, owners)
            return owners.get(uuid) or self.caller.get(uuid)

    def result_rows(self) -> list[Row]:
        """The rows of all results."""
        with self._lock:
            return list(self.results.values())

    def changed_since(self, version: int) -> list[str]:
        """The messages that are new or changed since a change, in order."""
        found = []
        with self._lock:
            for key in reversed(self._changed):
                if self._changed[key] <= version:
                    break
                found.append(key)
        return sorted(found, key=self.at.__getitem__)

    def extend(self, tree: Tree, rows: Iterable[Row], version: int) -> bool:
        """Append rows; False if they do not belong at the end."""
        with self._lock:
            return self._extend(tree, rows, version)

    def _extend(self, tree: Tree, rows: Iterable[Row], version: int) -> bool:
        for row in rows:
            node = tree.find(row.uuid)
            turn = node.turn if node else None
            if node is None or turn is None:
                continue  # of an agent
            if node.row is not row or (node.position < self._last and self.turns):
                return False
            if not self.turns or turn is not self.turns[-1]:
                if self.turns and (turn.parent is not self.turns[-1] or turn.nodes[0] is not node):
                    return False
                self._begin(turn)
            self._last = node.position
            self._mark([self._add(row, turn), *self._callers(row)], version)
        return True

    def follows(self, old: "BranchMessages", rows: Iterable[Row], version: int) -> None:
        """Replace the old state of the branch: the common start stays the same, except for touched messages."""
        begins_alike = len(old.entries) <= len(self.entries) and all(
            one.key == other.key for one, other in zip(old.entries, self.entries, strict=False)
        )
        self.broken = old.broken if begins_alike else version
        self._changed = {key: since for key, since in old._changed.items() if key in self.at}
        for row in rows:
            self._mark([self.message_with(row.uuid), *self._callers(row)], version)
        self._mark((entry.key for entry in self.entries[len(old.entries) :]), version)

    def touch(self, call: str, version: int) -> None:
        """A call got something new outside this branch, such as more messages of its agent."""
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
            self._add(node.row, turn)
        self._last = max(self._last, *(node.position for node in nodes))

    def _begin(self, turn: Turn) -> None:
        self.turns.append(turn)
        self._answers = {}

    def _add(self, row: Row, turn: Turn) -> str | None:
        """Put a row where it belongs; return its message, if any."""
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
        for made in row.calls:
            self.caller[made.id] = entry.key
        return entry.key

    def _retried(self, row: Row, turn: Turn) -> MessageEntry | None:
        """The last message, if this row says once more what it says."""
        last = self.entries[-1] if self.entries else None
        return last if last and last.turn is turn and is_retry_after(row, last.rows[-1]) else None
