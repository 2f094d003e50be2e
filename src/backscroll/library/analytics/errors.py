"""Recurring errors: tool errors by pattern, and how often the retry succeeded.

A *retry* is the next call of the same tool on the same thing, within the next `WITHIN` calls of the same conversation:
the same file for a tool that reads or changes one, the same program and subcommand for a shell command, and any call
for other tools. The error counts as solved if that call succeeded. It is unknown whether the call was made because of
the error, or whether the error was solved in another way.
"""

from collections import defaultdict
from typing import Final

from backscroll.conversation.messages import CallState
from backscroll.conversation.signatures import command_kind
from backscroll.library.analytics.calls import calls_of, threads_of, told
from backscroll.library.analytics.reports import Report, ReportRequest, share
from backscroll.library.analytics.wording import count
from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.records.content import ToolUse
from backscroll.records.decode import value_of
from backscroll.records.tools import SHELL_TOOLS
from backscroll.store.batches import microseconds
from backscroll.store.report_rows import ToolCallRow

WITHIN: Final = 10
"""How many calls after an error are checked."""
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
    """The errors of one tool with one signature, each with the calls that follow it."""

    def __init__(self, signature: str, tool: str) -> None:
        self.signature = signature
        self.tool = tool
        self.errors: list[tuple[ToolCallRow, list[ToolCallRow]]] = []

    def row(self, texts: Texts, kinds: "RetryFinder") -> tuple[object, ...]:
        """Its row in the report; the example is the latest error."""
        calls = [call for call, _ in self.errors]
        times = sorted(call.time for call in calls if call.time is not None)
        tries = [state for call, following in self.errors if (state := kinds.next_try(call, following)) is not None]
        solved = tries.count(CallState.DONE)
        latest = max(calls, key=lambda call: (call.time or 0, call.source, call.number, call.block))
        return (
            self.signature,
            self.tool,
            len(calls),
            len({call.chat for call in calls}),
            told(times[0]) if times else None,
            told(times[-1]) if times else None,
            len(tries),
            solved,
            share(solved, len(calls)),
            latest.chat_id,
            latest.result_uuid,
            _text(texts, latest)[:LONGEST_EXAMPLE],
        )


class RetryFinder:
    """Decides which calls are retries. Shell commands are read from the transcripts, once each."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._known: dict[tuple[int, int, int], str] = {}

    def next_try(self, call: ToolCallRow, following: list[ToolCallRow]) -> str | None:
        """How the retry ended: `missing` without a result, None if there was no retry."""
        wanted = None
        for other in following:
            if other.tool != call.tool:
                continue
            wanted = wanted if wanted is not None else self._kind(call)
            if self._kind(other) == wanted:
                return other.state or CallState.MISSING
        return None

    def _kind(self, call: ToolCallRow) -> str:
        if call.target is not None or call.tool not in SHELL_TOOLS:
            return call.target or ""
        key = (call.file, call.number, call.block)
        if key not in self._known:
            self._known[key] = self._command_kind(call)
        return self._known[key]

    def _command_kind(self, call: ToolCallRow) -> str:
        passage = self._texts.passage(call.source, call.start, call.length, call.block)
        given = value_of(passage.source.input) if passage and isinstance(passage.source, ToolUse) else None
        command = given.get("command") if isinstance(given, dict) else None
        return command_kind(command) if isinstance(command, str) else ""


def errors(library: Library, asked: ReportRequest, limit: int | None = None, tool: str | None = None) -> Report:
    """The patterns, the most frequent first; at most `limit`, because each requires reading."""
    patterns: dict[tuple[str, str], ErrorPattern] = {}
    until = microseconds(asked.until)
    others: dict[str, int] = defaultdict(int)
    copies = 0
    for thread in threads_of(calls_of(library, asked, beyond=True)):
        for at, call in enumerate(thread):
            if until is not None and (call.time is None or call.time >= until):
                continue
            if tool is not None and call.name != tool:
                continue
            if call.state != CallState.ERROR:
                others[call.state or CallState.MISSING] += 1
                continue
            key = (call.signature or "", call.name)
            pattern = patterns.setdefault(key, ErrorPattern(*key))
            pattern.errors.append((call, thread[at + 1 : at + 1 + WITHIN]))
            copies += call.copies - 1
    ordered = sorted(patterns.values(), key=lambda found: (-len(found.errors), found.signature, found.tool))
    texts = library.texts()
    try:
        kinds = RetryFinder(texts)
        rows = [pattern.row(texts, kinds) for pattern in ordered[:limit]]
    finally:
        texts.close()
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
