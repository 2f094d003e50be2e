"""How many may be connected, and for how long: no client can make the server unreachable for the others.

Whoever connects must send a whole request in time, and read the answer. Where there are too many connections, the one
that has waited longest without a whole request is closed for the new one, so that a real request is always taken: it
comes right after its connection. Streams go on for ever, so they may only take half of the room (`most_streams`).

All programs on this machine have the same address, so only other machines have a limit of their own.
"""

import asyncio
import resource
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS: Final = 4096
FEWEST_CONNECTIONS: Final = 64
RESERVED_FILES: Final = 256
"""File descriptors that are left for the index, the archive and the sessions."""
WANTED_FILES: Final = (65_536, 10_240)
"""How many descriptors we ask the system for; macOS refuses more than it can have."""
SPARE: Final = 128
"""Connections beyond the limit while all others are being answered: streams that are too many are just about to end."""
MOST_PER_ADDRESS: Final = 128
"""Connections from one other machine: enough for 20 tabs."""
MOST_UNREAD: Final = 64 * 1024 * 1024
"""Bytes that are held for clients that do not read."""


class Connections:
    """Everything that is connected to a server."""

    def __init__(
        self,
        most: int | None = None,
        *,
        most_per_address: int = MOST_PER_ADDRESS,
        most_unread: int = MOST_UNREAD,
        head_seconds: float = 10.0,
        body_seconds: float = 30.0,
        unread_seconds: float = 30.0,
    ) -> None:
        """Without `most`, as many as the system has descriptors for, up to a limit of our own."""
        self.most = most or room_for_connections()
        self.most_per_address = most_per_address
        self.most_unread = most_unread
        self.seconds: dict[Any, float] = {h11.IDLE: head_seconds, h11.SEND_BODY: body_seconds}
        """How long a client may take for the head of a request, and for its body."""
        self.unread_seconds = unread_seconds
        self._by_address: dict[str, dict[Connection, None]] = {}
        self._count = 0
        self._incomplete: dict[Connection, None] = {}
        self._unread: dict[Connection, None] = {}

    @property
    def most_streams(self) -> int:
        """How many of them may be streams."""
        return self.most // 2

    def limit_for(self, address: str) -> int:
        """How many may come from one address."""
        return self.most_per_address if is_other_machine(address) else self.most

    def protocol(self) -> type[asyncio.Protocol]:
        """The class whose objects talk to one client each, for uvicorn."""
        return type("LimitedConnection", (Connection,), {"limits": self})

    def add(self, connection: "Connection") -> None:
        """Take a new connection; where there is no room, another is closed for it, or it is."""
        mine = self._by_address.setdefault(connection.address, {})
        mine[connection] = None
        self._count += 1
        self._incomplete[connection] = None
        if is_other_machine(connection.address) and len(mine) > self.most_per_address:
            self._close_first(one for one in mine if one in self._incomplete)
        if self._count > self.most:
            others = (one for one in self._incomplete if one is not connection or self._count > self.most + SPARE)
            self._close_first(others)

    def remove(self, connection: "Connection") -> None:
        """Forget a connection; twice is once."""
        mine = self._by_address.get(connection.address, {})
        if connection in mine:
            del mine[connection]
            self._count -= 1
            if not mine:
                del self._by_address[connection.address]
        self._incomplete.pop(connection, None)
        self._unread.pop(connection, None)

    def note(self, connection: "Connection", *, is_complete: bool) -> None:
        """Whether a connection has sent a whole request that is being answered."""
        if is_complete:
            self._incomplete.pop(connection, None)
        elif connection in self._by_address.get(connection.address, ()):
            self._incomplete.setdefault(connection)

    def note_reading(self, connection: "Connection", *, reads: bool) -> None:
        """Whether a client takes what it is sent. Where too much waits, the slowest is closed, never the only one."""
        self._unread.pop(connection, None)
        if reads:
            return
        self._unread[connection] = None
        while len(self._unread) > 1 and sum(one.unread for one in self._unread) > self.most_unread:
            self._close_first(iter(self._unread))

    def _close_first(self, candidates: "Iterator[Connection]") -> None:
        found = next(candidates, None)
        if found is not None:
            self.remove(found)
            found.transport.abort()


class Connection(H11Protocol):
    """One client."""

    limits: Connections
    address: str = ""
    _awaited: object = None
    """What the client has yet to send: a key of `Connections.seconds`, or None."""
    _timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None

    @property
    def unread(self) -> int:
        """The bytes that wait until the client reads."""
        return self.transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin: the head of a request must come now."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.limits.add(self)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.limits.remove(self)
        self._stop_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Go on to the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Wait for a client that does not read; not for ever."""
        super().pause_writing()
        self.limits.note_reading(self, reads=False)
        self._expect_reading(self.unread)

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        super().resume_writing()
        self.limits.note_reading(self, reads=True)
        if self._unread_timer is not None:
            self._unread_timer.cancel()

    def _watch(self) -> None:
        """Give the client its time for what it has yet to send. More bytes of the same do not give it more."""
        awaited = self.conn.their_state if self.conn.their_state in self.limits.seconds else None
        self.limits.note(self, is_complete=awaited is None)
        if awaited is h11.IDLE and self.timeout_keep_alive_task is not None:
            awaited = None  # between two requests: uvicorn closes it soon
        if awaited is self._awaited and self._timer is not None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._awaited = awaited
        seconds = self.limits.seconds.get(awaited)
        self._timer = self.loop.call_later(seconds, self.transport.abort) if seconds is not None else None

    def _expect_reading(self, unread: int) -> None:
        """Close the connection unless it has less to read in a while."""
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
    """How many connections there are descriptors for, after asking the system for as many as we want."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in WANTED_FILES:
        if soft != resource.RLIM_INFINITY and soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (max(most, soft), hard))
                break
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(FEWEST_CONNECTIONS, min(MOST_CONNECTIONS, soft - RESERVED_FILES))


def is_other_machine(address: str) -> bool:
    """Whether a client is on another machine."""
    try:
        return not ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
