"""`recall`: answer a question in plain words with the most relevant passages."""

from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from backscroll.errors import UsageError
from backscroll.mcp.answers import LARGER, Quoted, Time, ToolAnswer, fit
from backscroll.mcp.arguments import IncludeCurrent, Since, ToolArguments, Until
from backscroll.mcp.call_context import CallContext, utc_minutes, window_of
from backscroll.mcp.quoting import name_of

LONGEST_ASKED: Final = 30
"""Tokens of the question that are repeated where nothing was found."""


class RecallArguments(ToolArguments, frozen=True, kw_only=True):
    """A question."""

    question: Annotated[
        str, Meta(min_length=1, max_length=4096, description="In plain words, with names if you know any.")
    ]
    project: Annotated[str, Meta(max_length=1024, description="The folder to prefer; default: yours.")] = ""
    since: Since = ""
    until: Until = ""
    include_current: IncludeCurrent = False


class RecalledQuote(Struct, kw_only=True, omit_defaults=True):
    """A passage and its source."""

    chat: str | None
    title: Quoted | None = None
    project: Quoted | None = None
    message: str | None
    when: Time | None
    role: str
    agent: str | None = None
    text: Quoted
    shortened: Annotated[bool, Meta(description="Read the full text with read, by its message.")] = False


class RecallAnswer(ToolAnswer, kw_only=True):
    """Passages, the most relevant first."""

    passages: list[RecalledQuote]
    hint: Annotated[Quoted, Meta(description="What is missing where nothing was found, or how to get more.")] = ""


def recall(context: CallContext, wanted: RecallArguments) -> RecallAnswer:
    """Answer a question."""
    from backscroll.library.memory.budget import cut_to
    from backscroll.library.memory.recall_together import recall_together

    if not wanted.question.strip():
        raise UsageError("the question is empty", "give a question")
    context.must_exist()
    since, until = window_of(wanted.since, wanted.until)
    found = recall_together(
        [context.library, *context.others],
        wanted.question,
        max_tokens=wanted.max_tokens,
        project=wanted.project or context.caller.project,
        without=context.left_out(include_current=wanted.include_current),
        since=since,
        until=until,
    )
    pending = context.pending()
    passages = found.passages
    hint = found.hint if passages else f"nothing found about {cut_to(wanted.question, LONGEST_ASKED)}; {found.hint}"

    def make(count: int, last: int | None) -> RecallAnswer:
        made: list[RecalledQuote] = []
        met: set[str] = set()
        for step, passage in enumerate(passages[:count]):
            source = passage.source
            is_cut = step == count - 1 and last is not None
            # The title and project of a chat are given once.
            about: dict[str, Any] = {}
            if source.chat not in met:
                about = {
                    "title": context.frame.line(source.title),
                    "project": context.frame.line_or_none(source.project),
                }
            met.add(source.chat)
            made.append(
                RecalledQuote(
                    chat=name_of(source.chat),
                    message=name_of(source.message),
                    when=utc_minutes(source.when),
                    role=str(source.role),
                    agent=name_of(source.agent),
                    text=context.frame.quote(passage.text[:last] + "…" if is_cut else passage.text),
                    shortened=passage.is_cut or is_cut,
                    **about,
                )
            )
        is_more = count < len(passages) or last is not None or found.is_cut
        return RecallAnswer(
            note=context.frame.note,
            passages=made,
            hint=context.frame.line_or_none(hint) or "",
            cut=is_more,
            rest=LARGER if is_more else "",
            pending=pending,
        )

    return fit(make, len(passages), wanted.max_tokens, lambda step: len(passages[step].text))
