"""Which chats changed, for every page that listens: the event stream, without a queue for anyone.

A stream says which chats have changed since it last spoke; the page then asks for the changes itself. So a slow reader
delays no other and costs no memory.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

HEARTBEAT_SECONDS: Final = 15.0
MOST_CHATS: Final = 10_000
"""How many changed chats are remembered; a page that missed more than that looks at everything again."""
EPOCH: Final = secrets.token_hex(4)


class Trouble(NamedTuple):
    """Why nothing is followed at the moment, and when it is tried again."""

    reason: str
    seconds: int


class News:
    """Which chats changed, in order. Written by one thread, read by many streams."""

    def __init__(self) -> None:
        self.number = 0
        self.progress: dict[str, object] | None = None
        self.trouble: Trouble | None = None
        self.is_over = False
        self._forgotten = 0
        self._changed: OrderedDict[str, int] = OrderedDict()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken = asyncio.Event()

    def attach(self) -> None:
        """Wake streams in this loop from now on."""
        self._loop = asyncio.get_running_loop()

    def tell(self, chats: Sequence[str]) -> None:
        """Say that these chats changed. From any thread."""
        self._in_loop(lambda: self._note(chats))

    def tell_progress(self, progress: dict[str, object] | None) -> None:
        """Say how far an update has come; None when there is none. From any thread."""
        self._in_loop(lambda: self._note_progress(progress))

    def tell_trouble(self, trouble: Trouble | None) -> None:
        """Say that following stopped, or that it goes on: then every page looks for what it missed. From any thread."""
        self._in_loop(lambda: self._note_trouble(trouble))

    def end(self) -> None:
        """End all streams."""
        self.is_over = True
        self._in_loop(self._wake)

    def since(self, number: int) -> list[str] | None:
        """The chats that changed since; None if that was too long ago to know."""
        if number < self._forgotten:
            return None
        found = []
        for chat in reversed(self._changed):
            if self._changed[chat] <= number:
                break
            found.append(chat)
        return found

    async def wait(self, seconds: float) -> None:
        """Wait for something new, at most this long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)

    def _note(self, chats: Sequence[str]) -> None:
        self.number += 1
        for chat in chats:
            self._changed.pop(chat, None)
            self._changed[chat] = self.number
        while len(self._changed) > MOST_CHATS:
            self._forgotten = self._changed.popitem(last=False)[1]
        self._wake()

    def _note_progress(self, progress: dict[str, object] | None) -> None:
        self.progress = progress
        self._wake()

    def _note_trouble(self, trouble: Trouble | None) -> None:
        if trouble is None and self.trouble is not None:
            self.number += 1
            self._forgotten = self.number  # what changed meanwhile was not noted
        self.trouble = trouble
        self._wake()

    def _wake(self) -> None:
        woken, self._woken = self._woken, asyncio.Event()
        woken.set()

    def _in_loop(self, run: Callable[[], None]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(run)


async def events(request: Request) -> Response:
    """The stream: which chats changed, how far an update has come, and whether anything is wrong."""
    news: News = request.app.state.live.news
    last = request.headers.get("last-event-id") or request.query_params.get("since", "")
    return StreamingResponse(_events(news, last), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _events(news: News, last: str) -> AsyncIterator[bytes]:
    epoch, _, number = last.partition("-")
    told = int(number) if epoch == EPOCH and number.isascii() and number.isdecimal() and len(number) < 16 else -1
    if told < 0:
        told = news.number
        yield _event("hello", told, {"again": bool(last)})
    progress: dict[str, object] | None = None
    trouble: Trouble | None = None
    while not news.is_over:
        chats, before = news.since(told), told
        told = news.number
        if chats is None:
            yield _event("hello", told, {"again": True})
        elif chats:
            yield _event("changed", told, {"chats": chats})
        elif news.trouble != trouble:
            trouble = news.trouble
            yield _event("trouble", told, trouble._asdict() if trouble else {})
        elif news.progress != progress:
            progress = news.progress
            yield _event("progress", told, progress or {"what": "done"})
        elif told == before:
            await news.wait(HEARTBEAT_SECONDS)
            if (news.number, news.progress, news.trouble) == (told, progress, trouble) and not news.is_over:
                yield b": \n\n"


def _event(name: str, number: int, data: dict[str, object]) -> bytes:
    return b"event: %b\nid: %b-%d\ndata: %b\n\n" % (name.encode(), EPOCH.encode(), number, msgspec.json.encode(data))
