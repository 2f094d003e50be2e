"""`similar_errors`: where an error occurred before, and what solved it."""

from typing import Annotated

from msgspec import Meta, Struct, field

from backscroll.errors import UsageError
from backscroll.library.memory.similar_errors import SimilarError
from backscroll.library.memory.similar_errors import similar_errors as errors_met
from backscroll.mcp.answers import LARGER, Quoted, Time, ToolAnswer, fit
from backscroll.mcp.arguments import IncludeCurrent, Since, ToolArguments, Until
from backscroll.mcp.call_context import CallContext, utc_minutes, window_of
from backscroll.mcp.quoting import name_of


class SimilarErrorsArguments(ToolArguments, frozen=True, kw_only=True):
    """An error."""

    error: Annotated[str, Meta(min_length=1, max_length=100_000, description="The message, verbatim.")]
    since: Since = ""
    until: Until = ""
    include_current: IncludeCurrent = False


class SolutionStep(Struct, kw_only=True, omit_defaults=True):
    """A step of the solution."""

    kind: Annotated[str, Meta(description="edit, command, call; worked: what then succeeded; answer: what was said.")]
    message: str | None
    when: Time | None
    text: Quoted


class EarlierError(Struct, kw_only=True, omit_defaults=True):
    """An earlier occurrence of an error."""

    chat: str | None
    message: Annotated[str | None, Meta(description="The message with the error.")]
    when: Time | None
    title: Quoted | None = None
    project: Quoted | None = None
    agent: str | None = None
    same: Annotated[bool, Meta(description="Equal except for paths, numbers and names; otherwise similar.")] = False
    solved: Annotated[bool | None, Meta(description="Whether the same thing succeeded later; null: not tried again.")]
    error: Quoted
    steps: Annotated[list[SolutionStep], Meta(description="What was done until it succeeded, or last.")] = field(
        default_factory=list
    )
    shortened: Annotated[bool, Meta(description="Read the full text with read, by its messages.")] = False


class SimilarErrorsAnswer(ToolAnswer, kw_only=True):
    """Errors, the most useful first."""

    found: Annotated[int, Meta(description="Number of similar errors.")]
    chats: Annotated[int, Meta(description="Number of chats with them.")]
    errors: list[EarlierError]
    hint: str = ""


def similar_errors(context: CallContext, wanted: SimilarErrorsArguments) -> SimilarErrorsAnswer:
    """Find earlier occurrences of an error."""
    if not wanted.error.strip():
        raise UsageError("the error is empty", "give the error message")
    context.must_exist()
    since, until = window_of(wanted.since, wanted.until)
    met = errors_met(
        context.library,
        wanted.error,
        max_tokens=wanted.max_tokens,
        project=context.caller.project,
        without=context.left_out(include_current=wanted.include_current),
        since=since,
        until=until,
    )
    pending = context.pending()

    def make(count: int, last: int | None) -> SimilarErrorsAnswer:
        is_more = count < len(met.errors) or last is not None or met.is_cut
        return SimilarErrorsAnswer(
            note=context.frame.note,
            found=met.found,
            chats=met.chats,
            errors=[
                _earlier_error(context, earlier, last if step == count - 1 else None)
                for step, earlier in enumerate(met.errors[:count])
            ],
            hint="" if met.found else met.hint,
            cut=is_more,
            rest=LARGER if is_more else "",
            pending=pending,
        )

    return fit(make, len(met.errors), wanted.max_tokens, lambda step: len(met.errors[step].text))


def _earlier_error(context: CallContext, one: SimilarError, last: int | None) -> EarlierError:
    """Return one error; if space is short, without the steps and with its text cut."""
    source = one.source
    is_cut = last is not None
    return EarlierError(
        chat=name_of(source.chat),
        message=name_of(source.message),
        when=utc_minutes(source.when),
        title=context.frame.line_or_none(source.title),
        project=context.frame.line_or_none(source.project),
        agent=name_of(source.agent),
        same=one.is_same,
        solved=one.is_solved,
        error=context.frame.quote(one.text[:last] + "…" if is_cut else one.text),
        steps=[
            SolutionStep(
                kind=step.kind,
                message=name_of(step.source.message),
                when=utc_minutes(step.source.when),
                text=context.frame.quote(step.text),
            )
            for step in ([] if is_cut else one.solution)
        ],
        shortened=one.is_cut or is_cut,
    )
