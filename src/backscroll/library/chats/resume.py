"""The session and folder that resume a chat in Claude Code."""

import os
import shlex
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.conversation.branch_paths import branch_with, places_of
from backscroll.conversation.chat import Chat
from backscroll.conversation.transcripts import Transcript
from backscroll.errors import NothingFound
from backscroll.files.homes import find_homes
from backscroll.files.layout import container_of
from backscroll.files.names import paths_of, project_folder
from backscroll.files.source_key import SourceKey
from backscroll.library.library import Library
from backscroll.library.machine import Machine
from backscroll.store.reader import StoredChat

CONFIG: Final = "CLAUDE_CONFIG_DIR"
"""The variable that names the home of Claude Code."""


class Resume(NamedTuple):
    """The command to run, and its folder."""

    session: str
    folder: str | None
    branch: int | None = None
    """The branch that continues."""
    is_fork: bool = False
    """Whether the chat continues in a new session, which leaves this one as it is."""
    config: str | None = None
    """Value of CLAUDE_CONFIG_DIR, if the client must use another home than by default here; empty for the usual home,
    for which the variable must be unset: the client keeps its settings beside that home, and inside any other.
    """

    @property
    def command(self) -> list[str]:
        """The words of the command."""
        return ["claude", "--resume", self.session, *(["--fork-session"] if self.is_fork else [])]

    @property
    def line(self) -> str:
        """The command for a shell, in its folder."""
        folder = f"cd {shlex.quote(self.folder)} && " if self.folder else ""
        home = f"{CONFIG}={shlex.quote(self.config)} " if self.config else ""
        if self.config == "":
            home = f"env -u {CONFIG} "
        return folder + home + shlex.join(self.command)


class Leaf(NamedTuple):
    """The session that continues a chat."""

    transcript: Transcript
    branch: int | None
    """The branch that continues."""


def resume_of(library: Library, stored: StoredChat, name: str = "", branch: int | None = None) -> Resume:
    """Return how to resume a chat: the session that `name` starts, else one on the branch, else the last active."""
    return resume_in(library.open(stored, with_records=False).chat, stored, library.machine, name, branch)


def resume_in(chat: Chat, stored: StoredChat, machine: Machine, name: str = "", branch: int | None = None) -> Resume:
    """Return how to resume an open chat. A rewound branch has no session of its own: see `branch` of the answer.

    Raises NothingFound if the session's file is not there; `library.resuming` plans how to restore it.
    """
    leaf, number = leaf_of(chat, name, branch)
    session = leaf.session_id or ""
    hint = f"backscroll resume {session[:8]} restores it and continues; or read it: backscroll show {session[:8]}"
    if (holder := container_of(SourceKey.parse(leaf.place.file).path)) is not None:
        raise NothingFound(f"Claude Code of today cannot resume it: it is from {holder}", hint)
    here = own_place(chat, leaf, machine)
    if here is None:
        elsewhere = SourceKey.parse(leaf.place.file).machine
        raise NothingFound(f"this session is on another machine: {elsewhere}", hint)
    if stored.archived:
        raise NothingFound("Claude Code has deleted this session; it is only in the archive", hint)
    key, folder = here
    return Resume(session, folder, number, config=config_folder(Path(key.home)))


def leaf_of(chat: Chat, name: str = "", branch: int | None = None) -> Leaf:
    """Return the session that continues a chat: the named one, the one on a branch, or the most recently active one."""
    leaves = chat.leaves
    branches = _branches_of(chat)
    named = [leaf for leaf in leaves if name and (leaf.session_id or "").startswith(name.lower())]
    here = [leaf for leaf in leaves if branch is not None and branches[leaf.place.file] == branch]
    leaf = next((_with_own_file(chat, leaf) for leaf in [*named, *here, *leaves]), None)
    if leaf is None or not leaf.session_id:
        raise NothingFound("the session of this agent is gone", "resume needs the session's own file")
    return Leaf(leaf, branches.get(leaf.place.file))


def own_place(chat: Chat, leaf: Transcript, machine: Machine) -> tuple[SourceKey, str | None] | None:
    """Return the file of a session on this machine, if complete there, and the folder where Claude Code finds it."""
    if container_of(SourceKey.parse(leaf.place.file).path) is not None:
        return None
    own = _on_this_machine(chat, leaf, machine)
    return None if own is None else (SourceKey.parse(own.place.file), _folder_of(own))


def config_folder(home: Path) -> str | None:
    """Return the value of CLAUDE_CONFIG_DIR for a home; None for the home in use here, empty for the usual one."""
    if home == find_homes()[0].path:
        return None
    return "" if home == find_homes(environment={})[0].path else str(home)


def _with_own_file(chat: Chat, leaf: Transcript) -> Transcript:
    """Return the session's own file, if the session is inside another file and was restored since."""
    if container_of(SourceKey.parse(leaf.place.file).path) is None:
        return leaf
    own = [session for session in chat.sessions if container_of(SourceKey.parse(session.place.file).path) is None]
    return next(
        (session for session in own if session.session_id == leaf.session_id and len(session.rows) >= len(leaf.rows)),
        leaf,
    )


def obstacle(resume: Resume) -> str | None:
    """Return why Claude Code cannot be started here; None if no obstacle is known."""
    folder = resume.folder
    if folder is not None and not (os.path.isabs(folder) and folder.isprintable() and os.path.isdir(folder)):  # noqa: PTH112, PTH117
        return f"the folder {folder} is gone"
    if shutil.which(resume.command[0]) is None:
        return f"{resume.command[0]} is not on the PATH"
    return None


def _branches_of(chat: Chat) -> dict[str, int | None]:
    """Return the branch that the client would continue in each leaf, by file."""
    places = places_of(chat)
    return {leaf.place.file: branch_with(chat.leaf_of(leaf), places) for leaf in chat.leaves}


def _on_this_machine(chat: Chat, leaf: Transcript, machine: Machine) -> Transcript | None:
    """Return this machine's copy of the session, if it is complete."""
    twins = [
        session
        for session in chat.sessions
        if session.session_id == leaf.session_id and len(session.rows) >= len(leaf.rows)
    ]
    return next(
        (session for session in [leaf, *twins] if machine.is_own(SourceKey.parse(session.place.file).machine)), None
    )


def _folder_of(session: Transcript) -> str | None:
    """Return the folder in which Claude Code finds a session: the project of its file.

    It may differ from the project in the rows: the session was restored into it, or its project is elsewhere on this
    machine.
    """
    _, _, below = SourceKey.parse(session.place.file).path.partition("projects/")
    name = below.split("/")[0]
    project = session.project
    if not name or (project is not None and project_folder(project) == name):
        return project
    folders = list(paths_of(name))
    return next(
        (path for path in folders if project and Path(path).name == Path(project).name),
        folders[0] if folders else project,
    )
