"""A chat that was opened for reading: its messages, and its sources."""

from collections.abc import Callable, Iterable, Mapping, Set
from functools import cached_property

from backscroll.conversation.agents import Agent
from backscroll.conversation.branches import Branch
from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.conflicts import is_other, said_in
from backscroll.conversation.messages import CallResult, Message, OtherText, messages_of, results_of
from backscroll.conversation.rows import Row
from backscroll.conversation.tree import walk
from backscroll.conversation.turns import Node
from backscroll.errors import BackscrollError
from backscroll.files.layout import TRANSCRIPTS, FileKind, container_of
from backscroll.files.source_key import SourceKey
from backscroll.library.indexing.sources import Source, conversation_place, records_in, take_beside
from backscroll.library.machine import Machine
from backscroll.records.kinds import ChainRecord


class OpenedChat:
    """A chat that was opened for reading."""

    def __init__(
        self,
        chat: Chat,
        title: str,
        live_sessions: Set[str],
        sources: Mapping[str, Source] | None = None,
        machine: Machine | None = None,
    ) -> None:
        self.chat = chat
        self._machine = machine
        self.sources = dict(sources or {})
        """The files that it was read from."""
        self.title = title
        """The title of the chat, including titles from other files."""
        self._is_live = any(session.session_id in live_sessions for session in chat.leaves)

    @property
    def from_archive(self) -> list[SourceKey]:
        """The sessions that are read from the archive: they are gone from their home, shorter there than before, or on
        another machine.
        """
        sessions = (source for source in self.sources.values() if source.kind is FileKind.SESSION)
        return sorted({source.key.current for source in sessions if source.is_kept}, key=lambda key: key.id)

    def is_here(self, session: SourceKey) -> bool:
        """Whether a session is from this machine."""
        return self._machine is None or self._machine.is_own(session.machine)

    @cached_property
    def _results(self) -> dict[str, CallResult]:
        return results_of(node.row for node in self.chat.tree.all_nodes())

    def messages(self, branch: Branch) -> list[Message]:
        """Return the messages of a branch, without the part that it shares with earlier branches."""
        last = branch.turns[-1]
        messages = [
            message
            for turn in branch.turns
            for message in messages_of(
                turn,
                self._results,
                is_live=self._is_live and turn is last and branch.number == 1,
            )
        ]
        note_conflicts(messages, self.chat.tree.find)
        return messages

    def agent_messages(self, agent: Agent) -> list[Message]:
        """Return the messages of a sub-agent."""
        results = results_of(agent.rows)
        turns = sorted(walk(agent.tree.roots), key=lambda turn: min(node.position for node in turn.nodes))
        return [message for turn in turns for message in messages_of(turn, results)]


def note_conflicts(
    messages: Iterable[Message],
    node_of: Callable[[str], Node | None],
    read: Callable[[Row], ChainRecord | None] = lambda row: row.record,
) -> None:
    """Note in messages the copies from other machines that differ from them."""
    for message in messages:
        others: dict[str, list[Row]] = {}
        is_other_at = set()
        for row in message.rows:
            node = node_of(row.uuid)
            machine = SourceKey.parse(row.transcript).machine
            for copy in foreign_copies(node, machine) if node is not None and row.record is not None else ():
                record, where = read(copy), SourceKey.parse(copy.transcript).machine
                if record is not None and row.record is not None:
                    others.setdefault(where, []).append(Row(record, copy.transcript, copy.position, keep=True))
                    if is_other(row.record, record):
                        is_other_at.add(where)
        message.conflicts = tuple(OtherText(where, said_in(others[where])) for where in sorted(is_other_at))


def foreign_copies(node: Node, machine: str) -> list[Row]:
    """Return the last copy of a row from each machine other than the visible one."""
    if len(node.copies) < 2:
        return []
    last: dict[str, Row] = {}
    for copy in node.copies:
        where = SourceKey.parse(copy.transcript).machine
        if where != machine:
            last[where] = copy
    return list(last.values())


def holders_of(chat: Chat) -> list[str]:
    """Return the databases and logs of early clients that a chat is from, by their paths in their home."""
    paths = (SourceKey.parse(transcript.place.file).path for transcript in chat.transcripts)
    return sorted({holder for path in paths if (holder := container_of(path)) is not None})


def open_chat(
    chat: str,
    title: str,
    live_sessions: Set[str],
    sources: Mapping[str, Source],
    beside: Callable[[Source], list[Source]],
    machine: Machine,
    *,
    with_records: bool,
) -> OpenedChat:
    """Read the chat with this id from its files; `beside` returns the sidecars of a file."""
    chats = ChatBuilder(keep=with_records, is_elsewhere=machine.is_elsewhere)
    for source in sources.values():
        if source.kind in TRANSCRIPTS:
            place = conversation_place(source)
            take_beside(chats, place, beside(source))
            with source.open() as reading:
                chats.add(place, [record for record, _, _ in records_in(reading)])
    built = chats.chats()
    opened = next((candidate for candidate in built if candidate.id == chat), None) or next(iter(built), None)
    if opened is None:
        raise BackscrollError("the files of this chat cannot be read", "run backscroll archive verify")
    return OpenedChat(opened, title, live_sessions, sources, machine)
