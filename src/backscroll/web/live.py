"""What is happening now: follows the homes, and tells every open page which chats changed.

Nothing is queued for a page. A stream only says which chats are others since the last it said; what is new in them the
page asks for itself. So a slow reader delays nobody and costs nothing.
"""

import asyncio
import secrets
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from backscroll.errors import BackscrollError, Busy
from backscroll.library import WATCHING, Library, follow, observe
from backscroll.web.desk import Desk

HEARTBEAT_SECONDS: Final = 15.0
TRY_AGAIN_SECONDS: Final = 15.0
MOST_CHATS: Final = 10_000
"""Of how many chats is remembered when they changed; who was away for longer asks anew."""
EPOCH: Final = secrets.token_hex(4)


class News:
    """Which chats changed, in the order that they did. Written by one thread, read by many streams."""

    def __init__(self) -> None:
        self.number = 0
        self.progress: dict[str, object] | None = None
        self.is_over = False
        self._forgotten = 0
        self._changed: OrderedDict[str, int] = OrderedDict()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken = asyncio.Event()

    def attach(self) -> None:
        """Wake streams in this loop from now on."""
        self._loop = asyncio.get_running_loop()

    def tell(self, chats: Sequence[str]) -> None:
        """These chats changed. From any thread."""
        self._in_loop(lambda: self._note(chats))

    def tell_progress(self, progress: dict[str, object] | None) -> None:
        """So far has come what is being done. From any thread."""
        self._in_loop(lambda: self._note_progress(progress))

    def end(self) -> None:
        """There will be no more."""
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
        """Until there is something new, or so long."""
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

    def _wake(self) -> None:
        woken, self._woken = self._woken, asyncio.Event()
        woken.set()

    def _in_loop(self, run: Callable[[], None]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(run)


class Live:
    """The thread that follows the homes, for as long as the server runs."""

    def __init__(self, desk: Desk) -> None:
        self.news = News()
        self._desk = desk
        self._stop = threading.Event()
        self._pause = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin; called in the loop of the server."""
        self.news.attach()
        self._thread = threading.Thread(target=self._run, name="follow", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and wait until what is being written is written."""
        self._stop.set()
        self._pause.set()
        self.news.end()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with Library(self._desk.settings, self._desk.homes) as library:
                    self._follow(library)
            except Busy:  # another process keeps the library up to date: we only look
                self._observe()
            except (BackscrollError, OSError) as error:
                self.news.tell_progress({"what": "stopped", "reason": str(error)})
                self._stop.wait(TRY_AGAIN_SECONDS)

    def _follow(self, library: Library) -> None:
        rounds = follow(library, self._stop, _Told(self.news))
        for followed in rounds:
            self._tell(followed.paths)

    def _observe(self) -> None:
        self.news.tell_progress(None)
        self._pause.clear()
        if self._stop.is_set():
            return
        timer = threading.Timer(TRY_AGAIN_SECONDS, self._pause.set)
        timer.start()
        try:
            with Library(self._desk.settings, self._desk.homes) as library:
                for followed in observe(library, self._pause):
                    self._tell(followed.paths)
        except (BackscrollError, OSError):
            self._stop.wait(1)
        finally:
            timer.cancel()

    def _tell(self, paths: Sequence[Path]) -> None:
        with self._desk.library() as library:
            chats = self._desk.browser.take(library, paths)
        if chats:
            self.news.tell(chats)


class _Told:
    """Passes on how far an update has come, seldom enough to be read."""

    STEPS: Final = 200

    def __init__(self, news: News) -> None:
        self._news = news
        self._what, self._done, self._total, self._said = "", 0, 1, 0

    def begin(self, what: str, total: int, unit: str = "bytes") -> None:
        """Something new begins."""
        if what == WATCHING:
            self._news.tell_progress(None)
            return
        self._what, self._unit = what, unit
        self._done, self._total, self._said = 0, max(1, total), 0
        self._say()

    def add(self, count: int) -> None:
        """So much more is done."""
        self._done += count
        step = self._done * self.STEPS // self._total
        if step != self._said:
            self._said = step
            self._say()

    def _say(self) -> None:
        self._news.tell_progress({"what": self._what, "done": self._done, "total": self._total, "unit": self._unit})


async def events(request: Request) -> Response:
    """The stream: which chats changed, and how far an update has come."""
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
    while not news.is_over:
        chats, before = news.since(told), told
        told = news.number
        if chats is None:
            yield _event("hello", told, {"again": True})
        elif chats:
            yield _event("changed", told, {"chats": chats})
        elif news.progress != progress:
            progress = news.progress
            yield _event("progress", told, progress or {"what": "done"})
        elif told == before:
            await news.wait(HEARTBEAT_SECONDS)
            if news.number == told and news.progress == progress and not news.is_over:
                yield b": \n\n"


def _event(name: str, number: int, data: dict[str, object]) -> bytes:
    return b"event: %b\nid: %b-%d\ndata: %b\n\n" % (name.encode(), EPOCH.encode(), number, msgspec.json.encode(data))
