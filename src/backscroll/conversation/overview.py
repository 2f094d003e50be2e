"""The summary of a chat that lists show without reading it: computed once and stored."""

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from backscroll.records.outside import PrLink
from backscroll.records.tools import Todo

if TYPE_CHECKING:
    from backscroll.conversation.chat import Chat


class Overview(Struct, frozen=True, kw_only=True):
    """A chat as a list shows it."""

    id: str
    title: str
    project: str | None
    sessions: list[str]
    """The ids of its sessions, oldest first."""
    leaves: list[str]
    """Sessions that are not contained in a later one, the most recently active first."""
    branches: int
    agents: int
    """The sub-agents, without those that the client started for itself."""
    messages: int
    prompts: int
    started: datetime | None
    last_active: datetime | None
    active_seconds: int
    models: list[str]
    versions: list[str]
    git_branches: list[str]
    compactions: int
    copies: int
    tags: list[str]
    pull_requests: list[PrLink]
    files_touched: list[str]
    todos: list[Todo]


def overview_of(chat: "Chat", title: str | None = None) -> Overview:
    """Return the overview of a chat; `title` is the title from other files."""
    return Overview(
        id=chat.id,
        title=title or chat.title,
        project=chat.project,
        sessions=list(dict.fromkeys(session.session_id for session in chat.sessions if session.session_id)),
        leaves=list(dict.fromkeys(session.session_id for session in chat.leaves if session.session_id)),
        branches=len(chat.branches),
        agents=len(chat.shown_agents),
        messages=chat.messages,
        prompts=chat.prompts,
        started=chat.started,
        last_active=chat.last_active,
        active_seconds=round(chat.active_time.total_seconds()),
        models=chat.models,
        versions=chat.versions,
        git_branches=chat.git_branches,
        compactions=chat.compactions,
        copies=chat.copies,
        tags=chat.tags,
        pull_requests=[
            PrLink(pr_number=link.pr_number, pr_url=link.pr_url, pr_repository=link.pr_repository)
            for link in chat.pr_links
        ],
        files_touched=chat.files_touched,
        todos=chat.todos,
    )
