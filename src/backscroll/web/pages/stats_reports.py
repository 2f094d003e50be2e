"""The reports: their options, and the functions that make them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from backscroll.errors import UsageError
from backscroll.library.analytics.activity import activity
from backscroll.library.analytics.blocks import blocks
from backscroll.library.analytics.cache import cache
from backscroll.library.analytics.chats import MEASURES as CHAT_MEASURES
from backscroll.library.analytics.chats import chats
from backscroll.library.analytics.compare import compare
from backscroll.library.analytics.context import context
from backscroll.library.analytics.errors import errors
from backscroll.library.analytics.files import SORTS, files, folders
from backscroll.library.analytics.occurrences import failed_calls, interruptions
from backscroll.library.analytics.periods import PERIODS
from backscroll.library.analytics.prompts import prompts
from backscroll.library.analytics.report_kinds import KINDS as REPORTS
from backscroll.library.analytics.reports import Report
from backscroll.library.analytics.reports import ReportRequest as About
from backscroll.library.analytics.sequences import MAX_LENGTH, MIN_LENGTH, loops, sequences
from backscroll.library.analytics.spend import DIMENSIONS as SPEND_FILTERS
from backscroll.library.analytics.spend import SpendFilter
from backscroll.library.analytics.spend_report import spend_report
from backscroll.library.analytics.time import time_spent
from backscroll.library.analytics.tools import tools
from backscroll.library.analytics.topics import topics
from backscroll.library.analytics.usage import answers, usage
from backscroll.library.library import Library
from backscroll.query.parse import parse
from backscroll.query.times import parse_moment
from backscroll.web.reader_zone import READER_ZONE, zone_named
from backscroll.web.requests import PageRequest

Chosen = Mapping[str, Any]
Run = Callable[[Library, About, Chosen, datetime], Report]


@dataclass(frozen=True)
class ReportOption:
    """An option of a report: one of some choices, a flag, a number or a text."""

    name: str
    label: str
    choices: Sequence[str] = ()
    is_flag: bool = False
    is_number: bool = False
    default: str = ""
    hint: str = ""
    most: int = 10_000

    def read(self, request: PageRequest) -> Any:  # noqa: ANN401 - as the option is
        """Return the value in the address; an error names the allowed ones."""
        text = request.get(self.name).strip()
        if self.is_flag:
            return text.lower() in ("1", "on", "yes", "true")
        if self.is_number:
            return request.number(self.name, int(self.default or 0), 0, self.most) if text else int(self.default or 0)
        text = text or self.default
        if self.choices and text not in self.choices:
            raise UsageError(f"invalid {self.name}: {text}", f"use one of {', '.join(filter(None, self.choices))}")
        return text


@dataclass(frozen=True)
class ReportPage:
    """A report with its options, and the function that makes it."""

    title: str
    about: str
    run: Run
    options: Sequence[ReportOption] = ()
    limit: int = 100
    """Number of rows shown by default."""
    has_query: bool = True
    has_limit: bool = True

    @property
    def every_option(self) -> Sequence[ReportOption]:
        """Options of the report, and the number of rows."""
        return (*self.options, ReportOption("limit", "Rows", is_number=True, default=str(self.limit)))

    def chosen(self, request: PageRequest) -> dict[str, Any]:
        """Return the values of all options."""
        return {option.name: option.read(request) for option in self.every_option}


def about_of(request: PageRequest, *, with_query: bool = True) -> tuple[About, datetime]:
    """Return the scope of the report, read from the address, and the current time in its zone."""
    zone = zone_of(request.get("zone").strip()) or READER_ZONE.get()
    now = datetime.now(zone) if zone else datetime.now().astimezone()
    query, since, until = (request.get(name).strip() for name in ("q", "since", "until"))
    since = "" if since == "all" else since
    about = About(
        query=parse(query, now) if query and with_query else None,
        since=parse_moment(since, now) if since else None,
        until=parse_moment(until, now, end=True) if until else None,
        zone=zone,
    )
    return about, now


def zone_of(name: str) -> tzinfo | None:
    """Return the time zone with this name; None if the name is empty."""
    zone = zone_named(name)
    if name and zone is None:
        raise UsageError(f"unknown time zone {name}", "use a name such as Europe/Berlin, or leave it empty")
    return zone


def _usage(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del now
    report = usage(library, about, chosen["by"])
    return replace(report, explanation=answers(library, about)) if chosen["explain"] else report


def _blocks(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    return blocks(library, about, now.astimezone(UTC), active=chosen["active"])


def _spend(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    only = SpendFilter(**{name: chosen[name] for name in SPEND_FILTERS})
    return spend_report(library, about, chosen["by"], now, only)


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


def _failures(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del now
    return failed_calls(
        library, about, tool=chosen["tool"], signature=chosen["signature"], state=chosen["state"],
        limit=chosen["limit"] or None,
    )  # fmt: skip


def _interruptions(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del chosen, now
    return interruptions(library, about)


def _sequences(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del now
    if chosen["loops"]:
        return loops(library, about)
    length = int(chosen["length"] or 0)
    return sequences(library, about, (length or MIN_LENGTH, length or MAX_LENGTH), fold=chosen["fold"])


def _files(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del now
    return files(library, about, chosen["sort"], chosen["limit"] or None)


def _folders(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del now
    return folders(library, about, chosen["sort"])


def _context(library: Library, about: About, chosen: Chosen, now: datetime) -> Report:
    del now
    if chosen["by"] == "turn" and (about.query is None or len(library.chats(about.query, limit=2)) != 1):
        raise UsageError("a report by turn needs one chat", "add chat: and its id to the query")
    return context(library, about, chosen["by"])


def _by(run: Callable[[Library, About, str], Report]) -> Run:
    return lambda library, about, chosen, _: run(library, about, chosen["by"])


def _choice(name: str, label: str, choices: Sequence[str]) -> ReportOption:
    """Return an option with several choices; the first is the default."""
    return ReportOption(name, label, choices, default=choices[0])


def _by_of(report: str) -> ReportOption:
    """Return the option for the dimensions that a report can be grouped by."""
    kind = REPORTS[report]
    return ReportOption("by", "By", tuple(kind.by), default=kind.usual)


PERIOD: Final = ReportOption("period", "Chart by", ("", *PERIODS))
MONEY: Final = _choice("show", "Chart shows", ("cost", "tokens", "answers"))
KINDS: Final[dict[str, ReportPage]] = {
    "usage": ReportPage(
        "Usage", "Tokens and costs. Each answer counts once, even if several files repeat it.", _usage,
        (_by_of("usage"), MONEY,
         _choice("stack", "Stacked by", ("model", "project")), PERIOD,
         ReportOption("explain", "Every answer", is_flag=True)),
    ),
    "spend": ReportPage(
        "Spend", "What changed against the equally long period before, and why. The page Spend shows the same.", _spend,
        (_by_of("spend"), *(ReportOption(name, name.capitalize()) for name in SPEND_FILTERS)), limit=50,
    ),
    "blocks": ReportPage(
        "Blocks", "Five-hour windows, as in Claude's usage limits, and the rate of the current one.", _blocks,
        (ReportOption("active", "Current window only", is_flag=True),),
    ),
    "time": ReportPage(
        "Time", "Where the time went: waiting for the model, for tools, and for you.", _by(time_spent),
        (_by_of("time"),),
    ),
    "prompts": ReportPage(
        "Prompts", "What you typed: how much, how long, and how often you had to repeat it.", _by(prompts),
        (_by_of("prompts"),),
    ),
    "chats": ReportPage(
        "Chats", "How long and how large chats are: the median, nine of ten, 19 of 20, and the largest.", _by(chats),
        (_by_of("chats"), _choice("show", "Shows", tuple(CHAT_MEASURES))),
    ),
    "topics": ReportPage(
        "Topics", "What chats are about: words that stand out against everything else.", _by(topics),
        (_by_of("topics"),),
    ),
    "activity": ReportPage("Activity", "When you work: weekdays, hours, streaks.", _activity, has_limit=False),
    "compare": ReportPage(
        "Compare", "Two periods or two queries side by side.", _compare,
        (ReportOption("a", "First", hint="2026-01 or project:shop"),
         ReportOption("b", "Second", hint="2026-02 or model:opus")),
        has_query=False, has_limit=False,
    ),
    "tools": ReportPage(
        "Tools", "Tool calls: results, durations, and sizes of input and output.", _by(tools),
        (_by_of("tools"),),
    ),
    "errors": ReportPage(
        "Errors", "Recurring errors, and how often the next attempt succeeded.", _errors,
        (ReportOption("tool", "Tool", hint="Bash"),), limit=50,
    ),
    "failures": ReportPage(
        "Failed calls", "Every call that failed or was denied, the latest first, each with its passage.", _failures,
        (ReportOption("tool", "Tool", hint="Edit"), ReportOption("signature", "Error pattern", hint="any"),
         _choice("state", "Ended as", ("error", "denied", "interrupted"))),
    ),
    "interruptions": ReportPage(
        "Interruptions", "Where you interrupted Claude, with the prompt before.", _interruptions,
    ),
    "sequences": ReportPage(
        "Sequences", "Tools that are called in a row, and calls that fail in a loop.", _sequences,
        (ReportOption("length", "Length", ("", "2", "3", "4")), ReportOption("fold", "Same tool once", is_flag=True),
         ReportOption("loops", "Loops instead", is_flag=True)), limit=50,
    ),
    "files": ReportPage(
        "Files", "The most read and most changed files.", _files,
        (_choice("sort", "Most", SORTS),), limit=50,
    ),
    "folders": ReportPage(
        "Folders", "Where in your projects files were read and changed.", _folders,
        (_choice("sort", "Most", SORTS),), limit=50,
    ),
    "context": ReportPage(
        "Context", "What filled the context window, and what compactions removed.", _context,
        (_by_of("context"),), limit=30,
    ),
    "cache": ReportPage(
        "Cache", "How much input came from the prompt cache, what that saved, and what pauses cost.", _by(cache),
        (_by_of("cache"),),
    ),
}  # fmt: skip
"""All reports, by name."""
GROUPS: Final = {
    "Cost": ("usage", "spend", "blocks", "cache", "compare"),
    "Work": ("chats", "topics", "prompts", "time", "activity", "files", "folders", "interruptions"),
    "Tools": ("tools", "errors", "failures", "sequences", "context"),
}
"""Groups of reports, as the menu lists them."""
