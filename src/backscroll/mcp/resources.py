"""Resources: chats and messages by URI, and the help that tool definitions have no room for."""

import re
from typing import Final, NamedTuple

from backscroll.errors import NothingFound
from backscroll.mcp.answers import plain_of, text_of
from backscroll.mcp.call_context import CallContext, utc_minutes
from backscroll.mcp.quoting import name_of, one_line
from backscroll.mcp.tools.read import ReadArguments, read
from backscroll.query.fields import help_lines

MAX_LISTED: Final = 30
MAX_TOKENS: Final = 10_000
HELP: Final = "backscroll://help"
CHAT: Final = "backscroll://chat/{id}"
MESSAGE: Final = "backscroll://chat/{id}/message/{uuid}"


class ChatResource(NamedTuple):
    """A chat in the list of resources."""

    uri: str
    name: str
    title: str
    description: str


def recent_chats(context: CallContext) -> list[ChatResource]:
    """Return recent chats, those of the caller's project first."""
    if not context.library.is_indexed:
        return []
    chats = context.library.chats(limit=MAX_LISTED * 4)
    chats.sort(key=lambda stored: not context.caller.is_at(stored.overview.project))
    resources = []
    for stored in chats:
        about = stored.overview
        if name_of(about.id) is not None:
            title = one_line(about.title.translate(QUOTES))
            project = one_line((about.project or "-").translate(QUOTES))
            description = f"a chat in “{project}”, last active {utc_minutes(about.last_active) or 'unknown'}"
            resources.append(ChatResource(CHAT.format(id=about.id), f"chat {about.id[:8]}", f"“{title}”", description))
    return resources[:MAX_LISTED]


def help_text() -> str:
    """Return the help on queries and reports in full, from the tables that the parser and the reports use."""
    from backscroll.library.analytics.report_kinds import KINDS

    grouped = [
        f"{name}: {', '.join(kind.by)} (default: {kind.usual})" if kind.by else f"{name}: cannot be grouped"
        for name, kind in KINDS.items()
    ]
    return "\n".join((*QUERIES, *help_lines(), "", REPORTS, *grouped))


def read_address(context: CallContext, uri: str) -> str:
    """Return the contents of a resource, as framed text; the help is our own."""
    if uri == HELP:
        return help_text()
    match = ADDRESS.fullmatch(uri)
    if match is None:
        raise NothingFound("unknown resource", f"URIs are {CHAT}, {MESSAGE} and {HELP}")
    message = match["message"] or ""
    wanted = ReadArguments(chat=match["chat"], message=message, around=0, max_tokens=MAX_TOKENS)
    return text_of(plain_of(read(context, wanted)))


ADDRESS: Final = re.compile(
    r"backscroll://chat/(?P<chat>[A-Za-z0-9][A-Za-z0-9_.:-]{3,127})"
    r"(?:/message/(?P<message>[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}))?"
)
QUOTES: Final = str.maketrans({"“": "'", "”": "'", '"': "'"})
"""Replacements for quotation marks: titles are listed in quotation marks, and must not close them."""
QUERIES: Final = (
    "Queries of search, timeline and stats",
    "",
    "Any of the words may match; rare words count more. +word or AND makes a word necessary, -word or NOT excludes it.",
    '"exact phrase", prefix*, a OR b, (groups), /regular expression/. Fields, which stats takes alone:',
    "",
)
REPORTS: Final = "Reports of stats, and what `by` can be for each (for files: what to sort by):"
