"""List chats and open one: those of the homes, and those that are only in the archive any more."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from backscroll.archive import Archive, KeptFile, KeptReading, Version
from backscroll.conversation import Agent, Branch, Chat, Chats, Message, Place, messages_of, results_of, walk
from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.files import TRANSCRIPTS, FileKind, Home, HomeFile, Unreadable, discover, is_running, read_small
from backscroll.files import Place as FilePlace
from backscroll.library.inspect import Found, Inspection
from backscroll.records import AgentMeta, CustomTitle, Record, agent_meta, custom_title, live_session


@dataclass(frozen=True)
class Filter:
    """Which chats are asked for; what is not set does not matter."""

    project: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    branch: str | None = None
    model: str | None = None
    title: str | None = None

    def accepts(self, chat: Chat) -> bool:
        """Whether the chat is among them."""
        when = chat.last_active
        return (
            _within(self.project, [chat.project or ""])
            and (self.since is None or (when is not None and when >= self.since))
            and (self.until is None or (chat.started is not None and chat.started < self.until))
            and _within(self.branch, chat.git_branches)
            and _within(self.model, chat.models)
            and _within(self.title, [chat.title])
        )


class Reading:
    """A chat that was opened to be read."""

    def __init__(self, chat: Chat, title: str, live_sessions: set[str]) -> None:
        self.chat = chat
        self.title = title
        """With what other files say of it too."""
        self._is_live = any(session.session_id in live_sessions for session in chat.leaves)
        self._results = results_of(node.row for node in chat.tree.nodes.values())

    def messages(self, branch: Branch) -> list[Message]:
        """What was said on a branch, without what it shares with the branches before it."""
        last = branch.turns[-1]
        return [
            message
            for turn in branch.turns
            for message in messages_of(
                turn, self._results, is_live=self._is_live and turn is last and branch.number == 1
            )
        ]

    def agent_messages(self, agent: Agent) -> list[Message]:
        """What a sub-agent was told and said."""
        results = results_of(agent.rows)
        turns = sorted(walk(agent.tree.roots), key=lambda turn: min(node.position for node in turn.nodes))
        return [message for turn in turns for message in messages_of(turn, results)]


class Source(Protocol):
    """A file that a shelf reads: one of a home, or one that is only kept."""

    @property
    def path(self) -> Path:
        """Where it lies, or lay."""

    @property
    def kind(self) -> FileKind:
        """What it is."""

    @property
    def place(self) -> FilePlace:
        """Whose it is."""

    @property
    def size(self) -> int:
        """How long it is."""


@dataclass(frozen=True)
class Kept:
    """A file that is gone from its home and still in the archive."""

    archive: Archive
    file: KeptFile
    version: Version

    @property
    def path(self) -> Path:
        """Where it lay."""
        return self.file.source

    @property
    def kind(self) -> FileKind:
        """What it is."""
        return self.file.kind

    @property
    def place(self) -> FilePlace:
        """Whose it is."""
        return self.file.place

    @property
    def size(self) -> int:
        """How long it was."""
        return self.version.size


class Shelf:
    """The chats of some homes, with what is only in the archive, and how to find one."""

    def __init__(self, homes: Sequence[Home], archive: Archive | None = None) -> None:
        self.inspection = Inspection()
        live = [file for home in homes for file in discover(home).files]
        self._files: list[Source] = [*live, *_only_kept(homes, archive, {file.path for file in live})]
        sidecars = (FileKind.AGENT_META, FileKind.SIDECAR)
        self._sidecars_by_path = {file.path: file for file in self._files if file.kind in sidecars}
        self._chats = Chats()
        self.size = sum(file.size for file in self._files if file.kind in TRANSCRIPTS)
        self._kept = {str(file.path) for file in self._files if isinstance(file, Kept)}

    def read(self, on_bytes: Callable[[int], object] = lambda _: None) -> "Shelf":
        """Read every session."""
        for file in self._transcripts():
            _add(self._chats, self.inspection, file, self._sidecars(file), on_bytes)
        return self

    def chats(self, wanted: Filter | None = None) -> list[Chat]:
        """The chats that are asked for, the one that was last active first; without those nobody said anything in."""
        chats = (chat for chat in self._chats.chats() if chat.tree.nodes or any(map(_says_something, chat.agents)))
        return [chat for chat in chats if wanted is None or wanted.accepts(chat)]

    def is_archived(self, chat: Chat) -> bool:
        """Whether the chat is only in the archive: Claude Code has deleted all of its sessions."""
        return bool(chat.sessions) and all(session.place.file in self._kept for session in chat.sessions)

    def find(self, name: str) -> Chat:
        """The chat that this is the id of, or of a session, message or agent in it; the beginning is enough."""
        found = [chat for chat in self._chats.chats() if any(part.startswith(name.lower()) for part in _names(chat))]
        if not found:
            raise NothingFound(f"no chat, session, message or agent begins with {name}", "see backscroll list")
        if len(found) > 1:
            some = ", ".join(f"{chat.id[:13]} ({chat.title[:30]})" for chat in found[:4])
            raise UsageError(f"{name} is the beginning of {len(found)} chats: {some}", "write more of it")
        return found[0]

    def open(self, name: str) -> Reading:
        """The chat with everything that was said in it."""
        chat = self.find(name)
        wanted = {transcript.place.file for transcript in chat.transcripts}
        chats = Chats(keep=True)
        inspection = Inspection()
        for file in self._transcripts():
            if str(file.path) in wanted:
                _add(chats, inspection, file, self._sidecars(file))
        opened = next(found for found in chats.chats() if found.id == chat.id)
        return Reading(opened, chat.title, self._live())

    def _transcripts(self) -> Iterator[Source]:
        return (file for file in self._files if file.kind in TRANSCRIPTS)

    def _sidecars(self, file: Source) -> list[Source]:
        stem = file.path.with_suffix("")
        paths = (stem.with_suffix(".meta.json"), stem / "custom-title.json")
        return [self._sidecars_by_path[path] for path in paths if path in self._sidecars_by_path]

    def _live(self) -> set[str]:
        live = set()
        for file in self._files:
            if file.kind is FileKind.LIVE_SESSION and isinstance(file, HomeFile) and (data := _read(file)):
                session = live_session(data)
                if session and session.session_id and is_running(session.pid, session.process_start):
                    live.add(session.session_id)
        return live


def _only_kept(homes: Sequence[Home], archive: Archive | None, live: set[Path]) -> list[Kept]:
    if archive is None:
        return []
    names = {str(home.path) for home in homes}
    files = (file for file in archive.files.values() if file.home in names and file.source not in live)
    return [Kept(archive, file, file.latest) for file in files if file.latest is not None]


def _add(
    chats: Chats,
    inspection: Inspection,
    file: Source,
    sidecars: Iterable[Source],
    on_bytes: Callable[[int], object] = lambda _: None,
) -> None:
    meta: AgentMeta | None = None
    titles: list[Record] = []
    for sidecar in sidecars:
        data = _read(sidecar)
        if sidecar.kind is FileKind.AGENT_META:
            meta = agent_meta(data)
        elif title := custom_title(data):
            titles.append(CustomTitle(custom_title=title))
    place = Place(str(file.path), file.place.session_id, file.place.agent_id)
    chats.add(place, (found.record for found in _found(inspection, file, on_bytes)), meta)
    if titles:
        chats.add(place, titles)


def _found(inspection: Inspection, file: Source, on_bytes: Callable[[int], object]) -> Iterator[Found]:
    if not isinstance(file, Kept):
        yield from inspection.read([file.path], on_bytes)
        return
    try:
        yield from inspection.read_lines(file.path, KeptReading(file.archive, file.version), on_bytes)
    except BackscrollError as error:  # damaged in the archive: what is behind the damage is not to be had
        inspection.unreadable.append(Unreadable(file.path, error.message))


def _read(file: Source) -> bytes:
    try:
        if isinstance(file, Kept):
            return b"".join(file.archive.content(file.version))
        return read_small(file.path)
    except (OSError, BackscrollError):
        return b""  # gone since we looked, or not to be read: it only adds to what the rows say


def _says_something(agent: Agent) -> bool:
    return not agent.is_stub and not agent.is_side_copy


def _within(wanted: str | None, values: Iterable[str]) -> bool:
    return wanted is None or any(wanted.lower() in value.lower() for value in values)


def _names(chat: Chat) -> Iterator[str]:
    yield chat.id.lower()
    for transcript in chat.transcripts:
        if transcript.place.session_id and transcript.place.agent_id is None:
            yield transcript.place.session_id.lower()
        if transcript.place.agent_id:
            yield transcript.place.agent_id.lower()
        for row in transcript.rows:
            yield row.uuid.lower()
            if row.message_id:
                yield row.message_id.lower()
