"""`timeline`: which chats there were, by project and time."""

from typing import Annotated

from msgspec import Meta, Struct

from backscroll.library import StoredChat
from backscroll.mcp.answers import Answer, Quoted, Time, fit, rest_of
from backscroll.mcp.arguments import IncludeCurrent, Offset, Query, Since, Until, Wanted
from backscroll.mcp.asking import EVERYWHERE, Asking, told
from backscroll.mcp.quoting import name_of


class TimelineWanted(Wanted, frozen=True, kw_only=True):
    """Which chats."""

    project: Annotated[
        str,
        Meta(max_length=1024, description="Part of a project's path, or * for all. Yours, unless you name another."),
    ] = ""
    since: Since = ""
    until: Until = ""
    query: Annotated[Query, Meta(description="Words of titles, and fields, as in search: is:error, file:app.py.")] = ""
    limit: Annotated[int, Meta(ge=1, le=200, description="At most so many chats, the newest first.")] = 30
    offset: Offset = 0
    include_current: IncludeCurrent = False


class Chat(Struct, kw_only=True, omit_defaults=True):
    """A chat."""

    chat: str | None
    title: Quoted
    started: Time | None
    last_active: Time | None
    project: Quoted | None = None
    prompts: int = 0
    messages: int = 0
    agents: int = 0
    archived: bool = False
    live: bool = False


class TimelineAnswer(Answer, kw_only=True):
    """Chats, the newest first."""

    project: Annotated[Quoted | None, Meta(description="The project of all of them, where it is one.")] = None
    chats: list[Chat]


def timeline(at: Asking, wanted: TimelineWanted) -> TimelineAnswer:
    """List chats."""
    at.must_exist()
    project = wanted.project
    is_own = not project and at.caller.project is not None
    found = _chats(at, wanted, at.caller.project or "" if is_own else project)
    if is_own:
        found = [stored for stored in found if at.caller.is_at(stored.overview.project)]
        if not found and not wanted.offset:  # nothing yet where they are: all there is
            is_own, found = False, _chats(at, wanted, "*")
    page = found[wanted.offset : wanted.offset + wanted.limit]
    of = at.frame.line_or_none(at.caller.project) if is_own else None
    live = at.library.scope.live
    pending = at.pending()

    def make(count: int, _: int | None) -> TimelineAnswer:
        rest = rest_of(wanted.offset + count, len(found))
        return TimelineAnswer(
            note=at.frame.note,
            project=of,
            chats=[_chat(at, stored, live, with_project=not is_own) for stored in page[:count]],
            cut=bool(rest),
            rest=rest,
            pending=pending,
        )

    return fit(make, len(page), wanted.max_tokens)


def _chats(at: Asking, wanted: TimelineWanted, project: str) -> list[StoredChat]:
    """All that are asked for, the newest first."""
    project = "" if project in EVERYWHERE else project
    query = at.query(
        wanted.query, include_current=wanted.include_current, project=project, since=wanted.since, until=wanted.until
    )
    return at.library.chats(query)


def _chat(at: Asking, stored: StoredChat, live: frozenset[str], *, with_project: bool) -> Chat:
    about = stored.overview
    return Chat(
        chat=name_of(about.id),
        title=at.frame.line(about.title),
        started=told(about.started),
        last_active=told(about.last_active),
        project=at.frame.line_or_none(about.project) if with_project else None,
        prompts=about.prompts,
        messages=about.messages,
        agents=about.agents,
        archived=stored.archived,
        live=any(session.lower() in live for session in about.leaves),
    )
