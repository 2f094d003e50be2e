"""Findings that deserve attention first: errors that repeat, tools that fail, files edited over and over, and so on.

Each finding is a sentence, its numbers over time, and the places of its passages. Findings that hardly matter are left
out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Final, NamedTuple

from backscroll.conversation.messages import CallState
from backscroll.conversation.signatures import is_telling
from backscroll.library.analytics.calls import ANSWERED, calls_about
from backscroll.library.analytics.cost_parts import LOSSES, cost_parts
from backscroll.library.analytics.moments import local
from backscroll.library.analytics.occurrences import interruptions
from backscroll.library.analytics.reports import QUARTER, ReportRequest, reports_about
from backscroll.library.analytics.wording import count
from backscroll.library.indexing.prices import load_prices
from backscroll.library.library import Library
from backscroll.store.report_rows import FileCallRow
from backscroll.store.reports import Reports
from backscroll.store.tool_call_rows import CallStep

REPEATED: Final = 3
"""An error that occurs less often does not repeat."""
FAILING_SHARE, FAILING_CALLS = 0.1, 10
"""A tool fails if this share of at least so many calls does."""
EDITED: Final = 8
"""A file with fewer edits in one chat is not edited over and over."""
WASTED: Final = 50_000_000
"""Nanodollars; smaller amounts are not reported."""
EACH: Final = 3
"""Largest number of findings of one kind."""


class FoundPlace(NamedTuple):
    """A passage: its chat, its message and its text."""

    text: str
    chat: str | None
    message: str | None = None


@dataclass(frozen=True)
class Finding:
    """Something that deserves attention."""

    kind: str
    title: str
    text: str
    number: int
    """Number of occurrences, or nanodollars."""
    days: dict[date, int] = field(default_factory=dict)
    """Numbers by local day; occurrences without a time are left out."""
    about: dict[str, str] = field(default_factory=dict)
    """The tool, signature or file that selects the passages of the finding."""
    places: tuple[FoundPlace, ...] = ()


class _ChatStep(NamedTuple):
    """A call, and the number of its chat."""

    chat: int
    call: CallStep


def attention(library: Library, asked: ReportRequest) -> list[Finding]:
    """Return all findings: the kinds in the order of `KINDS`, the largest of each kind first."""
    reports = calls_about(library, asked)
    steps = [_ChatStep(thread.chat, call) for thread in reports.call_threads() for call in thread.steps]
    return [
        *_repeated_errors(reports, steps, asked),
        *_failing_tools(reports, steps, asked),
        *_denied(reports, steps, asked),
        *_edited_files(reports, asked),
        *_wasted_cache(library, asked),
        *_interrupted(library, asked),
    ]


def by_weeks(days: dict[date, int], first: date, last: date) -> list[int]:
    """Return the numbers of a period in columns: days if there are few, otherwise weeks that end with the last day."""
    length = (last - first).days + 1
    step = 1 if length <= 35 else 7
    columns = [0] * max(1, -(-length // step))
    for day, number in days.items():
        if first <= day <= last:
            columns[len(columns) - 1 - (last - day).days // step] += number
    return columns


def _repeated_errors(reports: Reports, steps: list[_ChatStep], asked: ReportRequest) -> list[Finding]:
    patterns: dict[tuple[str, str], list[_ChatStep]] = defaultdict(list)
    for step in steps:
        if step.call.state == CallState.ERROR and is_telling(step.call.signature or ""):
            patterns[step.call.name, step.call.signature or ""].append(step)
    findings = []
    for tool, signature in sorted(patterns, key=lambda key: (-len(patterns[key]), key))[:EACH]:
        some = patterns[tool, signature]
        if len(some) < REPEATED:
            break
        chats = len({step.chat for step in some})
        text = f"{tool} failed {count(len(some), 'time')} in {count(chats, 'chat')} with the same error: {signature}"
        findings.append(
            Finding("error", "An error that repeats", text, len(some), _days(_times(some), asked),
                    {"tool": tool, "signature": signature}, _places(reports, some))
        )  # fmt: skip
    return findings


def _failing_tools(reports: Reports, steps: list[_ChatStep], asked: ReportRequest) -> list[Finding]:
    ran: Counter[str] = Counter(step.call.name for step in steps if step.call.state in ANSWERED)
    failed: dict[str, list[_ChatStep]] = defaultdict(list)
    for step in steps:
        if step.call.state == CallState.ERROR:
            failed[step.call.name].append(step)
    worst = [
        tool
        for tool in failed
        if ran[tool] >= FAILING_CALLS and len(failed[tool]) >= max(REPEATED, FAILING_SHARE * ran[tool])
    ]
    worst.sort(key=lambda tool: (-len(failed[tool]), tool))
    return [
        Finding("tool", "A tool that fails often",
                f"{tool} failed in {len(failed[tool]):,} of {count(ran[tool], 'call')}, "
                f"{100 * len(failed[tool]) / ran[tool]:.0f} %",
                len(failed[tool]), _days(_times(failed[tool]), asked), {"tool": tool}, _places(reports, failed[tool]))
        for tool in worst[:EACH]
    ]  # fmt: skip


def _denied(reports: Reports, steps: list[_ChatStep], asked: ReportRequest) -> list[Finding]:
    denied = [step for step in steps if step.call.state == CallState.DENIED]
    if len(denied) < REPEATED:
        return []
    tools = Counter(step.call.name for step in denied).most_common(3)
    tools_text = ", ".join(f"{tool} {number:,}" for tool, number in tools)
    text = f"You denied {count(len(denied), 'call')}: {tools_text}"
    days = _days(_times(denied), asked)
    return [Finding("denied", "Calls that you denied", text, len(denied), days, {}, _places(reports, denied))]


def _edited_files(reports: Reports, asked: ReportRequest) -> list[Finding]:
    edits: dict[tuple[str, str], list[FileCallRow]] = defaultdict(list)
    for call in reports.file_calls():
        if call.changes and call.is_done:
            edits[call.chat or "", call.file].append(call)
    findings = []
    for key in sorted(edits, key=lambda key: (-len(edits[key]), key))[:EACH]:
        some = edits[key]
        if len(some) < EDITED:
            break
        chat, file = key
        name = file.replace("\\", "/").rsplit("/", 1)[-1]
        text = f"{name} was edited {count(len(some), 'time')} in one chat"
        days = _days([call.time for call in some], asked)
        places = (FoundPlace("", chat or None, some[-1].uuid),)
        findings.append(
            Finding("file", "A file edited over and over", text, len(some), days, {"file": file, "chat": chat}, places)
        )
    return findings


def _wasted_cache(library: Library, asked: ReportRequest) -> list[Finding]:
    prices = load_prices(library.settings)
    total = answers = 0
    days: dict[date, int] = defaultdict(int)
    chats: Counter[str] = Counter()
    for answer in reports_about(library, asked).spent_answers():
        parts = cost_parts(answer, prices)
        lost = sum(parts.get(name, 0) for name in LOSSES)
        if not lost:
            continue
        answers += 1
        total += lost
        chats[answer.chat or ""] += lost
        if answer.time is not None:
            days[local(asked, answer.time).date()] += lost
    if total < WASTED:
        return []
    titles = library.titles()
    places = tuple(
        FoundPlace(f"${lost / 1e9:,.2f}: {titles.get(chat, '')}", chat)
        for chat, lost in chats.most_common(EACH)
        if chat
    )
    text = (
        f"${total / 1e9:,.2f} went into writing context to the cache again, in {count(answers, 'answer')}: "
        "after pauses, after a change of the model, or for another reason"
    )
    return [Finding("cache", "Cache wasted", text, total, dict(days), {}, places)]


def _interrupted(library: Library, asked: ReportRequest) -> list[Finding]:
    report = interruptions(library, asked)
    rows = report.as_dicts()
    if len(rows) < REPEATED:
        return []
    days = Counter(date.fromisoformat(row["time"][:10]) for row in rows)
    places = tuple(FoundPlace(row["prompt"] or row["title"], row["chat"], row["message"]) for row in rows[:EACH])
    text = f"You interrupted Claude {count(len(rows), 'time')} in {count(report.facts['chats'], 'chat')}"
    return [Finding("interruption", "Prompts interrupted", text, len(rows), dict(days), {}, places)]


def _days(times: Iterable[int | None], asked: ReportRequest) -> dict[date, int]:
    days: dict[int, date] = {}
    numbers: Counter[date] = Counter()
    for time in times:
        if time is None:
            continue
        quarter = time // QUARTER
        if quarter not in days:
            days[quarter] = local(asked, quarter * QUARTER).date()
        numbers[days[quarter]] += 1
    return dict(numbers)


def _times(steps: list[_ChatStep]) -> list[int | None]:
    return [step.call.time for step in steps]


def _places(reports: Reports, steps: list[_ChatStep]) -> tuple[FoundPlace, ...]:
    """Return the places of the latest calls, each in a different chat."""
    latest: dict[int, int] = {}
    for step in sorted(steps, key=lambda step: (-(step.call.time or 0), step.call.id)):
        latest.setdefault(step.chat, step.call.id)
        if len(latest) == EACH:
            break
    calls = reports.some_tool_calls(latest.values())
    known = [calls[number] for number in latest.values() if number in calls]
    return tuple(FoundPlace("", call.chat_id, call.result_uuid or call.uuid) for call in known)


KINDS: Final = ("error", "tool", "denied", "file", "cache", "interruption")
