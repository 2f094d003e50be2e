"""`similar_errors`: an error, where it was met before, and what solved it."""

from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, field

from backscroll.errors import UsageError
from backscroll.library.analytics.calls import Call
from backscroll.mcp.answers import Answer, Quoted, Time, fit
from backscroll.mcp.arguments import IncludeCurrent, Offset, Since, Until, Wanted
from backscroll.mcp.asking import Asking, told
from backscroll.mcp.met_before import Pattern, Solution, Solutions, patterns_like
from backscroll.mcp.quoting import name_of
from backscroll.render.found import moment_of

LOOKED_AT = 40
"""How many errors of a pattern are looked at for one that was solved."""
SHOWN = 2
"""How many errors of a pattern are told."""


class SimilarErrorsWanted(Wanted, frozen=True, kw_only=True):
    """An error."""

    error: Annotated[
        str, Meta(min_length=1, max_length=100_000, description="What the tool or program said, as it said it.")
    ]
    since: Since = ""
    until: Until = ""
    limit: Annotated[int, Meta(ge=1, le=50, description="At most so many errors.")] = 6
    offset: Offset = 0
    include_current: IncludeCurrent = False


class Step(Struct, kw_only=True, omit_defaults=True):
    """Something that was done."""

    tool: Quoted
    state: str
    message: str | None
    text: Quoted = ""


class ErrorMet(Struct, kw_only=True, omit_defaults=True):
    """An error that was met."""

    chat: str | None
    message: Annotated[str | None, Meta(description="The message with the error.")]
    when: Time | None
    project: Quoted | None = None
    agent: str | None = None
    tool: Quoted
    alike: Annotated[float, Meta(description="How much of its pattern is in what you asked, 0 to 1.")]
    times: Annotated[int, Meta(description="How often this pattern was met.")]
    solved: Annotated[bool, Meta(description="Whether the same thing went well soon after.")] = False
    error: Quoted
    steps: Annotated[list[Step], Meta(description="What was done up to where it went well.")] = field(
        default_factory=list
    )


class SimilarErrorsAnswer(Answer, kw_only=True):
    """Errors, the likeliest first."""

    patterns: Annotated[int, Meta(description="How many patterns are like it.")]
    errors: list[ErrorMet]
    hint: str = ""


class Met(NamedTuple):
    """An error as it was found."""

    pattern: Pattern
    call: Call
    solution: Solution
    text: str


def similar_errors(at: Asking, wanted: SimilarErrorsWanted) -> SimilarErrorsAnswer:
    """Find where an error was met before."""
    if not wanted.error.strip():
        raise UsageError("no error to look for", "give what the tool or program said")
    at.must_exist()
    own = frozenset[str]() if wanted.include_current else at.own_chats()
    patterns = patterns_like(at.library, wanted.error, at.asked("", wanted.since, wanted.until), without=own)
    solutions = Solutions(at.library)
    try:
        needed = wanted.offset + wanted.limit + 1
        met: list[Met] = []
        for pattern in patterns:
            met += _best(at, solutions, pattern)
            if len(met) >= needed:
                break
    finally:
        solutions.close()
    page = met[wanted.offset : wanted.offset + wanted.limit]

    def make(count: int, last: int | None) -> SimilarErrorsAnswer:
        is_more = wanted.offset + count < len(met)
        errors = [_told(at, one, last if step == count - 1 else None) for step, one in enumerate(page[:count])]
        return SimilarErrorsAnswer(
            note=at.frame.note,
            patterns=len(patterns),
            errors=errors,
            hint="" if met else "nothing is like it: search for one of its words with is:error",
            cut=is_more or last is not None,
            rest=f"ask again with offset={wanted.offset + count}" if is_more or last is not None else "",
        )

    return fit(make, len(page), wanted.max_tokens, lambda step: len(page[step].text))


def _best(at: Asking, solutions: Solutions, pattern: Pattern) -> list[Met]:
    """The errors of a pattern that help most: solved ones, then those of the caller's project, then the latest."""
    found = [Met(pattern, call, solutions.of(call, following), "") for call, following in pattern.errors[:LOOKED_AT]]
    found.sort(key=lambda one: (not one.solution.is_solved, not at.caller.is_at(one.call.project)))
    return [one._replace(text=solutions.text(one.call)) for one in found[:SHOWN]]


def _told(at: Asking, one: Met, last: int | None) -> ErrorMet:
    """One error; where room is short, without the steps, and with the beginning of its text."""
    call = one.call
    text = one.text if last is None else one.text[:last] + "…"
    steps = [
        Step(
            tool=at.frame.line(step.name, 20),
            state=str(step.state or "missing"),
            message=name_of(step.uuid),
            text=at.frame.line(given, 100) if given else "",
        )
        for step, given in (one.solution.steps if last is None else ())
    ]
    return ErrorMet(
        chat=name_of(call.chat_id),
        message=name_of(call.result_uuid or call.uuid),
        when=told(moment_of(call.result_time or call.time)),
        project=at.frame.line_or_none(call.project),
        agent=name_of(call.agent),
        tool=at.frame.line(call.name, 20),
        alike=one.pattern.alike,
        times=len(one.pattern.errors),
        solved=one.solution.is_solved,
        error=at.frame.quote(text),
        steps=steps,
    )
