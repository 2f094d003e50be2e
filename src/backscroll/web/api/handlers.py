"""The handlers of the API: each returns what `--json` prints."""

from collections.abc import Sequence
from typing import Any

from backscroll import __version__
from backscroll.conversation.branch_paths import branch_of_session
from backscroll.errors import UsageError
from backscroll.library import StoredChat
from backscroll.library.chats.branch_comparison import comparison_of
from backscroll.library.chats.open_chats import OpenChats
from backscroll.library.library import Library
from backscroll.library.marked_chats import marked_chat
from backscroll.render.chats import agent_as_json, branch_as_json, chat_as_json, message_as_json
from backscroll.render.search_results import found_as_json
from backscroll.render.terminal import moment
from backscroll.web.api.parameters import (
    ChatParameters,
    ChatsParameters,
    CompareParameters,
    MessagesParameters,
    NoParameters,
    SearchParameters,
)
from backscroll.web.asker import owner_name


def chats(library: Library, wanted: ChatsParameters) -> dict[str, Any]:
    """List chats whose fields and titles match a query."""
    stored = library.chats(wanted.q, limit=wanted.limit + 1, offset=wanted.offset, sort=wanted.sort)
    return {
        "chats": [_listed_chat(library, chat) for chat in stored[: wanted.limit]],
        "total": library.count_chats(wanted.q),
        "more": len(stored) > wanted.limit,
    }


def chat(library: Library, wanted: ChatParameters) -> dict[str, Any]:
    """Get one chat."""
    return {"chat": _chat(library, library.find(wanted.id))}


def messages(library: Library, wanted: MessagesParameters, open_chats: OpenChats) -> dict[str, Any]:
    """List the messages of a branch or of an agent, page by page."""
    reader = open_chats.open(library, wanted.id)
    if wanted.agent:
        branch_messages, beside = reader.agent_branch(reader.agent(wanted.agent)), {}
    else:
        branch = wanted.branch or branch_of_session(reader.chat, wanted.id)
        branch_messages, beside = reader.branch_messages(branch), {"branch": branch}
    entries = branch_messages.entries
    keys = [entry.key for entry in entries[wanted.offset : wanted.offset + wanted.limit]]
    return {
        "messages": [
            {**beside, **message_as_json(message)} for message in reader.messages(library, branch_messages, keys)
        ],
        "offset": wanted.offset,
        "total": len(entries),
    }


def branches(library: Library, wanted: ChatParameters, open_chats: OpenChats) -> dict[str, Any]:
    """List the branches of a chat, the active one first."""
    return {"branches": [branch_as_json(branch) for branch in open_chats.open(library, wanted.id).chat.branches]}


def compare(library: Library, wanted: CompareParameters, open_chats: OpenChats) -> dict[str, Any]:
    """Compare two branches of a chat: prompts, answers, files changed and cost."""
    return comparison_of(library, open_chats.open(library, wanted.id), wanted.left, wanted.right).as_json()


def agents(library: Library, wanted: ChatParameters, open_chats: OpenChats) -> dict[str, Any]:
    """List the sub-agents of a chat, including those that were only warmed up."""
    reader = open_chats.open(library, wanted.id)
    agents = reader.chat.agents
    reader.read(library, [row for agent in agents for row in agent.rows if row.message_id])  # for their usage
    return {"agents": [agent_as_json(agent) for agent in agents]}


def search(library: Library, wanted: SearchParameters) -> dict[str, Any]:
    """Search prompts, answers, thinking, tool input and tool output."""
    if not wanted.q.strip():
        raise UsageError("the query is empty", "put words or fields into q")
    results = library.search(
        wanted.q, limit=wanted.limit, offset=wanted.offset, sort=wanted.sort, hits=wanted.hits, cursor=wanted.cursor
    )
    answer = found_as_json(results, [marked_chat(library, chat.chat).mark for chat in results.chats])
    for row, chat in zip(answer["chats"], results.chats, strict=True):
        row |= _owner(chat.chat)
    return answer


def projects(library: Library, _: NoParameters) -> dict[str, Any]:
    """List all projects, with totals."""
    counts: dict[str | None, list[Any]] = {}
    for stored in library.chats():  # newest first, so a project's first time is its latest
        about = stored.overview
        last = moment(about.last_active) if about.last_active else None
        count = counts.setdefault(about.project, [0, 0, last])
        count[0] += 1
        count[1] += about.messages
    names = ("project", "chats", "messages", "last_active")
    return {"projects": [dict(zip(names, (name, *count), strict=True)) for name, count in counts.items()]}


def status(library: Library, _: NoParameters) -> dict[str, Any]:
    """What is served, and the state of the index."""
    exists = library.is_indexed
    return {
        "backscroll": __version__,
        "library": str(library.settings.library),
        "homes": [str(home.path) for home in library.homes],
        "indexed": exists,
        "pending": library.pending_passages(),
        "live": sorted(library.scope.live) if exists else [],
    }


def _listed_chat(library: Library, stored: StoredChat) -> dict[str, Any]:
    """Return the summary of a chat as `list --json` prints it."""
    return {
        **_chat(library, stored, stored.machines),
        "tokens": stored.tokens,
        "cost_microdollars": stored.cost_microdollars,
        "unrecorded_tokens": stored.unrecorded_tokens,
        "unrecorded_cost_microdollars": stored.unrecorded_microdollars,
    }


def _chat(library: Library, stored: StoredChat, machines: Sequence[str] | None = None) -> dict[str, Any]:
    mark = marked_chat(library, stored).mark
    row = chat_as_json(
        stored.overview,
        archived=stored.archived,
        pinned=mark.pinned,
        tags=mark.tags,
        machines=machines,
    )
    return {**row, **_owner(stored)}


def _owner(stored: StoredChat) -> dict[str, str]:
    """Return the owner of a chat as a field; no field if there is one person only."""
    owner = owner_name(stored.machines)
    return {"owner": owner} if owner else {}
