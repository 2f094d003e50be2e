"""The list of chats beside a chat, and the list's own page: in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.house import FORKED, LONG, SMALL, House
from tests.journeys.visitor import NARROW, Site, Visitor, be_ready, too_wide
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_file
from tests.web.served import serving

DESK = {"width": 1440, "height": 900}
TALK = """
@ version=2.1.72 time=2026-01-{day:02}T10:00 cwd=/home/ada/{project}
{name}-a <- - user: {title}
{name}-b <- {name}-a assistant({name}-m): done
"""


def session(name: str, title: str, day: int = 5, project: str = "shop") -> dict[str, bytes]:
    return session_file(name, TALK.format(name=name, title=title, day=day, project=project))


def ready(page: Page) -> None:
    """Until the list has started, too."""
    be_ready(page)
    expect(page.locator("#pane-filter:not([hidden])")).to_be_attached()


def titles(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("#pane .pane-title").all_inner_texts()]


@pytest.fixture
def chat(visitor: Visitor, house: House) -> Page:
    page = visitor.page(house.site, f"/chats/{FORKED}", viewport=DESK)
    ready(page)
    return page


def test_the_list_stays_beside_the_chat_and_is_stepped_through(chat: Page, house: House) -> None:
    assert titles(chat) == ["write a post about pomegranates", "Draw a logo", "The long work on the shop"]
    expect(chat.locator("#pane [aria-current=page]")).to_contain_text("Draw a logo")
    chat.keyboard.press("]")
    expect(chat).to_have_url(f"{house.site}/chats/{LONG}")
    ready(chat)
    chat.keyboard.press("[")
    expect(chat).to_have_url(f"{house.site}/chats/{FORKED}")


def test_the_list_is_filtered_while_one_types(chat: Page, house: House) -> None:
    chat.keyboard.press("f")
    expect(chat.locator("#pane-filter")).to_be_focused()
    chat.keyboard.type("blo")  # a project
    expect(chat.locator("#pane .pane-row")).to_have_count(1)
    assert titles(chat) == ["write a post about pomegranates"]
    chat.keyboard.press("Enter")
    expect(chat).to_have_url(f"{house.site}/chats/{SMALL}")
    ready(chat)
    expect(chat.locator("#pane-filter")).to_have_value("blo")  # it stays from chat to chat
    expect(chat.locator("#pane .pane-row")).to_have_count(1)
    chat.locator("#pane-filter").fill("nothing has this")
    expect(chat.locator("#pane .pane-note")).to_contain_text("No chat matches")


def test_the_list_is_hidden_and_stays_so(chat: Page) -> None:
    chat.keyboard.press("l")
    expect(chat.locator("#pane")).to_be_hidden()
    chat.reload()
    ready(chat)
    expect(chat.locator("#pane")).to_be_hidden()
    chat.locator(".pane-open").click()
    expect(chat.locator("#pane")).to_be_visible()


def test_on_a_phone_the_list_is_a_drawer(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, f"/chats/{FORKED}", viewport=NARROW, has_touch=True)
    ready(page)
    expect(page.locator("#pane")).to_be_hidden()
    page.locator(".pane-drawer").tap()
    expect(page.locator("#pane")).to_be_visible()
    assert too_wide(page) == []
    page.locator("#pane .pane-row a", has_text="pomegranates").tap()
    expect(page).to_have_url(f"{house.site}/chats/{SMALL}")
    page.get_by_label("More actions").tap()
    expect(page.get_by_placeholder("New tag")).to_be_visible()
    assert too_wide(page) == []


def test_the_keys_of_the_list_are_told(chat: Page) -> None:
    chat.keyboard.press("?")
    for told in ("Next chat in the list", "Show or hide the list of chats", "Filter the list of chats", "Next branch"):
        expect(chat.get_by_role("dialog")).to_contain_text(told)


def test_one_escape_closes_the_palette(chat: Page) -> None:
    chat.keyboard.press("Control+k")
    chat.keyboard.type("logo")
    chat.keyboard.press("Escape")
    expect(chat.locator("dialog.palette")).to_be_hidden()


def test_messages_have_clock_times_and_days_are_divided(chat: Page) -> None:
    expect(chat.locator("#m-fa time")).to_have_text(re.compile(r"^\d\d:\d\d$"))
    expect(chat.locator(".day")).to_have_count(1)
    expect(chat.locator("#m-fa .day")).to_contain_text("January 2026")


def test_a_search_leads_to_the_chat_and_its_resume_command(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, viewport=DESK)
    page.locator("#search").fill("pomegranates")
    page.keyboard.press("Enter")
    page.locator(".results .open", has_text="write a post").click()
    expect(page.locator("#resume")).to_be_visible()
    where = f"cd /home/ada/blog && CLAUDE_CONFIG_DIR={house.shelf.home}"
    expect(page.locator("#chat")).to_have_attribute("data-resume", f"{where} claude --resume {SMALL}")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    files: dict[str, bytes] = {}
    for number in range(40):
        files |= session(f"n{number}", f"number {number}", day=1 + number // 2)
    shelf = Shelf(tmp_path).write(files).rest()
    shelf.update()
    return shelf


@pytest.fixture
def site(shelf: Shelf) -> Iterator[Site]:
    with serving(shelf, follows=True, require_key="always") as served:
        yield Site.of(served)


def test_twenty_five_chats_are_seen_at_once(site: Site, visitor: Visitor) -> None:
    page = visitor.page(site, "/chats", viewport=DESK)
    expect(page.locator("#total")).to_have_text("40 chats")
    seen = page.evaluate(
        "[...document.querySelectorAll('table.chats tbody tr')]"
        ".filter(one => one.getBoundingClientRect().bottom <= innerHeight).length"
    )
    assert seen >= 25
    visitor.leave()


def test_a_session_whose_file_grows_is_live_without_a_word_of_its_client(
    site: Site, visitor: Visitor, shelf: Shelf
) -> None:
    page = visitor.page(site, viewport=DESK)
    expect(page.locator("ul.live")).to_have_count(0)
    chat = visitor.context(site, viewport=DESK).new_page()
    chat.goto(f"{site}/chats/{session_uuid('n3')}")
    ready(chat)
    more = "n3-c <- n3-b user: and now faster\nn3-d <- n3-c assistant(n3-n): it is faster"
    shelf.append("n3", jsonl(draw(more, session="n3", cwd="/home/ada/shop", time="2026-01-30T10:01")))
    expect(page.locator("ul.live > li")).to_have_count(1)
    expect(page.locator("ul.live")).to_contain_text("number 3")
    expect(chat.locator("#m-n3-d")).to_contain_text("it is faster")
    expect(chat.locator("#pane section[aria-label=Live]")).to_contain_text("number 3")
    visitor.leave()


def test_the_list_of_chats_is_filtered_while_one_types(site: Site, visitor: Visitor) -> None:
    page = visitor.page(site, "/chats", viewport=DESK)
    expect(page.locator("html[data-ready]")).to_be_attached()
    page.locator(".filter input[type=search]").press_sequentially("number 39")
    expect(page.locator("table.chats tbody tr")).to_have_count(1)
    expect(page.locator("#total")).to_have_text("1 chat")
    expect(page).to_have_url(re.compile(r"/chats\?q=number\+39"))
    expect(page.locator(".filter input[type=search]")).to_be_focused()
    visitor.leave()
