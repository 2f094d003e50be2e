"""Which session resumes a chat in Claude Code, and where."""

import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

from backscroll.conversation.branch_paths import places_of
from backscroll.conversation.chat import Chat
from backscroll.conversation.transcripts import Transcript
from backscroll.errors import NothingFound
from backscroll.files.layout import container_of
from backscroll.files.names import paths_of, project_folder
from backscroll.files.source_key import SourceKey
from backscroll.library.library import Library
from backscroll.library.machine import Machine
from backscroll.store.reader import StoredChat


class Resume(NamedTuple):
    """The command to run, and its folder."""

    session: str
    folder: str | None
    branch: int | None = None
    """The branch that goes on."""

    @property
    def command(self) -> list[str]:
        """The words of the command."""
        return ["claude", "--resume", self.session]

    @property
    def line(self) -> str:
        """The command for a shell, in its folder."""
        folder = f"cd {shlex.quote(self.folder)} && " if self.folder else ""
        return folder + shlex.join(self.command)


def resume_of(library: Library, stored: StoredChat, name: str = "", branch: int | None = None) -> Resume:
    """If a chat has several leaves: the one whose id starts with a name, else one on a branch, else the most recently
    active one.
    """
    return resume_in(library.open(stored, with_records=False).chat, stored, library.machine, name, branch)


def resume_in(chat: Chat, stored: StoredChat, machine: Machine, name: str = "", branch: int | None = None) -> Resume:
    """The same for an open chat. A branch that was rewound has no session of its own: see `branch` of the answer."""
    leaves = chat.leaves
    branches = _branches_of(chat)
    named = [leaf for leaf in leaves if name and (leaf.session_id or "").startswith(name.lower())]
    here = [leaf for leaf in leaves if branch is not None and branches[leaf.place.file] == branch]
    leaf = next((_with_own_file(chat, leaf) for leaf in [*named, *here, *leaves]), None)
    if leaf is None or not leaf.session_id:
        raise NothingFound("the session of this agent is gone", "resume needs the session's own file")
    if (holder := container_of(SourceKey.parse(leaf.place.file).path)) is not None:
        short = leaf.session_id[:8]
        hint = (
            f"restore it as a session file first: backscroll archive restore {short} --in-place;"
            f" or read it: backscroll export {short}"
        )
        raise NothingFound(f"Claude Code of today cannot resume it: it is from {holder}", hint)
    here_too = _on_this_machine(chat, leaf, machine)
    if here_too is None:
        elsewhere = SourceKey.parse(leaf.place.file).machine
        hint = f"resume it there, or bring it here first: backscroll archive restore {leaf.session_id[:8]} --in-place"
        raise NothingFound(f"this session is on another machine: {elsewhere}", hint)
    if stored.archived:
        hint = f"put it back first: backscroll archive restore {leaf.session_id[:8]} --in-place"
        raise NothingFound("Claude Code has deleted this session; it is only in the archive", hint)
    return Resume(leaf.session_id, _folder_of(here_too), branches[leaf.place.file])


def _with_own_file(chat: Chat, leaf: Transcript) -> Transcript:
    """The same session in a file of its own, if it is inside another file and was restored since."""
    if container_of(SourceKey.parse(leaf.place.file).path) is None:
        return leaf
    own = [one for one in chat.sessions if container_of(SourceKey.parse(one.place.file).path) is None]
    return next((one for one in own if one.session_id == leaf.session_id and len(one.rows) >= len(leaf.rows)), leaf)


def obstacle(resume: Resume) -> str | None:
    """Why Claude Code cannot be started here; None if nothing is known to be in the way."""
    folder = resume.folder
    if folder is not None and not (Path(folder).is_absolute() and folder.isprintable() and Path(folder).is_dir()):
        return f"the folder {folder} is gone"
    if shutil.which(resume.command[0]) is None:
        return f"{resume.command[0]} is not on the PATH"
    return None


def _branches_of(chat: Chat) -> dict[str, int | None]:
    """The branch that the client would continue in each leaf, by its file."""
    places = places_of(chat)
    found: dict[str, int | None] = {}
    for leaf in chat.leaves:
        turn = chat.leaf_of(leaf)
        while turn is not None and turn not in places:
            turn = turn.parent
        found[leaf.place.file] = places[turn][0] if turn is not None else None
    return found


def _on_this_machine(chat: Chat, leaf: Transcript, machine: Machine) -> Transcript | None:
    """The session as this machine has it, if it has all of it."""
    twins = [one for one in chat.sessions if one.session_id == leaf.session_id and len(one.rows) >= len(leaf.rows)]
    return next((one for one in [leaf, *twins] if machine.is_own(SourceKey.parse(one.place.file).machine)), None)


def _folder_of(session: Transcript) -> str | None:
    """Where Claude Code finds a session: in the project that its file belongs to.

    That may be another one than its rows say: it was restored into it, or its project lies elsewhere on this machine.
    """
    _, _, below = SourceKey.parse(session.place.file).path.partition("projects/")
    name = below.split("/")[0]
    said = session.project
    if not name or (said is not None and project_folder(said) == name):
        return said
    found = list(paths_of(name))
    return next((path for path in found if said and Path(path).name == Path(said).name), found[0] if found else said)
