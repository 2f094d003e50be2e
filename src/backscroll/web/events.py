"""The event stream: tells open pages which chats changed.

There are no queues. A stream sends the chats that changed since its last event, and the page then fetches the changes.
So a slow reader delays no other and takes no memory.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from backscroll.httpd.connections import Connections

HEARTBEAT_SECONDS: Final = 15.0
MAX_CHATS: Final = 10_000
"""Number of changed chats remembered; a page that missed more reloads everything."""
FEED: Final = "backscroll.feed"
"""Key in the scope of a request under which a team server puts the feed of the asker."""
STILL_ALLOWED: Final = "backscroll.still-allowed"
"""Key in the scope of a function that says whether the asker may still read: a session or a key may end before its
stream."""


class FollowFailure(NamedTuple):
    """The reason why live updates stopped, and the seconds until the next try."""

    reason: str
    seconds: int


class Subscriber:
    """An open page that listens to the stream."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_over = False
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Wake the page's stream: there is an event to send."""
        self._woken.set()

    def end(self) -> None:
        """End the stream; the browser reconnects and gets what it missed."""
        self.is_over = True
        self.wake()

    def look(self) -> None:
        """Mark everything up to now as seen."""
        self._woken.clear()

    async def wait(self, seconds: float) -> None:
        """Wait for something new, at most `seconds`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)


class ChangeFeed:
    """The changed chats, in order. One thread writes, many streams read."""

    def __init__(self, connections: Connections) -> None:
        self.streams: dict[Subscriber, None] = {}
        """Open streams, the oldest first."""
        self._connections = connections
        self.epoch = secrets.token_hex(4)
        """Random id of this feed: numbers of another feed, from before a restart or of a closed viewer, mean nothing
        here."""
        self.number = 0
        self.progress: dict[str, object] | None = None
        self.trouble: FollowFailure | None = None
        self.is_over = False
        self._forgotten = 0
        self._changed: OrderedDict[str, int] = OrderedDict()
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Use this event loop, or the running one, to wake streams."""
        self._loop = loop or asyncio.get_running_loop()

    def tell(self, chats: Sequence[str]) -> None:
        """Announce changed chats. From any thread."""
        self._in_loop(lambda: self._note(chats))

    def tell_nothing(self) -> None:
        """Record a change that nobody listens to: a page that comes back reloads everything. From any thread."""
        self._in_loop(self._forget)

    def tell_progress(self, progress: dict[str, object] | None) -> None:
        """Announce the progress of an update; None if none runs. From any thread."""
        self._in_loop(lambda: self._note_progress(progress))

    def tell_trouble(self, trouble: FollowFailure | None) -> None:
        """Announce that live updates stopped, or resumed: then every page reloads. From any thread."""
        self._in_loop(lambda: self._note_trouble(trouble))

    def end(self) -> None:
        """End all streams of this feed."""
        self.is_over = True
        self._in_loop(self._wake)

    def since(self, number: int) -> list[str] | None:
        """Return the chats that changed since `number`; None if that is too long ago."""
        if number < self._forgotten:
            return None
        changed = []
        for chat in reversed(self._changed):
            if self._changed[chat] <= number:
                break
            changed.append(chat)
        return changed

    def add(self, stream: Subscriber) -> None:
        """Add a stream. Streams may take half of the connections; beyond that the oldest stream ends."""
        self.streams[stream] = None
        near = [other for other in self.streams if other.address == stream.address]
        if len(near) > self._connections.limit_for(stream.address) // 2:
            near[0].end()
            del self.streams[near[0]]
        elif len(self.streams) > self._connections.most_streams:
            oldest = next(iter(self.streams))
            oldest.end()
            del self.streams[oldest]

    def remove(self, stream: Subscriber) -> None:
        """Remove a stream that ended."""
        self.streams.pop(stream, None)

    def _note(self, chats: Sequence[str]) -> None:
        self.number += 1
        for chat in chats:
            self._changed.pop(chat, None)
            self._changed[chat] = self.number
        while len(self._changed) > MAX_CHATS:
            self._forgotten = self._changed.popitem(last=False)[1]
        self._wake()

    def _note_progress(self, progress: dict[str, object] | None) -> None:
        self.progress = progress
        self._wake()

    def _note_trouble(self, trouble: FollowFailure | None) -> None:
        if trouble is None and self.trouble is not None:
            self._forget()  # changes in between were not recorded
        self.trouble = trouble
        self._wake()

    def _forget(self) -> None:
        self.number += 1
        self._forgotten = self.number
        self._wake()

    def _wake(self) -> None:
        for stream in self.streams:
            stream.wake()

    def _in_loop(self, run: Callable[[], None]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(run)


class EventStream(StreamingResponse):
    """A response that counts as a stream while it lasts."""

    def __init__(
        self, feed: ChangeFeed, stream: Subscriber, last: str, still_allowed: Callable[[], bool] | None = None
    ) -> None:
        super().__init__(_events(feed, stream, last, still_allowed), media_type="text/event-stream")
        self.headers["cache-control"] = "no-store"
        self.headers["connection"] = "close"  # frees the connection when it ends
        self._feed, self._stream = feed, stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the stream ends."""
        self._feed.add(self._stream)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feed.remove(self._stream)


async def events(request: Request) -> Response:
    """Return the stream of events: changed chats, progress of an update, and failures."""
    feed: ChangeFeed = request.scope.get(FEED) or request.app.state.live.feed
    last = request.headers.get("last-event-id") or request.query_params.get("since", "")
    stream = Subscriber(request.client.host if request.client else "")
    return EventStream(feed, stream, last, request.scope.get(STILL_ALLOWED))


async def _events(
    feed: ChangeFeed, stream: Subscriber, last: str, still_allowed: Callable[[], bool] | None
) -> AsyncIterator[bytes]:
    epoch, _, number = last.partition("-")
    sent = int(number) if epoch == feed.epoch and number.isascii() and number.isdecimal() and len(number) < 16 else -1
    if sent < 0:
        sent = feed.number
        yield _event(feed, "hello", sent, {"again": bool(last)})
    progress: dict[str, object] | None = None
    trouble: FollowFailure | None = None
    while not feed.is_over and not stream.is_over:
        if still_allowed is not None and not await run_in_threadpool(still_allowed):
            return
        stream.look()
        chats, before = feed.since(sent), sent
        sent = feed.number
        if chats is None:
            yield _event(feed, "hello", sent, {"again": True})
        elif chats:
            yield _event(feed, "changed", sent, {"chats": chats})
        elif feed.trouble != trouble:
            trouble = feed.trouble
            yield _event(feed, "trouble", sent, trouble._asdict() if trouble else {})
        elif feed.progress != progress:
            progress = feed.progress
            yield _event(feed, "progress", sent, progress or {"what": "done"})
        elif sent == before:
            await stream.wait(HEARTBEAT_SECONDS)
            if (feed.number, feed.progress, feed.trouble) == (sent, progress, trouble) and not feed.is_over:
                yield b": \n\n"


def _event(feed: ChangeFeed, name: str, number: int, data: dict[str, object]) -> bytes:
    body = msgspec.json.encode(data)
    return b"event: %b\nid: %b-%d\ndata: %b\n\n" % (name.encode(), feed.epoch.encode(), number, body)
