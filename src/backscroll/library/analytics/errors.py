"""Recurring errors: tool errors by pattern, and how often the retry succeeded.

A *retry* is the next call of the same tool on the same target, within the next `WITHIN` calls of the same conversation:
the same file for a tool that reads or changes one, the same program and subcommand for a shell command, and any call
for other tools. The error counts as solved if that call succeeded. It is unknown whether the call was made because of
the error, or whether the error was solved in another way.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from backscroll.conversation.messages import CallState
from backscroll.conversation.signatures import command_kind
from backscroll.library.analytics.calls import calls_about, utc_text
from backscroll.library.analytics.reports import Report, ReportRequest, share
from backscroll.library.analytics.wording import count
from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.records.content import ToolUse
from backscroll.records.decode import value_of
from backscroll.records.tools import SHELL_TOOLS
from backscroll.store.batches import microseconds
from backscroll.store.tool_call_rows import CallPlace, CallStep, ToolCallRow

WITHIN: Final = 10
"""Number of calls after an error that are checked."""
LONGEST_EXAMPLE: Final = 2_000
COLUMNS: Final = (
    "signature",
    "tool",
    "count",
    "chats",
    "first",
    "last",
    "retried",
    "solved",
    "solved_share",
    "example_chat",
    "example_message",
    "example",
)


class ErrorPattern:
    """The errors of one tool with one signature, each with its chat and the calls of the tool that follow it."""

    def __init__(self, signature: str, tool: str) -> None:
        self.signature = signature
        self.tool = tool
        self.errors: list[tuple[CallStep, int, list[CallStep]]] = []

    def calls(self) -> Iterator[int]:
        """Yield the ids of all errors and following calls."""
        for error, _, following in self.errors:
            yield error.id
            yield from (call.id for call in following)

    def latest(self) -> list[int]:
        """Return the ids of the latest errors: several only at the same moment."""
        last = max(error.time or 0 for error, _, _ in self.errors)
        return [error.id for error, _, _ in self.errors if (error.time or 0) == last]

    def row(self, calls: Mapping[int, ToolCallRow], texts: Texts, kinds: "RetryFinder") -> tuple[object, ...]:
        """Return the pattern's row in the report; the example is the latest error."""
        times = sorted(error.time for error, _, _ in self.errors if error.time is not None)
        tries = [
            state for error, _, following in self.errors if (state := kinds.next_try(error, following)) is not None
        ]
        solved = tries.count(CallState.DONE)
        latest = max(
            (calls[number] for number in self.latest()), key=lambda call: (call.source, call.number, call.block)
        )
        return (
            self.signature,
            self.tool,
            len(self.errors),
            len({chat for _, chat, _ in self.errors}),
            utc_text(times[0]) if times else None,
            utc_text(times[-1]) if times else None,
            len(tries),
            solved,
            share(solved, len(self.errors)),
            latest.chat_id,
            latest.result_uuid,
            _text(texts, latest)[:LONGEST_EXAMPLE],
        )


class RetryFinder:
    """Decides which calls are retries. Shell commands are read from the transcripts, once each."""

    def __init__(self, texts: Texts, places: Mapping[int, CallPlace]) -> None:
        self._texts = texts
        self._places = places
        self._known: dict[int, str] = {}

    def next_try(self, call: CallStep, following: list[CallStep]) -> str | None:
        """Return the end state of the retry among later calls: `missing` without a result, None without a retry."""
        for other in following:
            if self._kind(other) == self._kind(call):
                return other.state or CallState.MISSING
        return None

    def _kind(self, call: CallStep) -> str:
        if call.id not in self._known:
            place = self._places[call.id]
            is_command = place.target is None and place.tool in SHELL_TOOLS
            self._known[call.id] = self._command_kind(place) if is_command else place.target or ""
        return self._known[call.id]

    def _command_kind(self, call: CallPlace) -> str:
        passage = self._texts.passage(call.source, call.start, call.length, call.block)
        tool_input = value_of(passage.source.input) if passage and isinstance(passage.source, ToolUse) else None
        command = tool_input.get("command") if isinstance(tool_input, dict) else None
        return command_kind(command) if isinstance(command, str) else ""


def errors(library: Library, asked: ReportRequest, limit: int | None = None, tool: str | None = None) -> Report:
    """Return the patterns, the most frequent first; at most `limit`, because each requires reading."""
    patterns: dict[tuple[str, str], ErrorPattern] = {}
    until = microseconds(asked.until)
    others: dict[str, int] = defaultdict(int)
    copies = 0
    reports = calls_about(library, asked, beyond=True)
    for thread in reports.call_threads():
        for at, call in enumerate(thread.steps):
            if call.state == CallState.DONE:
                continue
            if until is not None and (call.time is None or call.time >= until):
                continue
            if tool is not None and call.name != tool:
                continue
            if call.state != CallState.ERROR:
                others[call.state or CallState.MISSING] += 1
                continue
            key = (call.signature or "", call.name)
            pattern = patterns.setdefault(key, ErrorPattern(*key))
            following = [other for other in thread.steps[at + 1 : at + 1 + WITHIN] if other.tool == call.tool]
            pattern.errors.append((call, thread.chat, following))
            copies += call.copies - 1
    ordered = sorted(patterns.values(), key=lambda found: (-len(found.errors), found.signature, found.tool))
    listed = ordered[:limit]
    calls = reports.some_tool_calls(number for pattern in listed for number in pattern.latest())
    places = reports.call_places(number for pattern in listed for number in pattern.calls())
    with library.texts() as texts:
        kinds = RetryFinder(texts, places)
        rows = [pattern.row(calls, texts, kinds) for pattern in listed]
    counted = sum(len(pattern.errors) for pattern in ordered)
    facts = {
        "counted": counted,
        "copies": copies,
        "patterns": len(ordered),
        "denied": others[CallState.DENIED],
        "interrupted": others[CallState.INTERRUPTED],
        "within_calls": WITHIN,
    }
    return Report(COLUMNS, rows, facts, _notes(facts, rows), bar="count")


def _notes(facts: dict[str, int], rows: list[tuple[object, ...]]) -> list[str]:
    notes = [
        (
            f"{count(facts['counted'], 'error')} in {count(facts['patterns'], 'pattern')}; "
            f"{count(facts['copies'], 'copy', 'copies')} not counted again"
        ),
        f"solved: the next call of the same tool on the same file or command succeeded, within {WITHIN} calls",
    ]
    if len(rows) < facts["patterns"]:
        notes.append(f"{count(facts['patterns'] - len(rows), 'more pattern')}: --limit")
    if facts["denied"] or facts["interrupted"]:
        notes.append(
            f"{facts['denied']:,} denied and {facts['interrupted']:,} interrupted calls are not counted as errors"
        )
    return notes


def _text(texts: Texts, call: ToolCallRow) -> str:
    if call.result_source is None or call.result_start is None or call.result_length is None:
        return ""
    return texts.text(call.result_source, call.result_start, call.result_length, call.result_block or 0)
