"""A chat that was opened for reading: its messages, and its sources."""

from collections.abc import Callable, Mapping, Set
from functools import cached_property

from backscroll.conversation.agents import Agent
from backscroll.conversation.chat import Branch, Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.messages import CallResult, Message, messages_of, results_of
from backscroll.conversation.tree import walk
from backscroll.errors import BackscrollError
from backscroll.files.layout import TRANSCRIPTS, FileKind, container_of
from backscroll.files.source_key import SourceKey
from backscroll.library.indexing.sources import Source, conversation_place, records_in, take_beside
from backscroll.library.machine import Machine


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
        """Its title, including titles from other files."""
        self._is_live = any(session.session_id in live_sessions for session in chat.leaves)

    @property
    def from_archive(self) -> list[SourceKey]:
        """The sessions that are read from the archive: they are gone from their home, shorter there than once, or on
        another machine."""
        sessions = (source for source in self.sources.values() if source.kind is FileKind.SESSION)
        return sorted({source.key.current for source in sessions if source.is_kept}, key=lambda key: key.id)

    def is_here(self, session: SourceKey) -> bool:
        """Whether a session is from this machine."""
        return self._machine is None or self._machine.is_own(session.machine)

    @cached_property
    def _results(self) -> dict[str, CallResult]:
        return results_of(node.row for node in self.chat.tree.all_nodes())

    def messages(self, branch: Branch) -> list[Message]:
        """The messages of a branch, without the part that it shares with earlier branches."""
        last = branch.turns[-1]
        return [
            message
            for turn in branch.turns
            for message in messages_of(
                turn,
                self._results,
                is_live=self._is_live and turn is last and branch.number == 1,
            )
        ]

    def agent_messages(self, agent: Agent) -> list[Message]:
        """The messages of a sub-agent."""
        results = results_of(agent.rows)
        turns = sorted(walk(agent.tree.roots), key=lambda turn: min(node.position for node in turn.nodes))
        return [message for turn in turns for message in messages_of(turn, results)]


def holders_of(chat: Chat) -> list[str]:
    """The databases and logs of early clients that a chat is from, by their paths in their home."""
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
    """Read the chat with this id from its files; `beside` gives the sidecars of a file."""
    chats = ChatBuilder(keep=with_records)
    for source in sources.values():
        if source.kind in TRANSCRIPTS:
            place = conversation_place(source)
            take_beside(chats, place, beside(source))
            with source.open() as reading:
                chats.add(place, [record for record, _, _ in records_in(reading)])
    found = chats.chats()
    opened = next((one for one in found if one.id == chat), None) or next(iter(found), None)
    if opened is None:
        raise BackscrollError("the files of this chat cannot be read", "run backscroll archive verify")
    return OpenedChat(opened, title, live_sessions, sources, machine)
