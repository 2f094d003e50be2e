"""Read a chat piece by piece: its structure is in memory, its records are read on demand.

A reader follows the chat's files as they grow, at a cost proportional to the new part. Every message knows its last
change, so that a page can request new messages only.
"""

import gc
import itertools
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar, cast

from backscroll.archive.reading import KEPT
from backscroll.conversation.agents import Agent
from backscroll.conversation.branch_paths import path_of, places_of
from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.messages import Message
from backscroll.conversation.rows import Row
from backscroll.conversation.tree import Tree
from backscroll.conversation.turns import Node, Turn, walk
from backscroll.errors import BackscrollError, NothingFound
from backscroll.files.layout import TRANSCRIPTS
from backscroll.files.reading import Bookmark, Change
from backscroll.library.chats.branch_messages import BranchMessages
from backscroll.library.chats.released_rows import release_rows
from backscroll.library.chats.row_records import RowRecords
from backscroll.library.indexing.sources import conversation_place, records_in, take_beside
from backscroll.library.library import Library
from backscroll.store.reader import IndexedFile, StoredChat

Made = TypeVar("Made")
CHUNK: Final = 100
"""Number of messages that are read at once."""
MAX_TRIES: Final = 20
"""While an agent has at most this many rows, the call that started it may still have to be written."""
PROCESS: Final = secrets.token_hex(3)
LOADS: Final = itertools.count(1)


class ChatChanges(NamedTuple):
    """The changes of a chat since a cursor."""

    cursor: str
    is_reset: bool
    """Whether the page is out of date and must be reloaded."""
    messages: list[tuple[Message, str | None]]
    """New and changed messages in reading order, each with the key of the message before it."""


class ChatReader:
    """An open chat. Thread-safe."""

    def __init__(self, library: Library, stored: StoredChat) -> None:
        self.stored = stored
        self.lock = threading.RLock()
        self._places: dict[Turn, tuple[int, int]] | None = None
        self._tree: Tree | None = None
        self._results: dict[str, Row] = {}
        self._load(library)

    def _load(self, library: Library) -> None:
        with _uncollected():
            self._take_shape(library)
            self.branch_messages()

    def _take_shape(self, library: Library) -> None:
        shape = library.reader.chat_shape(self.stored.key)
        if shape is None:
            raise BackscrollError("this chat was just reloaded", "try again")
        self._chats = ChatBuilder(is_elsewhere=library.machine.is_elsewhere)
        self._bookmarks: dict[str, Bookmark | None] = {}
        self._chats.entitle_rows(shape.titles)
        for known, transcript in shape.files:
            self._chats.take(transcript, {})
            self._bookmarks[known.source] = _bookmark(known)
        self.records = RowRecords()
        self._branch_messages_by_number: dict[int, BranchMessages] = {}
        self.version = 0
        self._memory: dict[object, tuple[int, Any]] = {}
        self._renew()
        self._agent_calls: dict[str, str | None] = {}
        self._told: set[str] = set()
        """The calls whose agents wrote progress rows that were just read."""
        self.epoch = f"{PROCESS}{next(LOADS)}"

    @property
    def chat(self) -> Chat:
        """The current chat, without its records."""
        return self._chat

    @property
    def rows(self) -> int:
        """The number of rows in memory."""
        return sum(len(transcript.rows) + len(transcript.sidechains) for transcript in self._chat.transcripts)

    @property
    def cursor(self) -> str:
        """The current version of the chat, as a cursor for `changes`."""
        return f"{self.epoch}-{self.version}"

    def has_any_of(self, sources: Iterable[str]) -> bool:
        """Whether the chat was read from one of these files."""
        return not self._bookmarks.keys().isdisjoint(sources)

    def remembered(self, name: object, make: Callable[[], Made]) -> Made:
        """Return a cached result, valid while the chat is unchanged; `make` computes it."""
        with self.lock:
            version, value = self._memory.get(name, (-1, None))
            if version != self.version:
                value = make()
                self._memory[name] = (self.version, value)
            return cast(Made, value)

    # Reading

    def branch_messages(self, branch: int = 1) -> BranchMessages:
        """Return the messages of a branch, from the first one of the chat to its end."""
        with self.lock:
            if branch not in self._branch_messages_by_number:
                branches = self._chat.branches
                if not 1 <= branch <= len(branches):
                    if branch != 1:
                        raise NothingFound(f"there is no branch {branch}", f"this chat has {len(branches)}")
                    self._branch_messages_by_number[branch] = BranchMessages([], {}, self.lock)
                else:
                    turns = path_of(self._chat, branches[branch - 1], self.places)
                    self._branch_messages_by_number[branch] = BranchMessages(turns, self._results, self.lock)
                self._branch_messages_by_number[branch].broken = self.version  # earlier changes are unknown
            return self._branch_messages_by_number[branch]

    def locate(self, name: str) -> tuple[int, str] | None:
        """Return the branch and the key of a message: by the uuid of one of its rows, its own id, or that of a call."""
        with self.lock:
            node = self._chat.tree.find(name) or self.remembered("names", self._names).get(name)
            if node is None:
                return None
            place = self.places.get(node.turn) if node.turn else None
            for branch in dict.fromkeys([place[0] if place else 1, 1]):
                key = self.branch_messages(branch).message_with(node.row.uuid)
                if key is not None:
                    return branch, key
            # The result of a call is shown with the call, which may be on another branch.
            callers = (self.remembered("names", self._names).get(call) for call in node.row.results)
            for turn in (caller.turn for caller in callers if caller is not None and caller is not node):
                place = self.places.get(turn) if turn else None
                key = self.branch_messages(place[0]).message_with(node.row.uuid) if place else None
                if place and key is not None:
                    return place[0], key
            return None

    def _names(self) -> dict[str, Node]:
        """Return the rows of the chat by the ids of their messages and calls; for duplicate ids, the first."""
        names: dict[str, Node] = {}
        for node in self._chat.tree.all_nodes():
            for name in (node.row.message_id, *(call.id for call in node.row.calls)):
                if name:
                    names.setdefault(name, node)
        return names

    @property
    def places(self) -> dict[Turn, tuple[int, int]]:
        """The first branch with each turn, and the turn's position on it."""
        with self.lock:
            if self._places is None:
                self._places = places_of(self._chat)
            return self._places

    def branch_of(self, turn: Turn) -> int | None:
        """Return the first branch with a turn."""
        place = self.places.get(turn)
        return place[0] if place else None

    def agent_with(self, name: str) -> Agent | None:
        """Return the sub-agent that has a row, message or call of this name."""
        for agent in self._chat.agents:
            for row in agent.rows:
                if name in (row.uuid, row.message_id) or name in row.results or any(c.id == name for c in row.calls):
                    return agent
        return None

    @property
    def written_ns(self) -> int:
        """The time when one of the chat's files was last written, as far as it was read."""
        return max((mark.modified_ns for mark in self._bookmarks.values() if mark), default=0)

    def agent(self, agent: str) -> Agent:
        """Return a sub-agent by its id."""
        match = next((candidate for candidate in self._chat.agents if candidate.id == agent), None)
        if match is None:
            raise NothingFound(f"there is no agent {agent} in this chat", "see the tree of the chat")
        return match

    def agent_branch(self, agent: Agent) -> BranchMessages:
        """Return the messages of a sub-agent."""
        with self.lock:
            return self._agent_branch(agent)

    def _agent_branch(self, agent: Agent) -> BranchMessages:
        turns = sorted(walk(agent.tree.roots), key=lambda turn: min(node.position for node in turn.nodes))
        return BranchMessages(turns, {call: row for row in agent.rows for call in row.results}, self.lock)

    def messages(
        self, library: Library, branch_messages: BranchMessages, keys: Sequence[str], *, is_live: bool = False
    ) -> list[Message]:
        """Return these messages of a branch with their records."""
        with self.lock:
            return self.records.messages(library, branch_messages, keys, is_live=is_live, copies=self._chat.tree.find)

    def read(self, library: Library, rows: Sequence[Row]) -> dict[str, Row]:
        """Return rows with their records, by uuid."""
        with self.lock:
            return self.records.read(library, rows, self._chat.tree.find)

    # Following

    def catch_up(self, library: Library) -> None:
        """Read additions to the chat's files, and files that were added to the chat."""
        self.take(library, None)

    def take(self, library: Library, paths: Iterable[str] | None) -> bool:
        """Read additions to these files of the chat, or to any that can grow; return whether anything changed."""
        with self.lock:
            added: list[Row] = []
            is_other = False
            files = library.reader.files_of(self.stored.key)
            indexed = {file.source: file.size for file in files}
            if set(library.reader.chat_ids(indexed).values()) != {self.stored.overview.id}:
                self._reload(library)
                return True
            if paths is None:
                gone = {path for path, bookmark in self._bookmarks.items() if bookmark is None}
                paths = [file.source for file in files if file.kind in TRANSCRIPTS and file.source not in gone]
            for path in paths:
                rows = self._take_file(library, path, indexed.get(path, 0))
                if rows is None:
                    self._reload(library)
                    return True
                added += [row for row in rows if row is not None]
                is_other = is_other or bool(rows)
            if not is_other:
                return False
            self.version += 1
            self._follow(added)
            self._follow_agents(added)
            return True

    def _reload(self, library: Library) -> None:
        """Read the chat again. A rebuilt index numbers chats afresh, and chats that are joined get one id."""
        rows_before = self.rows
        self.stored = library.find(self.stored.overview.id)
        self._load(library)
        release_rows(rows_before)

    def changes(self, library: Library, branch: int, since: str, *, is_live: bool) -> ChatChanges:
        """Return the messages that are new or changed on a branch since a cursor."""
        with self.lock:
            epoch, _, number = since.partition("-")
            if epoch != self.epoch or not number.isdecimal():
                return ChatChanges(self.cursor, True, [])
            branch_messages = self.branch_messages(branch)
            if branch_messages.broken > int(number):
                return ChatChanges(self.cursor, True, [])
            keys = branch_messages.changed_since(int(number))
            messages = self.messages(library, branch_messages, keys, is_live=is_live)
            return ChatChanges(
                self.cursor, False, [(message, branch_messages.before(message.key)) for message in messages]
            )

    def _take_file(self, library: Library, name: str, size: int) -> list[Row | None] | None:
        """Return the new rows of a file, of which the index has read `size` bytes; None if the file was rewritten."""
        bookmark = self._bookmarks.get(name)
        if name in self._bookmarks and bookmark is None:
            return None
        source = library.source(name, size)
        if source is not None and source.kind not in TRANSCRIPTS:
            return []  # such as the output of a tool, which may itself look like a transcript
        if source is None or (source.is_kept and (bookmark is None or bookmark.device != KEPT)):
            return None  # gone: the library finds its kept copy
        try:
            with source.open(bookmark) as reading:
                if reading.change is Change.UNCHANGED:
                    return []
                if bookmark is not None and reading.change.starts_over:
                    return None
                transcript = self._chats.transcript(name)
                place = transcript.place if transcript is not None else conversation_place(source)
                whole = list(records_in(reading))
                first = transcript.position if transcript is not None else 0
                rows = self._chats.add(place, [item for item, _, _ in whole])
                transcript = self._chats.transcript(name)
                self._told |= {row.call for row in transcript.repeated if row.call} if transcript is not None else set()
                take_beside(self._chats, place, library.beside(source))
                for number, (_, start, length) in enumerate(whole, first):
                    self.records.note(name, number, start, length)
                self._bookmarks[name] = reading.bookmark
                return list(rows)
        except OSError:
            return None

    def _renew(self) -> None:
        chats = self._chats.chats()
        wanted = self.stored.overview.id
        self._chat = next((chat for chat in chats if chat.id == wanted), chats[0])
        self._places = None
        # Noted now, because the sessions keep growing.
        self._checkpoints = [(session.checkpoint, session.continued_in) for session in self._chat.sessions]
        if self._chat.tree is not self._tree:
            self._tree = self._chat.tree
            nodes = self._tree.all_nodes()
            self._results = {call: node.row for node in nodes for call in node.row.results}

    def _follow(self, added: list[Row]) -> None:
        """Update the chat with the added rows, incrementally if possible."""
        tree, checkpoints = self._chat.tree, self._checkpoints
        self._renew()
        for row in added:
            if self._chat.tree.find(row.uuid) is not None:
                self._results.update(dict.fromkeys(row.results, row))
        simple = self._chat.tree is tree and checkpoints == self._checkpoints
        for branch, branch_messages in list(self._branch_messages_by_number.items()):
            if simple and branch == 1 and branch_messages.extend(self._chat.tree, added, self.version):
                continue
            self._branch_messages_by_number.pop(branch)
            fresh = (
                self.branch_messages(branch)
                if branch <= max(1, len(self._chat.branches))
                else BranchMessages([], {}, self.lock)
            )
            fresh.follows(branch_messages, added, self.version)
            self._branch_messages_by_number[branch] = fresh

    def _follow_agents(self, added: list[Row]) -> None:
        """Mark the calls whose agents grew: the call that started an agent, or that started its parent agent."""
        for branch_messages in self._branch_messages_by_number.values():
            for call_id in self._told:
                branch_messages.touch(call_id, self.version)
        self._told.clear()
        for file in dict.fromkeys(row.transcript for row in added):
            transcript = self._chats.transcript(file)
            if transcript is None or transcript.place.agent_id is None:
                continue
            call = self._agent_calls.get(file)
            if (call is None and len(transcript.rows) < MAX_TRIES) or file not in self._agent_calls:
                agent_of_file = next((agent for agent in self._chat.agents if agent.transcript is transcript), None)
                while agent_of_file is not None and agent_of_file.parent is not None:
                    agent_of_file = agent_of_file.parent
                call = self._agent_calls[file] = agent_of_file.call.id if agent_of_file and agent_of_file.call else None
            for branch_messages in self._branch_messages_by_number.values():
                if call is not None:
                    branch_messages.touch(call, self.version)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the cycle collector: nothing created here becomes garbage, and it would take a third of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _bookmark(known: IndexedFile) -> Bookmark | None:
    """Return the bookmark to continue from; None for a file that is gone from its home and cannot grow."""
    return Bookmark(*known.bookmark) if known.bookmark and not known.archived else None
