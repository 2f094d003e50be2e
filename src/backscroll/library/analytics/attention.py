"""What deserves attention first: errors that repeat, tools that fail, files edited over and over, and so on.

Each finding is a sentence, its numbers over time, and where its passages are. What hardly matters is left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Final, NamedTuple

from backscroll.conversation.messages import CallState
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
"""A file that is edited less often in one chat is not edited over and over."""
WASTED: Final = 50_000_000
"""Nanodollars; a smaller amount is not worth a word."""
EACH: Final = 3
"""How many findings of one kind there are at most."""


class FoundPlace(NamedTuple):
    """A passage: a chat, a message in it, and what it says."""

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
    """How often, or how many nanodollars."""
    days: dict[date, int] = field(default_factory=dict)
    """The same by local day; what has no time is left out."""
    about: dict[str, str] = field(default_factory=dict)
    """What its passages are found by: a tool, a signature, a file."""
    places: tuple[FoundPlace, ...] = ()


class _ChatStep(NamedTuple):
    """A call, and the number of its chat."""

    chat: int
    call: CallStep


def attention(library: Library, asked: ReportRequest) -> list[Finding]:
    """All findings, the kinds in the order of `KINDS`, of each kind the largest first."""
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
    """The numbers of a period in columns: of days if it has few, else of weeks that end with the last day."""
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
        if step.call.state == CallState.ERROR and step.call.signature:
            patterns[step.call.name, step.call.signature].append(step)
    found = []
    for tool, signature in sorted(patterns, key=lambda key: (-len(patterns[key]), key))[:EACH]:
        some = patterns[tool, signature]
        if len(some) < REPEATED:
            break
        chats = len({step.chat for step in some})
        text = f"{tool} failed {count(len(some), 'time')} in {count(chats, 'chat')} with the same error: {signature}"
        found.append(
            Finding("error", "An error that repeats", text, len(some), _days(_times(some), asked),
                    {"tool": tool, "signature": signature}, _places(reports, some))
        )  # fmt: skip
    return found


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
    told = ", ".join(f"{tool} {number:,}" for tool, number in tools)
    text = f"You denied {count(len(denied), 'call')}: {told}"
    days = _days(_times(denied), asked)
    return [Finding("denied", "Calls that you denied", text, len(denied), days, {}, _places(reports, denied))]


def _edited_files(reports: Reports, asked: ReportRequest) -> list[Finding]:
    edits: dict[tuple[str, str], list[FileCallRow]] = defaultdict(list)
    for call in reports.file_calls():
        if call.changes and call.is_done:
            edits[call.chat or "", call.file].append(call)
    found = []
    for key in sorted(edits, key=lambda key: (-len(edits[key]), key))[:EACH]:
        some = edits[key]
        if len(some) < EDITED:
            break
        chat, file = key
        name = file.replace("\\", "/").rsplit("/", 1)[-1]
        text = f"{name} was edited {count(len(some), 'time')} in one chat"
        days = _days([call.time for call in some], asked)
        places = (FoundPlace("", chat or None, some[-1].uuid),)
        found.append(
            Finding("file", "A file edited over and over", text, len(some), days, {"file": file, "chat": chat}, places)
        )
    return found


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
    found: Counter[date] = Counter()
    for time in times:
        if time is None:
            continue
        quarter = time // QUARTER
        if quarter not in days:
            days[quarter] = local(asked, quarter * QUARTER).date()
        found[days[quarter]] += 1
    return dict(found)


def _times(steps: list[_ChatStep]) -> list[int | None]:
    return [step.call.time for step in steps]


def _places(reports: Reports, steps: list[_ChatStep]) -> tuple[FoundPlace, ...]:
    """The latest of some calls, of different chats."""
    latest: dict[int, int] = {}
    for step in sorted(steps, key=lambda step: (-(step.call.time or 0), step.call.id)):
        latest.setdefault(step.chat, step.call.id)
        if len(latest) == EACH:
            break
    calls = reports.some_tool_calls(latest.values())
    known = [calls[number] for number in latest.values() if number in calls]
    return tuple(FoundPlace("", call.chat_id, call.result_uuid or call.uuid) for call in known)


KINDS: Final = ("error", "tool", "denied", "file", "cache", "interruption")
