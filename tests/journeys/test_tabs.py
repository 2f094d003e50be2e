"""Many readers at once: tabs of one browser, and hundreds of streams, some of which are never read."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from backscroll.web.events import ChangeFeed
from backscroll.web.server import StartedViewer
from tests.journeys.streams import StreamClient
from tests.journeys.visitor import Site, Visitor, ids_of
from tests.journeys.writer import JourneyWriter
from tests.library.support import Shelf
from tests.support.coroutines import run_coroutine
from tests.support.samples import TRY_ALL
from tests.web.served import ask, serving

CLIENTS = int(os.environ.get("BACKSCROLL_STREAMS", "200"))
TABS = 8 if TRY_ALL else 2
"""A browser has six connections to a server; all tabs share one stream, however many they are."""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.fixture
def writer(shelf: Shelf) -> JourneyWriter:
    return JourneyWriter.begun(shelf, "living", 4)


@pytest.fixture
def served(visitor: Visitor, shelf: Shelf, writer: JourneyWriter) -> Iterator[StartedViewer]:
    del writer  # was there before
    with serving(shelf, follows=True, require_key="always") as served:
        yield served
        visitor.leave()


def news_of(served: StartedViewer) -> ChangeFeed:
    feed: ChangeFeed = served.server.config.app.app.state.live.feed  # type: ignore[union-attr]
    return feed


PATIENT = "const wait = setTimeout; globalThis.setTimeout = (then, ms) => wait(then, ms === 3000 ? 1e6 : ms);"
"""After three seconds a tab takes a stream of its own, and a busy machine may be slower than that."""


def test_tabs_load_follow_and_share_a_stream(visitor: Visitor, served: StartedViewer, writer: JourneyWriter) -> None:
    context = visitor.context(Site.of(served))
    context.add_init_script(PATIENT)
    pages = []
    for _ in range(TABS):
        page = context.new_page()
        page.goto(f"{served.url}/chats/{writer.chat}")
        pages.append(page)
    for number in range(3):
        writer.turn(f"more {number}")
        writer.flush()
        for page in pages:
            expect(page.locator(f"#m-{writer.messages[-1]}")).to_be_attached()
    for page in pages:
        assert ids_of(page) == writer.messages
    assert len(news_of(served).streams) == 1
    assert len(served.server.server_state.connections) <= 8  # their stream, and what the browser keeps open
    pages[0].goto(f"{served.url}/stats")
    expect(pages[0].get_by_role("heading").first).to_be_visible()


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run it to its end, for at most two minutes."""

    async def limited() -> None:
        await asyncio.wait_for(work(), 120)

    run_coroutine(limited())


@pytest.mark.all
def test_slow_readers_do_not_delay_others_and_leave_nothing_behind(
    served: StartedViewer, writer: JourneyWriter
) -> None:
    state, feed = served.server.server_state, news_of(served)

    async def work() -> None:
        slow = [await StreamClient.connect(served, buffer=2048) for _ in range(CLIENTS // 2)]
        quick = [await StreamClient.connect(served) for _ in range(CLIENTS - len(slow))]
        for client in quick:
            assert (await client.event()).name == "hello"
        assert len(state.connections) >= CLIENTS
        for number in range(10):  # more than the buffers of those who do not read can hold
            feed.tell([f"chat-{number}-{place}" for place in range(3000)])
            await asyncio.gather(*(client.until(f"chat-{number}-0") for client in quick))
        writer.turn("and a real one")
        writer.flush()
        await asyncio.gather(*(client.until(writer.chat) for client in quick))
        assert all(len(client.chats) == 30_001 for client in quick)
        waiting = [len(client.reader._buffer) for client in slow]  # type: ignore[attr-defined]
        assert max(waiting) < 500_000  # nothing was read for them
        for client in [*slow, *quick]:
            await client.leave()
        while state.connections or state.tasks:
            await asyncio.sleep(0.02)

    before = len(state.connections), len(state.tasks)
    run(work)
    assert before == (0, 0) == (len(state.connections), len(state.tasks))
    assert not feed.streams
    key = ("Authorization", f"Bearer {served.access.keys.token}")
    assert ask(served, "/api/v1/status", headers=[key]).status == 200


def test_who_comes_back_is_told_of_everything_since(served: StartedViewer, writer: JourneyWriter) -> None:
    feed = news_of(served)

    async def work() -> None:
        clients = [await StreamClient.connect(served) for _ in range(20)]
        for client in clients:
            await client.event()
        expected: set[str] = set()
        for number in range(200):
            told = {f"chat-{number}", f"often-{number % 7}"}
            feed.tell(sorted(told))
            expected |= told
            gone = clients[number % len(clients)]  # one after the other goes, and comes back
            await gone.leave()
            back = await StreamClient.connect(served, gone.last)
            back.last, back.chats = gone.last, gone.chats
            clients[number % len(clients)] = back
        writer.turn("the last one")
        writer.flush()
        for client in clients:
            await client.until(writer.chat)
            assert expected <= client.chats
            await client.leave()
        stranger = await StreamClient.connect(served, "another-7")
        assert (await stranger.event()).data == {"again": True}  # of another server: it must look anew
        await stranger.leave()

    run(work)
