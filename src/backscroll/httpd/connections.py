"""Connection limits: no client can make the server unreachable for others.

A client must send a complete request in time, and read the response. When there are too many connections, the one that
has waited longest without a complete request is closed to make room for the new one. A real request follows its
connection at once, so it always gets through. Event streams never end, so they may take at most half of the connections
(`most_streams`).

All programs on this machine share one address, so only other machines have a limit per address.
"""

import asyncio
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from backscroll.system import room_for_files

MAX_CONNECTIONS: Final = 4096
FEWEST_CONNECTIONS: Final = 64
RESERVED_FILES: Final = 256
"""File descriptors reserved for the index, the archive and the sessions."""
WANTED_FILES: Final = (65_536, 10_240)
"""Numbers of descriptors to ask for; macOS refuses a value above its limit."""
SPARE: Final = 128
"""Extra connections while all others are busy: surplus streams are about to end."""
MAX_PER_ADDRESS: Final = 128
"""Connections from one other machine: enough for 20 tabs."""
MAX_UNREAD_BYTES: Final = 64 * 1024 * 1024
"""Bytes buffered for clients that do not read."""


class Connections:
    """The open connections of a server."""

    def __init__(
        self,
        most: int | None = None,
        *,
        most_per_address: int = MAX_PER_ADDRESS,
        most_unread: int = MAX_UNREAD_BYTES,
        head_seconds: float = 10.0,
        body_seconds: float = 30.0,
        unread_seconds: float = 30.0,
    ) -> None:
        """Allow `most` connections; by default as many as there are descriptors for, up to `MAX_CONNECTIONS`."""
        self.most = most or room_for_connections()
        self.most_per_address = most_per_address
        self.most_unread = most_unread
        self.seconds: dict[Any, float] = {h11.IDLE: head_seconds, h11.SEND_BODY: body_seconds}
        """Time limits for the head of a request and for its body."""
        self.unread_seconds = unread_seconds
        self._by_address: dict[str, dict[Connection, None]] = {}
        self._count = 0
        self._incomplete: dict[Connection, None] = {}
        self._unread: dict[Connection, None] = {}

    @property
    def most_streams(self) -> int:
        """Number of connections that may be event streams."""
        return self.most // 2

    def limit_for(self, address: str) -> int:
        """Return the number of connections that an address may have."""
        return self.most_per_address if is_other_machine(address) else self.most

    def protocol(self) -> type[asyncio.Protocol]:
        """Return the protocol class for uvicorn."""
        return type("LimitedConnection", (Connection,), {"limits": self})

    def add(self, connection: "Connection") -> None:
        """Add a connection; if there is no room, close an idle one or the new one."""
        mine = self._by_address.setdefault(connection.address, {})
        mine[connection] = None
        self._count += 1
        self._incomplete[connection] = None
        if is_other_machine(connection.address) and len(mine) > self.most_per_address:
            self._close_first(other for other in mine if other in self._incomplete)
        if self._count > self.most:
            others = (other for other in self._incomplete if other is not connection or self._count > self.most + SPARE)
            self._close_first(others)

    def remove(self, connection: "Connection") -> None:
        """Remove a connection; safe to call twice."""
        mine = self._by_address.get(connection.address, {})
        if connection in mine:
            del mine[connection]
            self._count -= 1
            if not mine:
                del self._by_address[connection.address]
        self._incomplete.pop(connection, None)
        self._unread.pop(connection, None)

    def note(self, connection: "Connection", *, is_complete: bool) -> None:
        """Record whether a connection has sent a complete request."""
        if is_complete:
            self._incomplete.pop(connection, None)
        elif connection in self._by_address.get(connection.address, ()):
            self._incomplete.setdefault(connection)

    def note_reading(self, connection: "Connection", *, reads: bool) -> None:
        """Record whether a client reads. If too much is buffered, close the slowest, but never the only one."""
        self._unread.pop(connection, None)
        if reads:
            return
        self._unread[connection] = None
        while len(self._unread) > 1 and sum(client.unread for client in self._unread) > self.most_unread:
            self._close_first(iter(self._unread))

    def _close_first(self, candidates: "Iterator[Connection]") -> None:
        oldest = next(candidates, None)
        if oldest is not None:
            self.remove(oldest)
            oldest.transport.abort()


class Connection(H11Protocol):
    """The connection of one client, with its time limits."""

    limits: Connections
    address: str = ""
    _awaited: object = None
    """State of the client that we wait for to end: a key of `Connections.seconds`, or None."""
    _timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None

    @property
    def unread(self) -> int:
        """Bytes waiting for the client to read."""
        return self.transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the head of a request."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.limits.add(self)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its timers."""
        self.limits.remove(self)
        self._stop_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process incoming bytes of a request."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Wait for a client that does not read, but not forever."""
        super().pause_writing()
        self.limits.note_reading(self, reads=False)
        self._expect_reading(self.unread)

    def resume_writing(self) -> None:
        """Continue, because the client reads again."""
        super().resume_writing()
        self.limits.note_reading(self, reads=True)
        if self._unread_timer is not None:
            self._unread_timer.cancel()

    def _watch(self) -> None:
        """Limit the time until the client sends the next part. More bytes do not extend it."""
        awaited = self.conn.their_state if self.conn.their_state in self.limits.seconds else None
        self.limits.note(self, is_complete=awaited is None)
        if awaited is h11.IDLE and self.timeout_keep_alive_task is not None:
            awaited = None  # between two requests, uvicorn has its own timeout
        if awaited is self._awaited and self._timer is not None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._awaited = awaited
        seconds = self.limits.seconds.get(awaited)
        self._timer = self.loop.call_later(seconds, self.transport.abort) if seconds is not None else None

    def _expect_reading(self, unread: int) -> None:
        """Close the connection unless the client reads something in time."""
        if self._unread_timer is not None:
            self._unread_timer.cancel()

        def check() -> None:
            if self.unread >= unread:
                self.transport.abort()
            else:
                self._expect_reading(self.unread)

        self._unread_timer = self.loop.call_later(self.limits.unread_seconds, check)

    def _stop_timers(self) -> None:
        for timer in (self._timer, self._unread_timer):
            if timer is not None:
                timer.cancel()


def room_for_connections() -> int:
    """Return the number of connections that the file descriptors allow, after raising the limit if possible."""
    files = room_for_files(WANTED_FILES)
    if files is None:
        return MAX_CONNECTIONS
    return max(FEWEST_CONNECTIONS, min(MAX_CONNECTIONS, files - RESERVED_FILES))


def is_other_machine(address: str) -> bool:
    """Whether a client is on another machine."""
    try:
        return not ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
