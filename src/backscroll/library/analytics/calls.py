"""Tool calls as reports count them: each once, with how it ended, in the order of the conversation they belong to."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import groupby
from typing import Any, Final, NamedTuple

from backscroll.conversation import CallState
from backscroll.library.analytics.reports import Asked
from backscroll.library.library import Library
from backscroll.store import EPOCH, microseconds

ANSWERED: Final = frozenset({CallState.DONE, CallState.ERROR})
"""How a call ends that was carried out; one that was denied or interrupted was not, or not to its end."""
FAILED: Final = frozenset({CallState.ERROR, CallState.DENIED})


class Call(NamedTuple):
    """A call with its result, as the store's statement has them."""

    file: int
    sidechain: int
    number: int
    block: int
    chat: int
    chat_id: str | None
    session: str | None
    agent: str | None
    project: str | None
    started: int | None
    path: str
    start: int
    length: int
    time: int | None
    uuid: str | None
    model: str | None
    tool: str | None
    target: str | None
    """The file that it reads or changes, where the tool is one of those that do."""
    size: int | None
    digest: int | None
    copies: int
    state: str | None
    """None where there is no result."""
    result_size: int | None
    signature: str | None
    result_block: int | None
    result_time: int | None
    result_uuid: str | None
    result_start: int | None
    result_length: int | None
    result_path: str | None

    @property
    def name(self) -> str:
        """The tool."""
        return self.tool or "-"

    @property
    def thread(self) -> tuple[Any, ...]:
        """The conversation that it is a step of: that of the chat, or of one agent."""
        return (self.chat, self.agent, self.sidechain)


def calls_of(library: Library, asked: Asked, *, beyond: bool = False) -> list[Call]:
    """The calls, thread by thread, in their order; with `beyond` also those after the time that is asked about."""
    until = None if beyond else microseconds(asked.until)
    rows = library.store.report("calls", asked.query, library.scope, since=microseconds(asked.since), until=until)
    return [Call(*row) for row in rows]


def threads_of(calls: Iterable[Call]) -> Iterator[list[Call]]:
    """The calls of each conversation."""
    for _, thread in groupby(calls, key=lambda call: call.thread):
        yield list(thread)


def told(time: int | None) -> str | None:
    """A moment as programs read it."""
    if time is None:
        return None
    return (EPOCH + timedelta(microseconds=time)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def server_of(tool: str | None) -> str | None:
    """The MCP server of a tool, as the client writes it: `mcp__SERVER__TOOL`."""
    parts = (tool or "").split("__")
    return parts[1] if len(parts) > 2 and parts[0] == "mcp" else None
