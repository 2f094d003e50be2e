"""The reports that there are: what each can be asked, and who answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import cache as remembered
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

from backscroll.errors import UsageError
from backscroll.library import Library
from backscroll.library.analytics.activity import activity
from backscroll.library.analytics.blocks import blocks
from backscroll.library.analytics.cache import cache
from backscroll.library.analytics.compare import compare
from backscroll.library.analytics.context import context
from backscroll.library.analytics.errors import errors
from backscroll.library.analytics.files import SORTS, files
from backscroll.library.analytics.kinds import KINDS as REPORTS
from backscroll.library.analytics.periods import PERIODS
from backscroll.library.analytics.prompts import prompts
from backscroll.library.analytics.reports import Asked as About
from backscroll.library.analytics.reports import Report
from backscroll.library.analytics.sequences import LONGEST, SHORTEST, loops, sequences
from backscroll.library.analytics.time import time_spent
from backscroll.library.analytics.tools import tools
from backscroll.library.analytics.usage import answers, usage
from backscroll.query import parse, parse_moment
from backscroll.web.requests import PageRequest

Chosen = Mapping[str, Any]
Run = Callable[[Library, About, Chosen, datetime], Report]


@dataclass(frozen=True)
class ReportOption:
    """Something that a report can be asked. With choices it is one of them; a flag is yes or no."""

    name: str
    label: str
    choices: Sequence[str] = ()
    is_flag: bool = False
    is_number: bool = False
    default: str = ""
    hint: str = ""
    most: int = 10_000

    def read(self, request: PageRequest) -> Any:  # noqa: ANN401 - as the option is
        """What was chosen. What makes no sense is an error that says what does."""
        given = request.get(self.name).strip()
        if self.is_flag:
            return given.lower() in ("1", "on", "yes", "true")
        if self.is_number:
            return request.number(self.name, int(self.default or 0), 0, self.most) if given else int(self.default or 0)
        given = given or self.default
        if self.choices and given not in self.choices:
            raise UsageError(f"{self.name} cannot be {given}", f"choose one of {', '.join(filter(None, self.choices))}")
        return given


@dataclass(frozen=True)
class ReportPage:
    """A report."""

    title: str
    about: str
    run: Run
    options: Sequence[ReportOption] = ()
    limit: int = 100
    """How many rows are shown where nobody says."""
    has_query: bool = True
    has_limit: bool = True

    @property
    def every_option(self) -> Sequence[ReportOption]:
        """Its own, and how many rows there are to be."""
        return (*self.options, ReportOption("limit", "Rows", is_number=True, default=str(self.limit)))

    def chosen(self, request: PageRequest) -> dict[str, Any]:
        """What was chosen of everything that it can be asked."""
        return {option.name: option.read(request) for option in self.every_option}


def about_of(request: PageRequest, *, with_query: bool = True) -> tuple[About, datetime]:
    """What a report is to be about, as the address says it, and the time that it is there."""
    zone = zone_of(request.get("zone").strip())
    now = datetime.now(zone) if zone else datetime.now().astimezone()
    query, since, until = (request.get(name).strip() for name in ("q", "since", "until"))
    about = About(
        query=parse(query, now) if query and with_query else None,
        since=parse_moment(since, now) if since else None,
        until=parse_moment(until, now, end=True) if until else None,
        zone=zone,
    )
    return about, now


def zone_of(name: str) -> tzinfo | None:
    """A time zone by its name. Only names that are known are looked up, for they become paths."""
    if not name:
        return None
    if name == "UTC":
        return UTC
    if name not in _zones():
        raise UsageError(f"there is no time zone {name}", "write one such as Europe/Berlin, or leave it empty")
    return ZoneInfo(name)


@remembered
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _usage(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del now
    report = usage(library, about, chosen["by"])
    return replace(report, explanation=answers(library, about)) if chosen["explain"] else report


def _blocks(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    return blocks(library, about, now.astimezone(UTC), active=chosen["active"])


def _activity(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del chosen
    return activity(library, about, now.date())


def _compare(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    if not chosen["a"] or not chosen["b"]:
        return Report(("measure", "first", "second", "difference", "change_share"), [])
    return compare(library, about, chosen["a"], chosen["b"], now)


def _errors(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del now
    return errors(library, about, chosen["limit"] or 1_000_000, chosen["tool"] or None)


def _sequences(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del now
    if chosen["loops"]:
        return loops(library, about)
    length = int(chosen["length"] or 0)
    return sequences(library, about, (length or SHORTEST, length or LONGEST), fold=chosen["fold"])


def _files(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del now
    return files(library, about, chosen["sort"], chosen["limit"] or None)


def _context(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del now
    if chosen["by"] == "turn" and (about.query is None or len(library.chats(about.query, limit=2)) != 1):
        raise UsageError("turns are those of one chat", "write chat: and its id into the query")
    return context(library, about, chosen["by"], chosen["limit"] or None)


def _by(run: Callable[[Library, About, str], Report]) -> Run:
    return lambda library, about, chosen, _: run(library, about, chosen["by"])


def _choice(name: str, label: str, choices: Sequence[str]) -> ReportOption:
    """One of several, the first where nobody says."""
    return ReportOption(name, label, choices, default=choices[0])


def _by_of(report: str) -> ReportOption:
    """What a report can be added up by, everywhere."""
    kind = REPORTS[report]
    return ReportOption("by", "By", tuple(kind.by), default=kind.usual)


PERIOD: Final = ReportOption("period", "Chart by", ("", *PERIODS))
MONEY: Final = _choice("show", "Chart shows", ("cost", "tokens", "answers"))
KINDS: Final[dict[str, ReportPage]] = {
    "usage": ReportPage(
        "Usage", "Tokens and costs. Each answer counts once, however many files repeat it.", _usage,
        (_by_of("usage"), MONEY,
         _choice("stack", "Stacked by", ("model", "project")), PERIOD,
         ReportOption("explain", "Every answer", is_flag=True)),
    ),
    "blocks": ReportPage(
        "Blocks", "Windows of five hours, as the limits have them, and the rate of the open one.", _blocks,
        (ReportOption("active", "Only the open one", is_flag=True),),
    ),
    "time": ReportPage(
        "Time", "Where the time went: waiting for the model, for tools, and for you.", _by(time_spent),
        (_by_of("time"),),
    ),
    "prompts": ReportPage(
        "Prompts", "What was typed: how much, how long, how often it had to be said again.", _by(prompts),
        (_by_of("prompts"),),
    ),
    "activity": ReportPage("Activity", "When you type: weekdays, hours, days in a row.", _activity, has_limit=False),
    "compare": ReportPage(
        "Compare", "Two periods or two queries side by side.", _compare,
        (ReportOption("a", "First", hint="2026-01 or project:shop"),
         ReportOption("b", "Second", hint="2026-02 or model:opus")),
        has_query=False, has_limit=False,
    ),
    "tools": ReportPage(
        "Tools", "Calls of tools: how they ended, how long they took, how much went in and out.", _by(tools),
        (_by_of("tools"),),
    ),
    "errors": ReportPage(
        "Errors", "What goes wrong again and again, and how often the next try went well.", _errors,
        (ReportOption("tool", "Tool", hint="Bash"),), limit=50,
    ),
    "sequences": ReportPage(
        "Sequences", "Tools that follow one another, and calls that fail in a loop.", _sequences,
        (ReportOption("length", "Length", ("", "2", "3", "4")), ReportOption("fold", "Same tool once", is_flag=True),
         ReportOption("loops", "Loops instead", is_flag=True)), limit=50,
    ),
    "files": ReportPage(
        "Files", "The files that were read and changed most.", _files,
        (_choice("sort", "Most", SORTS),), limit=50,
    ),
    "context": ReportPage(
        "Context", "What filled the context, and what compactions took out of it.", _context,
        (_by_of("context"),), limit=30,
    ),
    "cache": ReportPage(
        "Cache", "How much came from the prompt cache, what that saved, and what pauses cost.", _by(cache),
        (_by_of("cache"),),
    ),
}  # fmt: skip
"""By their names, in the order in which they are offered."""
