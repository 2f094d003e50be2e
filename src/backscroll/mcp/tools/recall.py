"""`recall`: answer a question in plain words with the most relevant passages."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from backscroll.errors import UsageError
from backscroll.mcp.answers import LARGER, Quoted, ToolAnswer, fit
from backscroll.mcp.arguments import IncludeCurrent, Since, ToolArguments, Until
from backscroll.mcp.call_context import CallContext, window_of
from backscroll.mcp.quoting import name_of
from backscroll.render.recall import described, short_id

LONGEST_ASKED: Final = 30
"""Tokens of the question that are repeated if nothing matches."""


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
    """A passage and its source, in few tokens: a budget holds as many passages as in the text of the command."""

    chat: Annotated[str | None, Meta(description="The start of its id; read finds it by that.")]
    message: str | None
    text: Annotated[
        Quoted,
        Meta(description="When (UTC), project, title, role; then the passage. … marks where it is cut: use read."),
    ]


class RecallAnswer(ToolAnswer, kw_only=True):
    """Passages, the most relevant first."""

    passages: list[RecalledQuote]
    hint: Annotated[Quoted, Meta(description="What is missing, where nothing was found.")] = ""


def recall(context: CallContext, wanted: RecallArguments) -> RecallAnswer:
    """Answer a question."""
    from backscroll.library.memory.budget import cut_to
    from backscroll.library.memory.recall_together import recall_together

    if not wanted.question.strip():
        raise UsageError("the question is empty", "give a question")
    context.must_exist()
    since, until = window_of(wanted.since, wanted.until)
    evidence = recall_together(
        [context.library, *context.others],
        wanted.question,
        max_tokens=wanted.max_tokens,
        project=wanted.project or context.caller.project,
        without=context.left_out(include_current=wanted.include_current),
        since=since,
        until=until,
    )
    pending = context.pending()
    passages = evidence.passages
    # Where there is more, `rest` says how to get it.
    hint = "" if passages else f"nothing found about {cut_to(wanted.question, LONGEST_ASKED)}; {evidence.hint}"

    def make(count: int, last: int | None) -> RecallAnswer:
        made: list[RecalledQuote] = []
        for step, passage in enumerate(passages[:count]):
            text = f"{passage.text[:last]}…" if step == count - 1 and last is not None else passage.text
            made.append(
                RecalledQuote(
                    chat=name_of(short_id(passage.source.chat)),
                    message=name_of(short_id(passage.source.message)),
                    text=context.frame.quote(f"{described(passage.source)}\n{text}"),
                )
            )
        is_more = count < len(passages) or last is not None or evidence.is_cut
        return RecallAnswer(
            note=context.frame.note,
            passages=made,
            hint=context.frame.line_or_none(hint) or "",
            cut=is_more,
            rest=LARGER if is_more else "",
            pending=pending,
        )

    return fit(make, len(passages), wanted.max_tokens, lambda step: len(passages[step].text))
