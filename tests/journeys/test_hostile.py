"""Transcripts that want to harm who reads them, in a real browser: nothing of theirs runs, loads or breaks the page."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from tests.journeys.witness import Witness, unfold
from tests.library.support import Shelf
from tests.support.drawings import jsonl
from tests.support.hostile import (
    COUNT,
    FIELDS,
    FOLDER,
    IDS,
    LARGE,
    LIVE,
    TWISTED,
    Pen,
    Poison,
    armed,
    hostile_home,
    turn,
)
from tests.web.served import serving

REPORTS = ("usage", "tools", "errors", "files", "context", "cache", "time", "activity", "models", "projects")
WORDS = ("hit", "script", "canary.invalid", "onerror press", "passwd", "title:script", "project:hit", "is:agent hit")
FILL = """async () => {
  const chunks = await import("/static/chunks.js");
  for (const section of document.querySelectorAll("#messages > .chunk")) await chunks.fill(section);
}"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """A home in which every field of a transcript has had every payload, indexed."""
    shelf = Shelf(tmp_path_factory.mktemp("hostile")).write(hostile_home())
    shelf.update()
    return shelf


@pytest.fixture(scope="module")
def origin(shelf: Shelf) -> Iterator[str]:
    with serving(shelf, follows=True) as served:
        yield served.url


@pytest.fixture
def witness(browser: Browser, origin: str) -> Iterator[Witness]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    yield Witness(context, origin)
    context.close()


def show_everything(page: Page) -> None:
    """All messages, at the level that hides nothing, with everything unfolded."""
    page.locator("#levels").get_by_text("Everything").click()
    page.evaluate(FILL)
    unfold(page)
    page.wait_for_load_state("networkidle")


def check_keys(page: Page) -> None:
    """The page still listens."""
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press("?")
    page.locator("dialog[open]").first.wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog[open]").first.wait_for(state="hidden")


def test_lists_searches_and_reports_are_only_text(witness: Witness) -> None:
    page = witness.context.new_page()
    for address in ("/", "/chats", "/chats?sort=title&page=2", "/projects", "/settings", "/settings?check=1", "/stats", "/files"):
        witness.visit(page, address)
    for report in REPORTS:
        witness.visit(page, f"/stats/{report}")
    for words in WORDS:
        witness.visit(page, f"/search?q={quote(words)}")
    check_keys(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("hit")
    page.locator("dialog[open] a").nth(3).wait_for()
    witness.look(page)


def test_addresses_that_are_hostile_are_only_text(witness: Witness) -> None:
    page = witness.context.new_page()
    for number in range(0, COUNT, 29):
        payload = quote(armed(number, number).encode("utf-8", "replace"), safe="")
        for address in (f"/search?q={payload}", f"/chats?q={payload}&sort={payload}", f"/files?path={payload}"):
            page.goto(f"{witness.origin}{address}")
            witness.wrong = [what for what in witness.wrong if "the server responded with a status of 4" not in what]
            witness.look(page)


def test_every_payload_in_every_field_of_a_chat(witness: Witness) -> None:
    page = witness.context.new_page()
    page.goto(f"{witness.origin}/chats/{FIELDS}")
    show_everything(page)
    assert page.locator("#messages article").count() > COUNT * 10
    witness.look(page)
    for link in page.locator("a[data-raw]").all()[:40]:
        link.dispatch_event("click")
    page.locator(".raw-row").first.wait_for()
    page.wait_for_load_state("networkidle")
    witness.look(page)
    check_keys(page)


@pytest.mark.parametrize("chat", [IDS, TWISTED, LARGE], ids=["ids", "twisted", "large"])
def test_odd_chats_are_shown(witness: Witness, chat: str) -> None:
    page = witness.context.new_page()
    page.goto(f"{witness.origin}/chats/{chat}")
    show_everything(page)
    witness.look(page)
    check_keys(page)
