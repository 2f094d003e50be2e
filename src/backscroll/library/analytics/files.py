"""The most read and changed files, and their folders."""

from collections import defaultdict
from typing import Any, Final

from backscroll.library.analytics.file_calls import file_calls, local_text, result_of
from backscroll.library.analytics.reports import Report, ReportRequest
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library
from backscroll.store.report_rows import FileCallRow

COLUMNS: Final = (
    "file", "edits", "reads", "failed", "chats", "added", "removed", "first", "last",
)  # fmt: skip
SORTS: Final = ("edits", "reads", "chats", "last")
FOLDER_COLUMNS: Final = ("folder", "files", "edits", "reads", "failed", "chats", "last")


def files(library: Library, asked: ReportRequest, sort: str = "edits", limit: int | None = 20) -> Report:
    """Return files by number of changes and reads; line counts only for the first `limit`."""
    calls = file_calls(library, asked)
    groups: dict[str, list[FileCallRow]] = defaultdict(list)
    for call in calls:
        groups[call.file].append(call)
    rows = _sorted([_row(asked, file, group) for file, group in groups.items()], COLUMNS, sort)
    unknown = 0
    with library.texts() as texts:
        for number, row in enumerate(rows[:limit]):
            results = [result_of(texts, call) for call in groups[row[0]] if call.changes and call.is_done]
            unknown += sum(not result.hunks and not result.content for result in results)
            lines = sum(result.added for result in results), sum(result.removed for result in results)
            rows[number] = (*row[:5], *lines, *row[7:])
    facts = {**_facts(calls), "without_lines": unknown}
    return Report(COLUMNS, rows, facts, _notes(facts), bar="edits" if sort != "reads" else "reads")


def folders(library: Library, asked: ReportRequest, sort: str = "edits") -> Report:
    """Return folders by number of changes and reads of the files in them; a file counts in its own folder only."""
    calls = file_calls(library, asked)
    groups: dict[str, list[FileCallRow]] = defaultdict(list)
    for call in calls:
        groups[folder_of(call.file)].append(call)
    rows = []
    for folder, group in groups.items():
        _, *sums, _, _, _, last = _row(asked, folder, group)
        rows.append((folder, len({call.file for call in group}), *sums, last))
    facts = {"folders": len(rows), **_facts(calls)}
    notes = [*_notes(facts), "a file counts in the folder that it is in, not in those above"]
    ordered = _sorted(rows, FOLDER_COLUMNS, sort)
    return Report(FOLDER_COLUMNS, ordered, facts, notes, bar="edits" if sort != "reads" else "reads")


def folder_of(path: str) -> str:
    """Return the folder of a file, with the separators of its path."""
    at = max(path.rfind("/"), path.rfind("\\"))
    return path[:at] or path[: at + 1] if at >= 0 else "-"


def _sorted(rows: list[tuple[Any, ...]], columns: tuple[str, ...], sort: str) -> list[tuple[Any, ...]]:
    """Sort by the chosen column, highest first, then by edits and reads, then by name."""
    at, edits, reads = (columns.index(name) for name in (sort, "edits", "reads"))
    rows = sorted(rows, key=lambda row: row[0])
    return sorted(rows, key=lambda row: (row[at] or "" if sort == "last" else row[at], row[edits], row[reads]),
                  reverse=True)  # fmt: skip


def _facts(calls: list[FileCallRow]) -> dict[str, int]:
    return {
        "files": len({call.file for call in calls}),
        "edits": sum(call.changes and call.is_done for call in calls),
        "reads": sum(not call.changes and call.is_done for call in calls),
        "failed": sum(not call.is_done for call in calls),
    }


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
    if facts.get("without_lines"):
        notes.append(f"{count(facts['without_lines'], 'edit')} without line counts in the result")
    return notes
