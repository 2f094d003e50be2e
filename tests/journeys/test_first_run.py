"""The first run over real sessions: progress, then chats, and a walk through every room."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.settings import Settings
from tests.journeys.visitor import NARROW, WIDE, Site, Visitor, be_ready, keep_picture, too_wide
from tests.library.support import Shelf
from tests.support.samples import TRY_ALL
from tests.web.served import serving

ROOMS = ("/", "/chats", "/projects", "/search?q=error", "/spend", "/stats", "/files", "/settings")

ALL_READ = (
    "async () => { const told = await (await fetch('/api/v1/status')).json(); return told.indexed && !told.pending; }"
)


class RealShelf(Shelf):
    """Real sessions, which are only read, and a library that is not there yet."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home, self.folder = root, home, root / "library"

    @property
    def settings(self) -> Settings:
        return Settings(homes=(self.home,), library=self.folder, file=self.root / "settings.toml")

    def open(self) -> Library:
        return local_library(self.settings, [Home(self.home)])


@pytest.fixture(scope="module")
def site(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The viewer of a library that does not exist yet."""
    with serving(RealShelf(tmp_path_factory.mktemp("first"), corpus / "home"), follows=True) as served:
        yield Site.of(served)


@pytest.mark.all
def test_the_first_run_shows_how_far_it_is_then_chats_and_all_can_be_read(visitor: Visitor, site: str) -> None:
    page = visitor.page(site)
    expect(page.locator("#progress")).to_be_visible()
    expect(page.locator("#progress")).to_contain_text("%")
    expect(page.locator(".items > li").first).to_be_visible()
    keep_picture(page, "first-run-on-its-way")
    page.wait_for_function(ALL_READ)
    expect(page.locator("#progress")).to_be_hidden()  # between two batches nothing is pending either
    expect(page.locator(".items > li")).to_have_count(12)

    for path in ROOMS:
        page.goto(site + path)
        expect(page.locator("main :is(h1, h2):visible").first).to_be_visible()
        keep_picture(page, "first-run" + path.partition("?")[0].replace("/", "-").rstrip("-"))

    page.goto(site)
    page.wait_for_function(ALL_READ)  # the words of the passages come after the chats
    page.locator("#search").fill("error tool:bash")
    page.keyboard.press("Enter")
    found = page.locator(".results .passages a").first
    expect(found).to_be_visible()
    found.click()
    page.wait_for_function("location.hash.startsWith('#m-')")
    name = page.evaluate("decodeURIComponent(location.hash.slice(1))")
    expect(page.locator(f"[id='{name}']")).to_be_in_viewport()

    page.goto(f"{site}/chats")
    chats = page.locator("table.chats a.open").evaluate_all("all => all.map(one => one.href)")
    assert len(chats) > 20
    for address in chats[:: len(chats) // (24 if TRY_ALL else 5)]:
        page.goto(address)
        be_ready(page)
        expect(page.locator("#messages article").first).to_be_attached()
        page.keyboard.press("End")
        expect(page.locator("#messages > .chunk:last-child.filled")).to_be_attached()
        page.evaluate("document.querySelectorAll('#messages details').forEach(one => { one.open = true; })")
        page.set_viewport_size(NARROW)
        assert too_wide(page) == [], address
        page.set_viewport_size(WIDE)
