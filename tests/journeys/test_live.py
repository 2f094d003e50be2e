"""Sessions that are being written while they are read: order, no loss, no doubles, and a scroll that stays."""

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from backscroll.library.indexing.follow import Followed, follow
from backscroll.web import live_updates
from tests.journeys.visitor import (
    Site,
    Visitor,
    doubled,
    ids_of,
    keep_picture,
    looks,
    too_wide,
    wait_in_window,
)
from tests.journeys.writer import JourneyWriter
from tests.library.support import Shelf
from tests.web.served import free_port, serving

GONE = ("ERR_CONNECTION_REFUSED", "ERR_INTERNET_DISCONNECTED", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION_RESET",
        "ERR_EMPTY_RESPONSE", "ERR_NETWORK", "ERR_FAILED")  # fmt: skip


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.fixture
def writer(shelf: Shelf) -> JourneyWriter:
    """A session with a few turns in it."""
    return JourneyWriter.begun(shelf, "living", 8)


@pytest.fixture
def site(visitor: Visitor, shelf: Shelf, writer: JourneyWriter) -> Iterator[str]:
    del writer  # was there before
    with serving(shelf, follows=True, require_key="always") as served:
        yield Site.of(served)
        visitor.leave()


def opened(visitor: Visitor, site: str, writer: JourneyWriter) -> Page:
    """The chat, open and connected."""
    page = visitor.page(site, f"/chats/{writer.chat}")
    caught_up(page, writer)
    return page


def caught_up(page: Page, writer: JourneyWriter) -> None:
    """Until the last message is in the page, when all the page has must be right."""
    page.wait_for_function("name => document.getElementById(`m-${name}`)", arg=writer.messages[-1])


def where(page: Page, name: str) -> float:
    top: float = page.evaluate("name => document.getElementById(`m-${name}`).getBoundingClientRect().top", name)
    return top


def test_what_is_new_appears_and_the_end_is_followed(visitor: Visitor, site: str, writer: JourneyWriter) -> None:
    page = opened(visitor, site, writer)
    page.keyboard.press("End")
    wait_in_window(page, f"#m-{writer.messages[-1]}")
    for number in range(5):
        writer.turn(f"more {number}")
        writer.flush()
        caught_up(page, writer)
        wait_in_window(page, f"#m-{writer.messages[-1]}")
    expect(page.locator("#pill")).to_be_hidden()
    assert ids_of(page) == writer.messages
    expect(page.locator(".outline a").last).to_contain_text("more 4")


def test_the_scroll_of_a_reader_is_never_stolen(visitor: Visitor, site: str, writer: JourneyWriter) -> None:
    page = opened(visitor, site, writer)
    page.locator(f"#m-{writer.messages[6]}").evaluate("one => one.scrollIntoView()")
    before = where(page, writer.messages[6])
    for number in range(3):
        writer.ask(f"more {number}")
        writer.flush()
        expect(page.locator("#pill")).to_have_text(f"↓ {number + 1} new")
        assert abs(where(page, writer.messages[6]) - before) < 1
    expect(page).to_have_title(re.compile(r"^\(3\) "))
    keep_picture(page, "live-pill")
    page.locator("#pill").click()
    wait_in_window(page, f"#m-{writer.messages[-1]}")
    expect(page.locator("#pill")).to_be_hidden()
    expect(page).to_have_title(re.compile(r"^[^(]"))


def test_a_tool_runs_and_its_result_comes_in_place(visitor: Visitor, site: str, writer: JourneyWriter) -> None:
    writer.be_live()
    page = opened(visitor, site, writer)
    writer.ask("build it")
    call = writer.call("make all")
    writer.flush()
    tool = page.locator(f"#t-{call}")
    expect(tool).to_have_class(re.compile("running"))
    expect(tool.locator(".tool-state")).to_have_text(re.compile(r"running · \d+s"))
    expect(page.locator("#chat-state")).to_contain_text("Claude is working")
    tool.locator("summary").first.click()
    writer.result("all is made")
    writer.flush()
    expect(tool).to_have_class(re.compile("done"))
    expect(tool.locator(".terminal")).to_contain_text("all is made")
    expect(tool.locator("details").first).to_have_attribute("open", "")  # what the reader opened stays open
    assert ids_of(page) == writer.messages
    writer.answer("It is built.")
    writer.be_live(status="idle")
    writer.flush()
    expect(page.locator("#chat-state")).to_contain_text("Waiting for you")


def test_an_agent_grows_inline(visitor: Visitor, site: str, writer: JourneyWriter) -> None:
    page = opened(visitor, site, writer)
    writer.ask("look around")
    call = writer.call("", "Task", description="look", prompt="look around", subagent_type="Explore")
    writer.flush()
    tool = page.locator(f"#t-{call}")
    expect(tool).to_be_visible()
    writer.agent("f02", call, "y1 <- - user: look around\ny2 <- y1 assistant(my1): The first room is empty.")
    page.keyboard.press("End")
    if tool.locator("details").first.get_attribute("open") is None:
        tool.locator("summary").first.click()
    talk = tool.locator(".agent-talk")
    talk.locator("summary").first.click()
    expect(talk).to_contain_text("The first room is empty.")
    writer.agent("f02", call, "y3 <- y2 assistant(my2): The second room has a cat.")
    expect(talk).to_contain_text("The second room has a cat.")
    writer.result("one cat")
    writer.flush()
    expect(tool).to_contain_text("one cat")
    expect(talk).to_contain_text("The second room has a cat.")


@pytest.mark.all
def test_nothing_is_lost_or_doubled_however_often_the_stream_is_cut(
    visitor: Visitor, shelf: Shelf, writer: JourneyWriter
) -> None:
    """Two thousand rows, in all sizes of appends; offline, another server, and a tab that is not looked at."""
    visitor.forgive(*GONE)
    port = free_port()
    batches = [1, 4, 9, 1, 30, 2, 1, 16, 3, 33]  # of turns of four rows: a hundred in all, five times
    appended = 0

    def append(turns: int) -> None:
        nonlocal appended
        for _ in range(turns):
            writer.turn(f"turn {appended}")
            appended += 1
        writer.flush()

    with serving(shelf, follows=True, port=port) as served:
        page = opened(visitor, Site.of(served), writer)
        page.keyboard.press("End")
        for turns in batches:
            append(turns)
        caught_up(page, writer)
        page.context.set_offline(True)
        for turns in batches:
            append(turns)
        page.context.set_offline(False)
        caught_up(page, writer)
        assert ids_of(page) == writer.messages
        other = page.context.new_page()  # the first is not looked at meanwhile
        other.goto(served.url)
        for turns in batches:
            append(turns)
        other.close()
        page.bring_to_front()
        caught_up(page, writer)
    for turns in batches:
        append(turns)
    with serving(shelf, follows=True, port=port) as served:
        caught_up(page, writer)
        for turns in batches:
            append(turns)
            page.context.set_offline(turns % 2 == 1)
        page.context.set_offline(False)
        caught_up(page, writer)
        assert appended * 4 == 2000
        load_all(page)
        shown = ids_of(page)
        assert doubled(shown) == []
        assert shown == writer.messages
        page.reload()
        load_all(page)
        assert ids_of(page) == writer.messages


@pytest.mark.parametrize(("scheme", "size"), looks(1))
def test_a_page_says_why_nothing_new_appears_and_catches_up(
    visitor: Visitor,
    shelf: Shelf,
    writer: JourneyWriter,
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
    size: ViewportSize,
) -> None:
    is_broken = threading.Event()
    is_broken.set()

    def failing(*arguments: Any, **named: Any) -> Iterator[Followed]:  # noqa: ANN401
        if is_broken.is_set():
            raise RuntimeError("the disk with the index is gone")
        yield from follow(*arguments, **named)

    monkeypatch.setattr(live_updates, "follow", failing)
    monkeypatch.setattr(live_updates, "LONGEST_WAIT", 1.0)
    with serving(shelf, follows=True, require_key="always") as served:
        page = visitor.page(Site.of(served), f"/chats/{writer.chat}", color_scheme=scheme, viewport=size)
        notice = page.locator(".live-trouble")
        expect(notice).to_contain_text(
            "Live updates stopped: RuntimeError: the disk with the index is gone. Trying again"
        )
        writer.turn("meanwhile")
        writer.flush()
        keep_picture(page, f"live-trouble-{scheme}")
        home = page.context.new_page()  # it shares the stream with the first
        home.goto(served.url)
        expect(home.locator(".live-trouble")).to_be_visible()
        assert too_wide(home) == []
        is_broken.clear()
        expect(home.locator(".live-trouble")).to_be_hidden()
        home.close()
        caught_up(page, writer)
        expect(notice).to_be_hidden()
        assert ids_of(page) == writer.messages
        visitor.leave()


EMPTY = "#messages > .chunk:not(.filled)"


def load_all(page: Page) -> None:
    """Come near to everything that is not loaded, and ask again for what could not be, until all of it is there."""
    page.wait_for_function(
        """empty => {
          const section = document.querySelector(empty);
          section?.scrollIntoView();
          section?.querySelector(".chunk-failed button")?.click();
          return section === null;
        }""",
        arg=EMPTY,
        polling=100,
    )


def test_several_live_chats_are_on_the_first_page(
    visitor: Visitor, shelf: Shelf, site: str, writer: JourneyWriter
) -> None:
    writer.be_live()
    other = JourneyWriter(shelf, "second", "/home/ada/blog")
    other.turn("write a post")
    other.be_live(os.getppid())
    other.flush()
    page = visitor.page(site)
    expect(page.locator("ul.live > li")).to_have_count(2)
    other.ask("another one")
    other.call("make post")
    other.flush()
    expect(page.locator("ul.live > li", has_text="write a post")).to_contain_text("running Bash")
    writer.ask("and now the shop")
    writer.call("make shop", "Edit", file_path="/home/ada/shop/x.py", old_string="a", new_string="b")
    writer.flush()
    expect(page.locator("ul.live > li", has_text="question 0")).to_contain_text("running Edit")
    keep_picture(page, "home-live")


def test_a_new_session_comes_to_the_list_by_itself(visitor: Visitor, shelf: Shelf, site: str) -> None:
    page = visitor.page(site)
    expect(page.locator(".items > li, ul.live > li").first).to_be_visible()
    fresh = JourneyWriter(shelf, "fresh")
    fresh.turn("a brand new thing")
    fresh.be_live()
    fresh.flush()
    expect(page.locator("ul.live > li", has_text="a brand new thing")).to_be_visible()
