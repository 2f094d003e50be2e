"""Live updates survive whatever ends the thread that follows: pages are told why, and nothing is missed."""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from backscroll.library.indexing.follow import Followed, follow
from backscroll.web import live_updates
from backscroll.web.server import StartedViewer
from tests.journeys.writer import JourneyWriter
from tests.library.support import Shelf
from tests.web.served import ask, serving

GUARD = 300
"""How long a test waits for something that should come, before it counts as never coming."""
BLOCKS = 16_000
"""In one line. When each was looked for among all others, this took minutes."""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.fixture
def writer(shelf: Shelf) -> JourneyWriter:
    writer = JourneyWriter(shelf, "living")
    writer.turn("the first question")
    writer.flush()
    shelf.update()
    return writer


class Stream:
    """The notices of a server, one after the other."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer
        self._guard = time.monotonic() + GUARD  # heartbeats come for ever

    def next(self) -> tuple[str, dict[str, Any]]:
        """The next notice; a heartbeat has no name."""
        lines = []
        while line := self._answer.readline().strip().decode():
            lines.append(line)
        assert lines, "the stream ended"
        assert time.monotonic() < self._guard, "what should come does not come"
        fields = dict(line.split(": ", 1) for line in lines if not line.startswith(":"))
        return fields.get("event", ""), json.loads(fields.get("data", "{}"))

    def until(self, name: str, again: Callable[[], object] = lambda: None) -> dict[str, Any]:
        """The data of the next notice of this name.

        `again` is done with every heartbeat: what was written before the server began to follow is no news to it.
        """
        while True:
            found, data = self.next()
            if found == name:
                return data
            if not found:
                again()


@contextmanager
def listening(served: StartedViewer) -> Iterator[Stream]:
    connection = http.client.HTTPConnection("127.0.0.1", served.running.port, timeout=GUARD)
    try:
        connection.request("GET", "/api/v1/events")
        yield Stream(connection.getresponse())
    finally:
        connection.close()


def changed(served: StartedViewer, stream: Stream, writer: JourneyWriter, text: str) -> None:
    """Append something, and ask for it each time that the chat is said to have changed."""

    def write() -> None:
        writer.turn(text)
        writer.flush()

    write()
    while writer.chat not in stream.until("changed", write)["chats"] or text not in last_messages(served, writer):
        pass


def last_messages(served: StartedViewer, writer: JourneyWriter) -> str:
    return ask(served, f"/api/v1/chats/{writer.chat}/messages?limit=200").body.decode()


@pytest.mark.parametrize("error", [RuntimeError("out of luck"), OSError(28, "No space left on device")])
def test_an_error_while_following_is_reported_and_following_continues(
    shelf: Shelf,
    writer: JourneyWriter,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    left = [error]

    def failing_once(*arguments: Any, **options: Any) -> Iterator[Followed]:  # noqa: ANN401
        for followed in follow(*arguments, **options):
            if left:
                raise left.pop()
            yield followed

    monkeypatch.setattr(live_updates, "follow", failing_once)
    with serving(shelf, follows=True) as served, listening(served) as stream:
        assert "the first question" in last_messages(served, writer)  # the chat is open
        stream.until("hello")

        def write() -> None:
            writer.turn("lost with the error")
            writer.flush()

        write()
        trouble = stream.until("trouble", write)
        assert str(error) in trouble["reason"]
        assert trouble["seconds"] == live_updates.FIRST_WAIT
        assert stream.until("hello") == {"again": True}
        assert stream.until("trouble") == {}
        assert "lost with the error" in last_messages(served, writer)
        changed(served, stream, writer, "after the error")
    assert "live updates stopped" in caplog.text


def test_a_new_page_is_told_why_nothing_is_followed(
    shelf: Shelf, writer: JourneyWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    del writer

    def failing(*_: object, **_options: object) -> Iterator[Followed]:
        raise RuntimeError("never again")

    monkeypatch.setattr(live_updates, "follow", failing)
    monkeypatch.setattr(live_updates, "FIRST_WAIT", 600.0)
    with serving(shelf, follows=True) as served:
        for _ in range(2):
            with listening(served) as stream:
                assert "never again" in stream.until("trouble")["reason"]


def test_an_index_damaged_while_following_is_rebuilt_and_following_continues(
    shelf: Shelf, writer: JourneyWriter
) -> None:
    with serving(shelf, follows=True) as served, listening(served) as stream:
        stream.until("hello")
        changed(served, stream, writer, "all is well")
        for path in shelf.index.rglob("*.sqlite"):
            with path.open("r+b") as file:
                file.truncate(path.stat().st_size // 2)
                file.write(b"\xa5" * 65_536)
        writer.turn("into the damage")
        writer.flush()
        while not found(served, "damage"):
            stream.next()
        changed(served, stream, writer, "afterwards")


def test_a_line_of_very_many_blocks_holds_up_no_other_chat(shelf: Shelf, writer: JourneyWriter) -> None:
    other = JourneyWriter(shelf, "crowded")
    other.turn("a small beginning")
    other.flush()
    shelf.update()
    with serving(shelf, follows=True) as served, listening(served) as stream:
        stream.until("hello")
        assert "the first question" in last_messages(served, writer)  # both chats are open
        assert "a small beginning" in last_messages(served, other)
        other.ask_in_blocks(f"part {number}" for number in range(BLOCKS))
        other.flush()
        changed(served, stream, writer, "small and urgent")
        while f"part {BLOCKS - 1}" not in last_messages(served, other):
            stream.next()
        page = ask(served, f"/chats/{other.chat}")
        assert page.status == 200
        assert "part 0" in page.body.decode()  # of such a long prompt, the beginning


def found(served: StartedViewer, word: str) -> bool:
    answer = ask(served, f"/api/v1/search?q={word}")
    return answer.status == 200 and bool(answer.json["chats"])
