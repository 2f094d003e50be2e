"""Finding one's way: the first page, lists, the palette, keys and themes, in a real browser."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.journeys.visitor import PATIENCE, Site, enter
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import live_session, session_file
from tests.web.served import serving

DRAWING = """
@ cwd=/home/ada/{project} time=2026-01-{day:02}T10:00
{name}-a <- - user: {title}
{name}-b <- {name}-a assistant({name}-m): done, with a comma
"""


def chat(name: str, title: str, day: int, project: str = "shop") -> dict[str, bytes]:
    return session_file(name, DRAWING.format(name=name, title=title, day=day, project=project))


def running(name: str) -> dict[str, bytes]:
    """The file that says that this session is open in this very process."""
    started = Path(f"/proc/{os.getpid()}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[19]
    return live_session(name, os.getpid(), started)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    files = {**chat("one", "fix the parser", 5), **chat("two", "write a post", 6, "blog"), **chat("three", "a cart", 7)}
    shelf = Shelf(tmp_path).write({**files, **running("three")}).rest()
    shelf.update()
    return shelf


@pytest.fixture
def site(shelf: Shelf) -> Iterator[Site]:
    """The viewer of a library that is followed."""
    with serving(shelf, follows=True, require_key="always") as served:
        yield Site.of(served)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, site: Site) -> Iterator[Page]:
    """A page that fails the test on any error or request to another server."""
    enter(context, site)
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(site) else None)
    page.goto(site)
    expect(page.locator(".items > li")).to_have_count(2)
    yield page
    assert wrong == []


def test_the_first_run_fills_the_page_by_itself(context: BrowserContext, tmp_path: Path) -> None:
    page = context.new_page()
    shelf = Shelf(tmp_path)
    with serving(shelf, follows=True, require_key="always") as served:
        page.goto(served.link())
        expect(page.get_by_text("No sessions found")).to_be_visible()
        shelf.write({**chat("one", "fix the parser", 5), **running("one")})
        expect(page.get_by_text("Live now 1 chat")).to_be_visible()
        expect(page.locator("#progress")).to_be_hidden()


def test_what_is_live_changes_as_it_goes_on(page: Page, shelf: Shelf) -> None:
    more = 'three-c <- three-b user: and now faster\nthree-d <- three-c call(three-n) three-t Bash {"command": "make"}'
    shelf.append("three", jsonl(draw(more, session="three", cwd="/home/ada/shop", time="2026-01-07T10:01")))
    expect(page.locator("ul.live")).to_contain_text("running Bash")


def test_a_chat_is_found_pinned_and_tagged_with_the_keyboard_alone(page: Page, site: str) -> None:
    page.goto(f"{site}/chats")
    for key in ("j", "j", "j", "p"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Pinned")).to_be_visible()
    first = page.locator("table.chats tbody tr").first
    expect(first).to_contain_text("fix the parser")
    page.keyboard.press("Tab")  # from its title to the button
    page.keyboard.press("Enter")
    page.keyboard.type("to read")
    page.keyboard.press("Enter")
    expect(first.locator(".badge.tag")).to_have_text("to read")
    page.keyboard.press("o")
    expect(page).to_have_url(f"{site}/chats/{session_uuid('one')}")


def test_the_palette_goes_to_chats_and_pages(page: Page, site: str) -> None:
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option").first).to_contain_text("a cart")
    page.keyboard.type("post")
    expect(page.get_by_role("option").first).to_contain_text("write a post")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site}/chats/{session_uuid('two')}")
    page.goto(site)
    page.keyboard.press("Control+k")
    page.keyboard.type("go to settings")
    expect(page.get_by_role("option").first).to_have_text("Go to Settings")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site}/settings")


def test_results_appear_under_the_search_field_while_one_types(page: Page, site: str) -> None:
    field = page.locator("#search")
    field.press_sequentially("comm")
    first = page.locator(".suggestions [role=option]").first
    expect(first.locator("mark")).to_have_text("comma")
    page.keyboard.press("ArrowDown")
    expect(first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/chats/[0-9a-f-]{36}\?at=.*#m-"))
    page.goto(site)
    page.locator("#search").press_sequentially("comm")
    expect(page.locator(".suggestions")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".suggestions")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site}/search?q=comm")


def test_the_palette_finds_what_was_said(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("comm")
    expect(page.get_by_role("option").locator("mark").first).to_have_text("comma")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/chats/[0-9a-f-]{36}\?at=.*#m-"))


def test_the_palette_goes_to_what_was_typed_however_soon_enter_is_pressed(page: Page, site: str) -> None:
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option").first).to_contain_text("a cart")
    page.keyboard.type("go to settings")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site}/settings")


def test_a_search_begins_and_ends_with_the_keyboard(page: Page, site: str) -> None:
    page.goto(f"{site}/chats")
    page.keyboard.press("/")
    page.keyboard.type("comma project:blog")
    page.keyboard.press("Enter")
    expect(page.locator(".results > li")).to_have_count(1)
    page.wait_for_load_state()  # keys are there with the scripts
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(page).to_have_url(f"{site}/chats/{session_uuid('two')}?at=two-b&find=comma%20project%3Ablog#m-two-b")


def test_all_keys_are_told(page: Page, site: str) -> None:
    page.goto(f"{site}/chats")
    page.keyboard.press("?")
    for told in ("Search everything", "Command palette", "Next in the list", "Pin or unpin"):
        expect(page.get_by_role("dialog")).to_contain_text(told)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_theme_stays_chosen(page: Page, site: str) -> None:
    page.goto(f"{site}/settings")
    page.get_by_text("Dark", exact=True).click()
    page.goto(f"{site}/chats")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 20, 19)"
    page.get_by_role("button", name="Switch the theme").click()
    assert page.evaluate("document.documentElement.dataset.theme ?? 'system'") == "system"


def test_what_went_on_since_it_was_read_is_marked_as_new(page: Page, site: str) -> None:
    page.evaluate(
        "chat => localStorage.setItem(`seen:${chat}`, JSON.stringify({message: 'x', when: '2026-01-01T00:00:00Z'}))",
        session_uuid("two"),
    )
    page.goto(f"{site}/chats")
    expect(page.locator(".badge.unread:visible")).to_have_count(1)
    expect(page.locator("tr", has_text="write a post").locator(".badge.unread")).to_be_visible()


@pytest.mark.all
def test_nothing_is_wider_than_a_phone(page: Page, site: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("/", "/chats", "/chats?by=project", "/projects", "/search", "/search?q=comma", "/settings?check=1"):
        page.goto(site + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_pages_are_whole_without_scripts(browser: Browser, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    enter(context, site)
    plain = context.new_page()
    plain.goto(site)
    plain.get_by_role("searchbox").fill("parser")
    plain.get_by_role("button", name="Search").click()
    expect(plain.locator(".results > li")).to_have_count(1)
    plain.goto(f"{site}/chats")
    plain.locator("form.filter input[type=search]").fill("cart")
    plain.get_by_role("button", name="Filter").click()
    expect(plain.locator("table.chats tbody tr")).to_have_count(1)
    plain.goto(f"{site}/chats")
    plain.get_by_role("button", name="Pin").last.click()
    expect(plain).to_have_url(f"{site}/chats")
    expect(plain.get_by_role("heading", name="Pinned")).to_be_visible()
    expect(plain.locator("button[data-action]:visible")).to_have_count(0)
    context.close()


def test_the_list_follows_what_happens(page: Page, site: str, shelf: Shelf) -> None:
    page.goto(f"{site}/chats")
    expect(page.locator("table.chats tbody tr").first).to_contain_text("a cart")
    shelf.write(chat("four", "a new one", 8))
    expect(page.locator("table.chats tbody tr").first).to_contain_text("a new one")


def test_recent_searches_stay_in_the_browser_until_they_are_forgotten(page: Page, site: Site) -> None:
    page.goto(f"{site}/search")
    expect(page.locator("#recent-searches")).to_be_hidden()
    for words in ("parser", "nowhere-to-be-found", "post project:blog", "parser"):
        page.locator("main input[name=q]").fill(words)
        page.locator("main input[name=q]").press("Enter")
        expect(page).to_have_title(re.compile(re.escape(words)))
        page.wait_for_load_state()  # until its scripts have run
    page.goto(f"{site}/search")
    # The latest first, each once, and none that found nothing.
    expect(page.locator("#recent-searches li")).to_have_text(["parser", "post project:blog"])
    page.get_by_role("link", name="post project:blog").click()
    expect(page.locator("ol.results > li")).to_have_count(1)
    page.wait_for_load_state()
    page.goto(f"{site}/search")
    expect(page.locator("#recent-searches li")).to_have_text(["post project:blog", "parser"])
    page.get_by_role("button", name="Forget them").click()
    expect(page.locator("#recent-searches")).to_be_hidden()
    page.reload()
    expect(page.locator("#recent-searches")).to_be_hidden()
