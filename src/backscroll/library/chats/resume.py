"""Which session resumes a chat in Claude Code, and where."""

from typing import NamedTuple

from backscroll.conversation.chat import Chat
from backscroll.conversation.transcripts import Transcript
from backscroll.errors import NothingFound
from backscroll.files.source_key import SourceKey
from backscroll.library.library import Library
from backscroll.library.machine import Machine
from backscroll.store.reader import StoredChat


class Resume(NamedTuple):
    """The command to run, and its folder."""

    session: str
    folder: str | None

    @property
    def command(self) -> list[str]:
        """The words of the command."""
        return ["claude", "--resume", self.session]


def resume_of(library: Library, stored: StoredChat, name: str = "") -> Resume:
    """If a chat has several leaves: the most recently active one, or the one whose id starts with a name."""
    return resume_in(library.open(stored, with_records=False).chat, stored, library.machine, name)


def resume_in(chat: Chat, stored: StoredChat, machine: Machine, name: str = "") -> Resume:
    """The same for an open chat."""
    leaves = chat.leaves
    named = [leaf for leaf in leaves if name and (leaf.session_id or "").startswith(name.lower())]
    leaf = next(iter([*named, *leaves]), None)
    if leaf is None or not leaf.session_id:
        raise NothingFound("the session of this agent is gone", "resume needs the session's own file")
    if (elsewhere := _other_machine(chat, leaf, machine)) is not None:
        hint = f"resume it there, or bring it here first: backscroll archive restore {leaf.session_id[:8]} --in-place"
        raise NothingFound(f"this session is on another machine: {elsewhere}", hint)
    if stored.archived:
        hint = f"put it back first: backscroll archive restore {leaf.session_id[:8]} --in-place"
        raise NothingFound("Claude Code has deleted this session; it is only in the archive", hint)
    return Resume(leaf.session_id, leaf.project)


def _other_machine(chat: Chat, leaf: Transcript, machine: Machine) -> str | None:
    """The machine that a session is on, unless this one has all of it, too."""
    home = SourceKey.parse(leaf.place.file).machine
    if machine.is_own(home):
        return None
    twins = [one for one in chat.sessions if one.session_id == leaf.session_id and len(one.rows) >= len(leaf.rows)]
    return None if any(machine.is_own(SourceKey.parse(one.place.file).machine) for one in twins) else home
