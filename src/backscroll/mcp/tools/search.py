"""`search`: find passages by words and fields."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from backscroll.errors import UsageError
from backscroll.library import Hit
from backscroll.library.searching.search import FoundChat, FoundPassage
from backscroll.mcp.answers import Quoted, Time, ToolAnswer, fit
from backscroll.mcp.arguments import IncludeCurrent, Offset, Query, ToolArguments
from backscroll.mcp.call_context import CallContext, utc_minutes
from backscroll.mcp.quoting import name_of
from backscroll.render.search_results import moment_of


class SearchArguments(ToolArguments, frozen=True, kw_only=True):
    """What to look for."""

    query: Annotated[
        Query,
        Meta(
            min_length=1,
            description='Words (any, rare ones count more), +must, -not, "a phrase", word*, OR, /regex/; fields '
            "project: file: tool: role:(title|prompt|answer|thinking|input|output) "
            "is:(error|agent|abandoned|archived|live|pinned) has:(diff|image) title: branch: model: machine: tag: "
            "after: before: cost: chat: session:",
        ),
    ]
    detail: Annotated[
        Literal["ids", "snippets", "messages"],
        Meta(description="ids only; snippets (default): the matching text; messages: full texts."),
    ] = "snippets"
    sort: Literal["relevance", "newest", "oldest"] = "relevance"
    limit: Annotated[int, Meta(ge=1, le=50, description="Maximum number of chats.")] = 8
    offset: Offset = 0
    cursor: Annotated[str, Meta(description="Of the page before.")] = ""
    include_current: IncludeCurrent = False


class SearchMatch(Struct, kw_only=True, omit_defaults=True):
    """A matching passage."""

    message: str | None
    when: Time | None
    role: str
    tool: Quoted | None = None
    agent: str | None = None
    error: bool = False
    abandoned: bool = False
    text: Quoted = ""


class MatchedChat(Struct, kw_only=True, omit_defaults=True):
    """A chat with its best matches."""

    chat: str | None
    title: Quoted
    project: Quoted | None
    last_active: Time | None
    machines: Annotated[list[str], Meta(description="The machines that have a part of it, if there are several.")] = []
    found: Annotated[int, Meta(description="Number of matching passages.")]
    passages: list[SearchMatch]


class SearchAnswer(ToolAnswer, kw_only=True):
    """What was found."""

    total_chats: int
    chats: list[MatchedChat]
    notes: Annotated[tuple[str, ...], Meta(description="How the query was read: corrected words, options.")] = ()
    cursor: Annotated[str, Meta(description="Where the next page begins.")] = ""


def search(context: CallContext, wanted: SearchArguments) -> SearchAnswer:
    """Find chats."""
    if not wanted.query.strip():
        raise UsageError("the query is empty", "put words or fields into query")
    context.must_exist()
    is_ids = wanted.detail == "ids"
    query = context.query(wanted.query, include_current=wanted.include_current)
    hits = context.library.search(
        query,
        limit=wanted.limit,
        offset=wanted.offset,
        sort=wanted.sort,
        hits=1 if is_ids else 3,
        width=280,
        cursor=wanted.cursor,
        project=context.caller.project or "",
    )
    chats = [chat._replace(passages=_telling(chat.passages)) for chat in hits.chats]
    texts = [[_text(context, passage, wanted) for passage in chat.passages] for chat in chats]
    flat = [(number, place) for number, chat in enumerate(chats) for place in range(len(chat.passages))]
    pending = context.pending()

    def make(count: int, last: int | None) -> SearchAnswer:
        made: list[MatchedChat] = []
        for step, (number, place) in enumerate(flat[:count]):
            if place == 0:
                made.append(_chat(context, chats[number]))
            text = texts[number][place]
            is_cut = step == count - 1 and last is not None
            text = text[:last] + "…" if is_cut else text
            made[-1].passages.append(_passage(context, chats[number].passages[place], text))
        whole_chats = (
            len(chats) if count == len(flat) else flat[count][0] if flat[count][1] == 0 else flat[count][0] + 1
        )
        is_more = count < len(flat) or last is not None or hits.left > 0 or not hits.is_whole
        cursor = hits.cursor(whole_chats) if is_more else None
        reached = hits.total_chats - hits.left - len(chats) + whole_chats
        return SearchAnswer(
            note=context.frame.note,
            total_chats=hits.total_chats,
            chats=made,
            cut=is_more,
            notes=tuple(map(context.frame.line, hits.notes)),
            cursor=cursor or "",
            rest=f"search again with this cursor, or offset={reached}; read a message with read" if is_more else "",
            pending=pending,
        )

    return fit(make, len(flat), wanted.max_tokens, lambda step: len(texts[flat[step][0]][flat[step][1]]))


def _telling(passages: list[FoundPassage]) -> list[FoundPassage]:
    """Drop the title, which the answer has anyway, unless nothing else matches."""
    return [passage for passage in passages if passage.hit.role != "title"] or passages[:1]


def _text(context: CallContext, passage: FoundPassage, wanted: SearchArguments) -> str:
    if wanted.detail == "ids" or passage.hit.role == "title":
        return ""
    if wanted.detail == "snippets":
        return passage.snippet.text
    return context.library.text(passage.hit)[: wanted.max_tokens * 8]


def _chat(context: CallContext, found: FoundChat) -> MatchedChat:
    about = found.chat.overview
    return MatchedChat(
        chat=name_of(about.id),
        title=context.frame.line(about.title),
        project=context.frame.line_or_none(about.project),
        last_active=utc_minutes(about.last_active),
        machines=context.machines_of(found.chat),
        found=found.found,
        passages=[],
    )


def _passage(context: CallContext, passage: FoundPassage, text: str) -> SearchMatch:
    return SearchMatch(**place_of(context, passage.hit), text=context.frame.quote(text) if text else "")


def place_of(context: CallContext, hit: Hit) -> dict[str, Any]:
    """Return the source of a passage, for citing."""
    return {
        "message": name_of(hit.uuid),
        "when": utc_minutes(moment_of(hit.time)),
        "role": str(hit.role),
        "tool": context.frame.line_or_none(hit.tool),
        "agent": name_of(hit.agent),
        "error": hit.is_error,
        "abandoned": hit.is_abandoned,
    }
