"""What each file of a Claude Code home is, from its path alone.

The single list of what we read and what we never touch. `discovery` finds the files on the disk.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple


class FileKind(StrEnum):
    """What a file is to us."""

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
    """Why a file is left out."""

    SECRET = "secret"  # noqa: S105
    SET_ASIDE = "set aside"
    LINK = "link"
    NOT_A_FILE = "not a regular file"
    OTHER = "other"


class Place(NamedTuple):
    """What the name of a file says: its kind, project, session and agent."""

    kind: FileKind
    project_folder: str | None = None
    session_id: str | None = None
    agent_id: str | None = None


TITLE_FILE: Final = "custom-title.json"
"""The title that the user gave a session, in a folder named after it."""
TRANSCRIPTS: Final = frozenset({FileKind.SESSION, FileKind.AGENT})
"""The files whose lines are records."""
CONTAINERS: Final = frozenset({FileKind.DATABASE, FileKind.MESSAGE_LOG})
"""The files of early clients, which hold whole sessions: each session in one has a path below the file's own."""
DATABASE: Final = "__store.db"
LOGS: Final = "messages"
"""In the cache folder of the first clients, the folder of each project's logs."""


def place_of(parts: Sequence[str]) -> Place | LeftOut:
    """What the file at this path, relative to its home, is."""
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
    kind = TOP_FOLDERS.get(top)
    if kind is None and parts[1] == LOGS and len(parts) > 2 and parts[2].endswith(".json"):
        if len(parts) == 3:
            return Place(FileKind.MESSAGE_LOG, top)
        return _place_inside(name, top) if len(parts) == 4 else LeftOut.OTHER
    return Place(kind) if kind else LeftOut.OTHER


def container_of(path: str) -> str | None:
    """The file that holds the session at this path of a home; None for a path that is a file's own."""
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
    return Place(FileKind.SIDECAR, folder, session)


def _place_inside(name: str, project_folder: str | None = None) -> Place | LeftOut:
    session = _session(name.removesuffix(".jsonl")) if name.endswith(".jsonl") else None
    return Place(FileKind.SESSION, project_folder, session) if session else LeftOut.OTHER


def _session(name: str) -> str | None:
    return name.lower() if is_session_id(name) else None


UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
AGENT: Final = re.compile(r"agent-(.+)\.jsonl")
AGENT_META: Final = re.compile(r"agent-(.+)\.meta\.json")
TODO: Final = re.compile(rf"({UUID.pattern})-agent-(.+)\.json", re.IGNORECASE)
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
