"""Transcripts that want to harm who reads them, in a real browser: nothing of theirs runs, loads or breaks the page."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Page, expect

from backscroll.cli.main import backscroll
from backscroll.web.pages.stats_reports import KINDS
from tests.journeys.visitor import Site, be_ready, enter
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
    Poison,
    agent_names,
    hostile_home,
    live_pen,
    turn,
)
from tests.support.payloads import armed
from tests.support.samples import SHARE, mostly_in_all, some
from tests.web.served import serving

PLACES = (
    "/",
    "/chats",
    "/chats?sort=title",
    "/chats?by=project",
    "/projects",
    "/settings",
    "/spend?period=all",
    "/stats",
    "/files",
)
WORDS = ("hit", "canary.invalid", "title:script", "onerror press", "project:hit", "is:agent hit", "tool:Bash passwd")
TURNS = COUNT // SHARE
FILL = """async (every) => {
  const chunks = await import("/static/chunks.js");
  const sections = [...document.querySelectorAll("#messages > .chunk")];
  for (const section of sections.filter((_, number) => number % every === 0)) await chunks.fill(section);
}"""
SETTLED = """() => Promise.all([...document.images].map((one) => one.complete
  || new Promise((done) => ["load", "error"].forEach((what) => one.addEventListener(what, done)))))"""
LIFELESS = """async (chat) => {
  const room = document.createElement("template");
  document.body.append(room);
  for (let number = 0; number < document.querySelectorAll("#messages > .chunk").length; number++) {
    const part = document.createElement("template");
    part.innerHTML = await (await fetch(`/chats/${chat}/chunks/${number}`)).text();
    room.content.append(part.content);
  }
  return room.content.querySelectorAll("article").length;
}"""
FOLLOWED = """async ([address, item]) => {
  const room = document.createElement("template");
  document.body.append(room);
  for (let next = address; next; ) {
    const page = new DOMParser().parseFromString(await (await fetch(next)).text(), "text/html");
    next = page.querySelector("a[rel=next]")?.getAttribute("href");
    room.content.append(page.querySelector("main"));
  }
  return room.content.querySelectorAll(item).length;
}"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """A home in which every payload is in some field of a transcript, or in every one if all is tried; indexed."""
    shelf = Shelf(tmp_path_factory.mktemp("hostile")).write(hostile_home(TURNS, TURNS))
    shelf.update()
    return shelf


@pytest.fixture(scope="module")
def origin(shelf: Shelf) -> Iterator[Site]:
    with serving(shelf, follows=True, require_key="always") as served:
        yield Site.of(served)


@pytest.fixture
def witness(browser: Browser, origin: Site) -> Iterator[Witness]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    enter(context, origin)
    yield Witness(context, origin)
    context.close()


def show_everything(page: Page, every: int = 1, *, is_unfolded: bool = True) -> None:
    """All messages, or those of every so many chunks, at the level that hides nothing."""
    be_ready(page)
    page.locator("#levels").get_by_text("Everything").click()
    page.evaluate(FILL, every)
    if is_unfolded:
        unfold(page)


def check_keys(page: Page) -> None:
    """The page still listens."""
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press("?")
    page.locator("dialog[open]").first.wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog[open]").first.wait_for(state="hidden")


def test_a_witness_sees_what_would_be_wrong(witness: Witness) -> None:
    page = witness.context.new_page()
    page.goto(f"{witness.origin}/settings")
    witness.look(page)
    wrong = "<img src=x onerror=hit(1)><a href=javascript:1>x</a><p>\u202e</p><img src=http://canary.invalid/2>"
    page.evaluate("wrong => document.querySelector('main').insertAdjacentHTML('beforeend', wrong)", wrong)
    expect(page.locator("main img")).to_have_count(2)
    page.evaluate(SETTLED)
    with pytest.raises(AssertionError) as error:
        witness.look(page)
    for what in (
        "on: <img",
        "address: <a",
        "control character",
        "picture: <img",
        "request: http://canary.invalid/2",
        "policy: ",
    ):
        assert what in str(error.value)


def test_lists_searches_and_reports_are_only_text(witness: Witness) -> None:
    page = witness.context.new_page()
    addresses = [*PLACES, *(f"/stats/{name}" for name in KINDS), *(f"/search?q={quote(words)}" for words in WORDS)]
    for address in some(addresses, share=2):
        witness.visit(page, address)
    check_keys(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("hit")
    page.locator("dialog[open] a").nth(3).wait_for()
    witness.look(page)


def test_every_title_and_snippet_is_only_text(witness: Witness) -> None:
    page = witness.context.new_page()
    page.goto(f"{witness.origin}/settings")
    assert page.evaluate(FOLLOWED, ["/chats", "a[href^='/chats/']"]) >= TURNS
    for words in ("hit", "canary.invalid", "press"):
        assert page.evaluate(FOLLOWED, [f"/search?q={words}", "a[href*='?at=']"]) > TURNS // 8
    witness.look(page)


@pytest.mark.all
def test_addresses_that_are_hostile_are_only_text(witness: Witness) -> None:
    page = witness.context.new_page()
    for number in range(0, COUNT, 31):
        payload = quote(armed(number, number).encode("utf-8", "replace"), safe="")
        for address in (f"/search?q={payload}", f"/chats?q={payload}&sort={payload}", f"/files?path={payload}"):
            page.goto(f"{witness.origin}{address}")
            witness.forgive("the server responded with a status of 4")  # a query that is none says so
            witness.look(page)


def test_every_payload_in_the_fields_of_a_chat(witness: Witness) -> None:
    page = witness.context.new_page()
    page.goto(f"{witness.origin}/chats/{FIELDS}")
    show_everything(page, every=12)
    witness.look(page)
    for link in page.locator("#messages > .chunk:first-child a[data-raw]").all()[:30]:
        link.dispatch_event("click")
    page.locator(".raw-row", has_text="parentUuid").nth(29).wait_for()
    witness.look(page)
    # As the page itself makes elements of what comes, but without showing half a million of them.
    assert page.evaluate(LIFELESS, FIELDS) > TURNS * 20
    witness.look(page)
    check_keys(page)


@pytest.mark.all
def test_agents_are_shown_inside_and_by_themselves(witness: Witness) -> None:
    page = witness.context.new_page()
    page.goto(f"{witness.origin}/chats/{FIELDS}")
    talk = page.locator("#messages > .chunk:first-child details.agent-talk").first
    talk.evaluate(
        "one => { for (let at = one; at; at = at.parentElement) if (at.localName === 'details') at.open = true; }"
    )
    talk.locator("article:visible").nth(20).wait_for()  # what only "Everything" shows is hidden
    unfold(page)
    witness.look(page)
    for name in agent_names():
        witness.visit(page, f"/chats/{FIELDS}/agents/{quote(name, safe='')}")
        assert page.locator("article").count() > 20


@pytest.mark.parametrize("chat", mostly_in_all([FIELDS, IDS, TWISTED], each=3))
def test_dialogs_are_only_text(witness: Witness, chat: str) -> None:
    page = witness.context.new_page()
    for name in ("resume", "share"):
        page.goto(f"{witness.origin}/chats/{chat}/{name}")
        witness.look(page)
    page.goto(f"{witness.origin}/chats/{chat}")
    for name in ("resume", "share"):
        be_ready(page)
        page.locator(f"#{name}").click()
        page.locator("dialog[open]").wait_for()
        witness.look(page)
        page.keyboard.press("Escape")
        page.locator("dialog[open]").wait_for(state="hidden")


@pytest.mark.parametrize("chat", mostly_in_all([IDS, TWISTED, LARGE], each=3))
def test_odd_chats_are_shown(witness: Witness, chat: str) -> None:
    page = witness.context.new_page()
    page.goto(f"{witness.origin}/chats/{chat}")
    show_everything(page, is_unfolded=chat != LARGE)  # no reader expands thirty bombs at once
    witness.look(page)
    for link in page.locator("a.more[data-fill]").all()[:5]:
        link.dispatch_event("click")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    witness.look(page)
    check_keys(page)


@pytest.mark.all
def test_what_is_written_while_one_reads_is_only_text(witness: Witness, shelf: Shelf) -> None:
    page = witness.context.new_page()
    page.goto(f"{witness.origin}/chats/{LIVE}")
    show_everything(page)
    home = witness.context.new_page()
    home.goto(witness.origin)
    pen, path = live_pen(), shelf.home / FOLDER / f"{LIVE}.jsonl"
    for number in range(1, 25):
        with path.open("ab") as file:
            file.write(jsonl(turn(pen, Poison(number * 16), number)))
        if number % 8 == 0:
            page.locator(f"#t-call-{LIVE[:4]}-{number}-0").wait_for(state="attached")
    unfold(page)
    witness.look(page)
    witness.look(home)
    check_keys(page)


@pytest.mark.all
@pytest.mark.parametrize("redact", ["--redact", "--no-redact"])
def test_exported_files_are_only_text(browser: Browser, tmp_path: Path, redact: str) -> None:
    shelf = Shelf(tmp_path).write(hostile_home(20, 10, with_large=False))
    out = tmp_path / "out"
    asked = ["export", "--query", "", "--format", "html", redact, "--out", str(out), "--home", str(shelf.home)]
    done = CliRunner().invoke(backscroll, [*asked, "--library", str(shelf.folder)])
    assert done.exit_code == 0, done.output
    context = browser.new_context()
    witness = Witness(context, "file:")
    page = context.new_page()
    files = sorted(out.glob("*.html"), key=lambda path: -path.stat().st_size)
    for path in [*files[:4], out / "index.html"]:
        page.goto(path.as_uri())
        if page.locator("#levels").count():
            page.locator("#levels").get_by_text("Everything").click()
        unfold(page)
        witness.look(page)
    context.close()
