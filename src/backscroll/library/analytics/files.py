"""The most read and changed files."""

from collections import defaultdict
from typing import Any, Final

from backscroll.library.analytics.reports import Report, ReportRequest
from backscroll.library.analytics.touched import file_calls, local_text, reading, result_of
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library
from backscroll.store.report_rows import FileCallRow

COLUMNS: Final = (
    "file", "edits", "reads", "failed", "chats", "added", "removed", "first", "last",
)  # fmt: skip
SORTS: Final = ("edits", "reads", "chats", "last")


def files(library: Library, asked: ReportRequest, sort: str = "edits", limit: int | None = 20) -> Report:
    """Files by number of changes and reads; line counts only for the first `limit`."""
    calls = file_calls(library, asked)
    groups: dict[str, list[FileCallRow]] = defaultdict(list)
    for call in calls:
        groups[call.file].append(call)
    at = COLUMNS.index(sort)
    rows = [_row(asked, file, group) for file, group in groups.items()]
    rows.sort(key=lambda row: row[0])
    rows.sort(key=lambda row: (row[at] or "" if sort == "last" else row[at], row[1], row[2]), reverse=True)
    unknown = 0
    with reading(library) as texts:
        for number, row in enumerate(rows[:limit]):
            results = [result_of(texts, call) for call in groups[row[0]] if call.changes and call.is_done]
            unknown += sum(not result.hunks and not result.content for result in results)
            lines = sum(result.added for result in results), sum(result.removed for result in results)
            rows[number] = (*row[:5], *lines, *row[7:])
    facts = {
        "files": len(rows),
        "edits": sum(call.changes and call.is_done for call in calls),
        "reads": sum(not call.changes and call.is_done for call in calls),
        "failed": sum(not call.is_done for call in calls),
        "without_lines": unknown,
    }
    return Report(COLUMNS, rows, facts, _notes(facts), bar="edits" if sort != "reads" else "reads")


def _row(asked: ReportRequest, file: str, calls: list[FileCallRow]) -> tuple[Any, ...]:
    done = [call for call in calls if call.is_done]
    edits = sum(call.changes for call in done)
    times = [call.time for call in calls if call.time is not None]
    return (
        file, edits, len(done) - edits, len(calls) - len(done), len({call.chat for call in calls}), None, None,
        local_text(asked, min(times, default=None)), local_text(asked, max(times, default=None)),
    )  # fmt: skip


def _notes(facts: dict[str, int]) -> list[str]:
    notes = [
        (
            f"{count(facts['edits'], 'edit')} and {count(facts['reads'], 'read')} of {count(facts['files'], 'file')}, "
            "each counted once, including those of agents"
        ),
        "what shell commands do to files is not known",
    ]
    if facts["failed"]:
        notes.append(f"{count(facts['failed'], 'call')} not counted: failed, denied or without a result")
    if facts["without_lines"]:
        notes.append(f"{count(facts['without_lines'], 'edit')} without line counts in the result")
    return notes
