"""`timeline`: list chats by project and time."""

from collections.abc import Set
from typing import Annotated

from msgspec import Meta, Struct

from backscroll.library import StoredChat
from backscroll.mcp.answers import Quoted, Time, ToolAnswer, fit, rest_of
from backscroll.mcp.arguments import IncludeCurrent, Offset, Query, Since, ToolArguments, Until
from backscroll.mcp.call_context import EVERYWHERE, CallContext, utc_minutes
from backscroll.mcp.quoting import name_of


class TimelineArguments(ToolArguments, frozen=True, kw_only=True):
    """Which chats."""

    project: Annotated[
        str,
        Meta(max_length=1024, description="Part of its path, or * for all; default: yours."),
    ] = ""
    since: Since = ""
    until: Until = ""
    query: Annotated[Query, Meta(description="Title words and fields, as in search.")] = ""
    limit: Annotated[int, Meta(ge=1, le=200, description="Maximum number of chats, newest first.")] = 30
    offset: Offset = 0
    include_current: IncludeCurrent = False


class TimelineChat(Struct, kw_only=True, omit_defaults=True):
    """A chat."""

    chat: str | None
    title: Quoted
    started: Time | None
    last_active: Time | None
    project: Quoted | None = None
    prompts: int = 0
    messages: int = 0
    agents: int = 0
    machines: Annotated[list[str], Meta(description="The machines that have a part of it, if there are several.")] = []
    archived: bool = False
    live: bool = False


class TimelineAnswer(ToolAnswer, kw_only=True):
    """Chats, the newest first."""

    project: Annotated[Quoted | None, Meta(description="The project, if all chats share one.")] = None
    chats: list[TimelineChat]


def timeline(context: CallContext, wanted: TimelineArguments) -> TimelineAnswer:
    """List chats."""
    context.must_exist()
    project = wanted.project
    is_own = not project and context.caller.project is not None
    entries = _chats(context, wanted, context.caller.project or "" if is_own else project)
    if is_own:
        entries = [stored for stored in entries if context.caller.is_at(stored.overview.project)]
        if not entries and not wanted.offset:  # nothing in the caller's project: list all projects
            is_own, entries = False, _chats(context, wanted, "*")
    page = entries[wanted.offset : wanted.offset + wanted.limit]
    of = context.frame.line_or_none(context.caller.project) if is_own else None
    live = context.library.scope.live
    pending = context.pending()

    def make(count: int, _: int | None) -> TimelineAnswer:
        rest = rest_of(wanted.offset + count, len(entries))
        return TimelineAnswer(
            note=context.frame.note,
            project=of,
            chats=[_chat(context, stored, live, with_project=not is_own) for stored in page[:count]],
            cut=bool(rest),
            rest=rest,
            pending=pending,
        )

    return fit(make, len(page), wanted.max_tokens)


def _chats(context: CallContext, wanted: TimelineArguments, project: str) -> list[StoredChat]:
    """Return the matching chats, newest first."""
    project = "" if project in EVERYWHERE else project
    query = context.query(
        wanted.query, include_current=wanted.include_current, project=project, since=wanted.since, until=wanted.until
    )
    return context.library.chats(query)


def _chat(context: CallContext, stored: StoredChat, live: Set[str], *, with_project: bool) -> TimelineChat:
    about = stored.overview
    return TimelineChat(
        chat=name_of(about.id),
        title=context.frame.line(about.title),
        started=utc_minutes(about.started),
        last_active=utc_minutes(about.last_active),
        project=context.frame.line_or_none(about.project) if with_project else None,
        prompts=about.prompts,
        messages=about.messages,
        agents=about.agents,
        machines=context.machines_of(stored),
        archived=stored.archived,
        live=any(session.lower() in live for session in about.leaves),
    )
