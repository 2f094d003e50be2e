"""Sequences of tools, and loops of the same failing call."""

from bisect import bisect_right
from collections import defaultdict
from itertools import groupby
from typing import Any, Final

from backscroll.library.analytics.calls import FAILED, calls_about, threads_of, utc_text
from backscroll.library.analytics.reports import Report, ReportRequest
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library
from backscroll.store.tool_call_rows import ToolCallRow

MIN_LENGTH, MAX_LENGTH = 2, 4
LOOP: Final = 3
"""Number of failures in a row that make a loop."""
ARROW: Final = " → "


def sequences(
    library: Library, asked: ReportRequest, lengths: tuple[int, int] = (MIN_LENGTH, MAX_LENGTH), *, fold: bool = False
) -> Report:
    """Return tools that follow one another inside a turn, the most frequent first.

    Every occurrence of a sequence counts, so occurrences in a run of equal tools overlap; with `fold` such a run is one
    call.
    """
    calls = calls_about(library, asked).tool_calls()
    begins = _turns(library, asked)
    counts: dict[tuple[str, ...], int] = defaultdict(int)
    turns: dict[tuple[str, ...], set[int]] = defaultdict(set)
    chats: dict[tuple[str, ...], set[int]] = defaultdict(set)
    number = 0
    for _, turn in groupby(calls, key=lambda call: (call.thread, call.file, _turn(begins, call))):
        steps = list(turn)
        number += 1
        tools = [call.name for call in steps]
        if fold:
            tools = [name for name, _ in groupby(tools)]
        for length in range(lengths[0], lengths[1] + 1):
            for at in range(len(tools) - length + 1):
                sequence = tuple(tools[at : at + length])
                counts[sequence] += 1
                turns[sequence].add(number)
                chats[sequence].add(steps[0].chat)
    ordered = sorted(counts, key=lambda sequence: (-counts[sequence], len(sequence), sequence))
    rows: list[tuple[Any, ...]] = [
        (ARROW.join(sequence), len(sequence), counts[sequence], len(turns[sequence]), len(chats[sequence]))
        for sequence in ordered
    ]
    copies = sum(call.copies - 1 for call in calls)
    facts = {
        "counted": len(calls),
        "copies": copies,
        "turns": number,
        "sequences": len(rows),
        "loops": len(_loops(calls)),
        "folded": fold,
    }
    notes = [
        (
            f"{count(len(calls), 'call')} in {count(number, 'turn')}, each counted once; "
            f"{count(copies, 'copy', 'copies')} not counted again"
        ),
        "calls that the model made at once count as one after the other; sequences may overlap",
    ]
    if facts["loops"]:
        notes.append(f"the same call failed {LOOP} times in a row, or more, {facts['loops']:,} times: --loops")
    return Report(("sequence", "length", "count", "turns", "chats"), rows, facts, notes, bar="count")


def loops(library: Library, asked: ReportRequest) -> Report:
    """Return runs of calls with the same input that failed at least `LOOP` times in a row, the longest first."""
    calls = calls_about(library, asked).tool_calls()
    runs = sorted(_loops(calls), key=lambda run: (-len(run), run[0].time or 0, run[0].uuid or ""))
    rows = []
    for run in runs:
        first, last = run[0], run[-1]
        times = (utc_text(first.time), utc_text(last.time))
        kind = first.signature or ("denied" if first.state == "denied" else "")
        rows.append((first.name, len(run), *times, first.chat_id, first.agent, first.uuid, first.target, kind))
    columns = ("tool", "count", "first", "last", "chat", "agent", "message", "file", "signature")
    facts = {"counted": len(calls), "copies": sum(call.copies - 1 for call in calls), "at_least": LOOP}
    notes = [
        f"{count(len(calls), 'call')}, each counted once; {count(len(rows), 'loop')}",
        f"a loop: a tool with the same input failed or was denied {LOOP} times or more, with no other call between",
    ]
    return Report(columns, rows, facts, notes, bar="count")


def _loops(calls: list[ToolCallRow]) -> list[list[ToolCallRow]]:
    loops_of_calls = []
    for thread in threads_of(calls):
        for _, run in groupby(thread, key=_sameness):
            tries = list(run)
            if tries[0].state in FAILED and len(tries) >= LOOP:
                loops_of_calls.append(tries)
    return loops_of_calls


def _sameness(call: ToolCallRow) -> tuple[Any, ...]:
    return (call.tool, call.digest, call.size, call.state in FAILED)


def _turns(library: Library, asked: ReportRequest) -> dict[tuple[int, bool], list[int]]:
    """Return the rows where turns start, by file, separately for the rows of its agents."""
    begins: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for start in library.reader.reports(asked.query).turn_starts():
        begins[start.file, start.is_sidechain].append(start.number)
    return begins


def _turn(begins: dict[tuple[int, bool], list[int]], call: ToolCallRow) -> int:
    return bisect_right(begins.get((call.file, call.is_sidechain), ()), call.number)
