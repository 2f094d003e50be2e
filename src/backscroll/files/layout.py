"""Classify each file of a Claude Code home, by its path alone.

This is the single list of files that we read and files that we never touch. `discovery` finds the files on the disk.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple


class FileKind(StrEnum):
    """The kind of a file."""

    SESSION = "session"
    AGENT = "agent"
    AGENT_META = "agent-meta"
    WORKFLOW_JOURNAL = "workflow-journal"
    TOOL_RESULT = "tool-result"
    SIDECAR = "sidecar"
    MEMORY = "memory"
    SESSIONS_INDEX = "sessions-index"
    SESSION_ALIASES = "session-aliases"
    HISTORY = "history"
    TODO = "todo"
    TASK = "task"
    TASK_OUTPUT = "task-output"
    JOB = "job"
    FILE_HISTORY = "file-history"
    PLAN = "plan"
    PASTE = "paste"
    IMAGE = "image"
    TEAM = "team"
    STATISTICS = "statistics"
    LIVE_SESSION = "live-session"
    DATABASE = "database"
    MESSAGE_LOG = "message-log"


class LeftOut(StrEnum):
    """The reason why a file is left out."""

    SECRET = "secret"  # noqa: S105
    SET_ASIDE = "set aside"
    LINK = "link"
    NOT_A_FILE = "not a regular file"
    TOO_MUCH = "too much"
    OTHER = "other"


class Place(NamedTuple):
    """The kind, project, session and agent that the path of a file names."""

    kind: FileKind
    project_folder: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    session_start: str | None = None
    """The first characters of the id of its session, if its name has no more of it."""

    def belongs_to(self, session_id: str) -> bool:
        """Whether the file belongs to this session, as far as its name says."""
        if self.session_start is not None:
            return session_id.startswith(self.session_start)
        return self.session_id == session_id


TITLE_FILE: Final = "custom-title.json"
"""The title that the user gave a session, in a folder named after it."""
OUTPUTS: Final = "tasks"
"""The folder of the outputs of commands, in the folder of a session and in its folder among the temporary files."""
OUTPUT: Final = ".output"
PARENT_COPY: Final = "parent-transcript.jsonl"
"""A copy of the session that a background session was made from, in the folder of the background session."""
TRANSCRIPTS: Final = frozenset({FileKind.SESSION, FileKind.AGENT})
"""The files whose lines are records."""
CONTAINERS: Final = frozenset({FileKind.DATABASE, FileKind.MESSAGE_LOG})
"""The files of early clients, which hold whole sessions: each session in one has a path below the file's own."""
DATABASE: Final = "__store.db"
LOGS: Final = "messages"
"""The folder of each project's logs, in the cache folder of the first clients."""


def place_of(parts: Sequence[str]) -> Place | LeftOut:
    """Classify the file at this path, relative to its home."""
    name = parts[-1]
    if SECRET.fullmatch(name):
        return LeftOut.SECRET
    if SET_ASIDE.search(name):
        return LeftOut.SET_ASIDE
    if len(parts) == 1:
        kind = TOP_FILES.get(name)
        return Place(kind) if kind else LeftOut.OTHER
    top = parts[0]
    if top == "projects":
        return _place_in_projects(parts[1:])
    if top == "sessions":
        return Place(FileKind.LIVE_SESSION) if LIVE.fullmatch(name) and len(parts) == 2 else LeftOut.OTHER
    if top == DATABASE and len(parts) == 2:
        return _place_inside(name)
    if top in ("file-history", "image-cache") and len(parts) > 2:
        return Place(TOP_FOLDERS[top], session_id=_session(parts[1]))
    if top == "todos" and (todo := TODO.fullmatch(name)):
        return Place(FileKind.TODO, session_id=todo[1].lower(), agent_id=todo[2])
    if top == "tasks" and len(parts) > 2:
        return Place(FileKind.TASK, session_id=_session(parts[1]))
    if top == "teams" and (team := TEAM_OF_SESSION.fullmatch(parts[1])):
        return Place(FileKind.TEAM, session_start=team[1].lower())
    if top == "jobs":
        return _place_in_jobs(parts[1:])
    kind = TOP_FOLDERS.get(top)
    if kind is None and parts[1] == LOGS and len(parts) > 2 and parts[2].endswith(".json"):
        if len(parts) == 3:
            return Place(FileKind.MESSAGE_LOG, top)
        return _place_inside(name, top) if len(parts) == 4 else LeftOut.OTHER
    return Place(kind) if kind else LeftOut.OTHER


def is_searched(parts: Sequence[str]) -> bool:
    """Whether this folder of a home may have files of ours: not the working files of a background session."""
    return parts[0] != "jobs" or len(parts) < 3


def container_of(path: str) -> str | None:
    """Return the file that holds the session at this path of a home; None if the path is that of a file itself."""
    holder, _, name = path.rpartition("/")
    is_inside = holder == DATABASE or (holder.count("/") == 2 and holder.split("/")[1] == LOGS)
    return holder if is_inside and name.endswith(".jsonl") else None


def is_session_id(name: str) -> bool:
    """Whether this is a valid session id, safe as a file name. A transcript can claim any text as its id."""
    return UUID.fullmatch(name) is not None


def _place_in_projects(parts: Sequence[str]) -> Place | LeftOut:
    folder, name = parts[0], parts[-1]
    if len(parts) == 2:
        if session := _session(name.removesuffix(".jsonl")) if name.endswith(".jsonl") else None:
            return Place(FileKind.SESSION, folder, session)
        if agent := AGENT.fullmatch(name):
            return Place(FileKind.AGENT, folder, None, agent[1])
        kind = PROJECT_FILES.get(name)
        return Place(kind, folder) if kind else LeftOut.OTHER
    if len(parts) < 2:
        return LeftOut.OTHER
    if parts[1] == "memory":
        return Place(FileKind.MEMORY, folder)
    session = _session(parts[1])
    if session is None:
        return LeftOut.OTHER
    if parts[2] == "subagents":
        if agent := AGENT.fullmatch(name):
            return Place(FileKind.AGENT, folder, session, agent[1])
        if agent := AGENT_META.fullmatch(name):
            return Place(FileKind.AGENT_META, folder, session, agent[1])
        if name == "journal.jsonl":
            return Place(FileKind.WORKFLOW_JOURNAL, folder, session)
    if parts[2] == "tool-results" and len(parts) > 3:
        return Place(FileKind.TOOL_RESULT, folder, session)
    if parts[2] == OUTPUTS and len(parts) == 4 and name.endswith(OUTPUT):
        return Place(FileKind.TASK_OUTPUT, folder, session)
    return Place(FileKind.SIDECAR, folder, session)


def _place_in_jobs(parts: Sequence[str]) -> Place | LeftOut:
    """Classify a file about a background session, whose folder is named after the beginning of its id."""
    if len(parts) > 2 or not parts[-1].endswith((".json", ".jsonl")):
        return LeftOut.OTHER
    start = parts[0].lower() if len(parts) == 2 and SESSION_START.fullmatch(parts[0]) else None
    return Place(FileKind.JOB, session_start=start)


def _place_inside(name: str, project_folder: str | None = None) -> Place | LeftOut:
    session = _session(name.removesuffix(".jsonl")) if name.endswith(".jsonl") else None
    return Place(FileKind.SESSION, project_folder, session) if session else LeftOut.OTHER


def _session(name: str) -> str | None:
    return name.lower() if is_session_id(name) else None


UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
AGENT: Final = re.compile(r"agent-(.+)\.jsonl")
AGENT_META: Final = re.compile(r"agent-(.+)\.meta\.json")
TODO: Final = re.compile(rf"({UUID.pattern})-agent-(.+)\.json", re.IGNORECASE)
SESSION_START: Final = re.compile(r"[0-9a-f]{8}", re.IGNORECASE)
TEAM_OF_SESSION: Final = re.compile(rf"session-({SESSION_START.pattern})", re.IGNORECASE)
LIVE: Final = re.compile(r"\d+\.json")
# By name, in any folder: we never read tokens and keys.
SECRET: Final = re.compile(
    r"\.credentials.*|.*\.(?:key|pem)|.*_token|hfi-auth\.json|remote-settings\.json|policy-limits\.json", re.IGNORECASE
)
SET_ASIDE: Final = re.compile(r"\.superseded-|\.orphaned-\d+-|\.compact\.tmp\.")
TOP_FILES: Final = {
    DATABASE: FileKind.DATABASE,
    "history.jsonl": FileKind.HISTORY,
    "stats-cache.json": FileKind.STATISTICS,
}
TOP_FOLDERS: Final = {
    "file-history": FileKind.FILE_HISTORY,
    "image-cache": FileKind.IMAGE,
    "jobs": FileKind.JOB,
    "paste-cache": FileKind.PASTE,
    "plans": FileKind.PLAN,
    "tasks": FileKind.TASK,
    "teams": FileKind.TEAM,
    "todos": FileKind.TODO,
    "usage-data": FileKind.STATISTICS,
}
FOLDERS: Final = ("projects", "sessions", *TOP_FOLDERS)
"""The top-level folders of a home that we read. The others are not searched."""
PROJECT_FILES: Final = {
    "sessions-index.json": FileKind.SESSIONS_INDEX,
    ".session-aliases": FileKind.SESSION_ALIASES,
}
