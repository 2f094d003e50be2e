"""Tool calls for reports: each once, with its end state, in the order of its conversation."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import groupby
from typing import Final

from backscroll.conversation.messages import CallState
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.library import Library
from backscroll.store.batches import EPOCH, microseconds
from backscroll.store.reports import Reports
from backscroll.store.tool_call_rows import ToolCallRow

ANSWERED: Final = frozenset({CallState.DONE, CallState.ERROR})
"""The end states of a call that ran; a denied or interrupted call did not run, or not to its end."""
FAILED: Final = frozenset({CallState.ERROR, CallState.DENIED})


def calls_about(library: Library, asked: ReportRequest, *, beyond: bool = False) -> Reports:
    """Return the store's data about calls, to the microsecond; with `beyond` also calls after the period."""
    until = None if beyond else microseconds(asked.until)
    return library.reader.reports(asked.query, since=microseconds(asked.since), until=until)


def threads_of(calls: Iterable[ToolCallRow]) -> Iterator[list[ToolCallRow]]:
    """Yield the calls of each conversation."""
    for _, thread in groupby(calls, key=lambda call: call.thread):
        yield list(thread)


def utc_text(time: int | None) -> str | None:
    """Format a time of the store for programs: ISO 8601, UTC."""
    if time is None:
        return None
    return (EPOCH + timedelta(microseconds=time)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def server_of(tool: str | None) -> str | None:
    """Return the MCP server in a tool name `mcp__SERVER__TOOL`."""
    parts = (tool or "").split("__")
    return parts[1] if len(parts) > 2 and parts[0] == "mcp" else None
