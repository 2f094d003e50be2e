"""`similar_errors`: an error, where it was met before, and what solved it."""

from typing import Annotated

from msgspec import Meta, Struct, field

from backscroll.errors import UsageError
from backscroll.library.memory.similar_errors import SimilarError
from backscroll.library.memory.similar_errors import similar_errors as errors_met
from backscroll.mcp.answers import LARGER, Answer, Quoted, Time, fit
from backscroll.mcp.arguments import IncludeCurrent, Since, Until, Wanted
from backscroll.mcp.asking import Asking, told, window_of
from backscroll.mcp.quoting import name_of


class SimilarErrorsWanted(Wanted, frozen=True, kw_only=True):
    """An error."""

    error: Annotated[
        str, Meta(min_length=1, max_length=100_000, description="What the tool or program said, as it said it.")
    ]
    since: Since = ""
    until: Until = ""
    include_current: IncludeCurrent = False


class Step(Struct, kw_only=True, omit_defaults=True):
    """Something that was done."""

    kind: Annotated[str, Meta(description="edit, command, call; worked: what then went well; answer: what was said.")]
    message: str | None
    when: Time | None
    text: Quoted


class ErrorMet(Struct, kw_only=True, omit_defaults=True):
    """An error that was met."""

    chat: str | None
    message: Annotated[str | None, Meta(description="The message with the error.")]
    when: Time | None
    title: Quoted | None = None
    project: Quoted | None = None
    agent: str | None = None
    same: Annotated[bool, Meta(description="The same but for paths, numbers and names; else it is near.")] = False
    solved: Annotated[
        bool | None, Meta(description="Whether the same thing went well later; null: it was not tried again.")
    ]
    error: Quoted
    steps: Annotated[list[Step], Meta(description="What was done until it went well, or last.")] = field(
        default_factory=list
    )
    shortened: Annotated[bool, Meta(description="Read all of it with read, by its messages.")] = False


class SimilarErrorsAnswer(Answer, kw_only=True):
    """Errors, the most useful first."""

    found: Annotated[int, Meta(description="How many are like it.")]
    chats: Annotated[int, Meta(description="In how many chats.")]
    errors: list[ErrorMet]
    hint: str = ""


def similar_errors(at: Asking, wanted: SimilarErrorsWanted) -> SimilarErrorsAnswer:
    """Find where an error was met before."""
    if not wanted.error.strip():
        raise UsageError("no error to look for", "give what the tool or program said")
    at.must_exist()
    since, until = window_of(wanted.since, wanted.until)
    met = errors_met(
        at.library,
        wanted.error,
        max_tokens=wanted.max_tokens,
        project=at.caller.project,
        without=at.left_out(include_current=wanted.include_current),
        since=since,
        until=until,
    )
    pending = at.pending()

    def make(count: int, last: int | None) -> SimilarErrorsAnswer:
        is_more = count < len(met.errors) or last is not None or met.is_cut
        return SimilarErrorsAnswer(
            note=at.frame.note,
            found=met.found,
            chats=met.chats,
            errors=[_told(at, one, last if step == count - 1 else None) for step, one in enumerate(met.errors[:count])],
            hint="" if met.found else met.hint,
            cut=is_more,
            rest=LARGER if is_more else "",
            pending=pending,
        )

    return fit(make, len(met.errors), wanted.max_tokens, lambda step: len(met.errors[step].text))


def _told(at: Asking, one: SimilarError, last: int | None) -> ErrorMet:
    """One error; where room is short, without the steps, and with the beginning of its text."""
    source = one.source
    is_cut = last is not None
    return ErrorMet(
        chat=name_of(source.chat),
        message=name_of(source.message),
        when=told(source.when),
        title=at.frame.line_or_none(source.title),
        project=at.frame.line_or_none(source.project),
        agent=name_of(source.agent),
        same=one.is_same,
        solved=one.is_solved,
        error=at.frame.quote(one.text[:last] + "…" if is_cut else one.text),
        steps=[
            Step(
                kind=step.kind,
                message=name_of(step.source.message),
                when=told(step.source.when),
                text=at.frame.quote(step.text),
            )
            for step in ([] if is_cut else one.solution)
        ],
        shortened=one.is_cut or is_cut,
    )
