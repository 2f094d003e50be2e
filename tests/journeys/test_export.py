"""The exported file in a real browser, from the disk: it works, makes no requests, and runs nothing hostile."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page

from backscroll.library.sharing.share import redactor, share
from backscroll.render.html.export import exported
from backscroll.render.html.export_site import exported_chat, index_page
from backscroll.web.export_assets import export_assets
from tests.journeys.visitor import PATIENCE
from tests.library.support import Shelf
from tests.library.test_sharing import AGENT, DRAWN, META, files, places, put
from tests.support.drawings import draw

BRANCHES = """
@ session=S1
a <- - user: fix the parser
b <- a assistant(m1): fixed one
c <- b user: and now the lexer
d <- c assistant(m2): fixed two
e <- b user: no, the printer
f <- e assistant(m3): fixed three
"""
HOSTILE = (
    "<script>window.hit=1</script>",
    "<img src=x onerror='window.hit=1'>",
    '"><svg onload=window.hit=1>',
    "javascript:window.hit=1",
    "[a](javascript:window.hit=1) ![b](https://evil.invalid/b.png)",
    "</style><style>@import 'https://evil.invalid/c.css';</style>",
    "</title></script></textarea></details></article></main><iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "<a href='data:text/html,<script>window.hit=1</script>'>x</a><base href='https://evil.invalid/'>",
    "<meta http-equiv=refresh content='0;url=https://evil.invalid/'>",
    "```html\n<script>window.hit=1</script>\n```\n<form action=https://evil.invalid/><button autofocus onfocus=hit=1>",
    "\x1b]8;;javascript:window.hit=1\x07link\x1b]8;;\x07 \x1b[31mred",
    "{{constructor.constructor('window.hit=1')()}} ${window.hit=1} <!--",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.hit=1>",
)
RUN_TASKS = """async () => {
  await Promise.all([...document.images].map((one) => one.complete
    || new Promise((done) => ["load", "error"].forEach((what) => one.addEventListener(what, done)))));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
}"""
"""Until all that a page sets off has run: the events of its pictures, a frame, and the tasks after it."""


class WatchedExport:
    """A page that records everything that should not happen."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wrong: list[str] = []
        page.on("console", lambda message: self.wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", self._interrupted)
        page.on("request", lambda request: self._asked(request.url))

    def _interrupted(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, url: str) -> None:
        if not url.startswith(("file:", "data:image/", "data:,")):
            self.wrong.append(f"request: {url}")

    def visible(self) -> list[str]:
        """The messages that can be seen, in their order."""
        ids: list[str] = self.page.evaluate(
            "[...document.querySelectorAll('#messages .chunk > article')].filter(one => one.checkVisibility())"
            ".map(one => one.id)"
        )
        return ids


@pytest.fixture
def watched(browser: Browser) -> Iterator[Callable[..., WatchedExport]]:
    pages: list[Page] = []

    def look(path: Path, **settings: Any) -> WatchedExport:  # noqa: ANN401
        page = browser.new_page(**settings)
        pages.append(page)
        found = WatchedExport(page)
        page.goto(path.as_uri())
        return found

    yield look
    for page in pages:
        page.close()


def export(folder: Path, content: dict[str, bytes], *, is_redacted: bool = True) -> Path:
    """Export the only chat of a home."""
    shelf = Shelf(folder).write(content)
    with shelf.open() as library:
        library.update()
        shared = share(library, library.chats()[0], redactor() if is_redacted else None)
        path = folder / "chat.html"
        path.write_text("".join(exported(shared, "html", export_assets())), encoding="utf-8")
    return path


def session(drawing: str) -> dict[str, bytes]:
    return files(draw(drawing), draw(AGENT), META)


def test_branches_are_chosen_without_a_server(watched: Callable[..., WatchedExport], tmp_path: Path) -> None:
    look = watched(export(tmp_path, session(BRANCHES)))
    page = look.page
    first = look.visible()
    assert first in (["m-a", "m-b", "m-e", "m-f"], ["m-a", "m-b", "m-c", "m-d"])
    page.select_option("#branch", "2")
    second = look.visible()
    assert {tuple(first), tuple(second)} == {("m-a", "m-b", "m-e", "m-f"), ("m-a", "m-b", "m-c", "m-d")}
    page.keyboard.press("Escape")
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("[")
    assert look.visible() == first
    page.locator("article:visible nav.fork summary").click()
    page.locator("article:visible nav.fork ol a:not([aria-current])").click()
    assert look.visible() == second
    assert page.locator(".outline:visible a").count() == 2
    assert look.wrong == []


def test_a_link_to_a_message_of_another_branch_chooses_it(
    watched: Callable[..., WatchedExport], tmp_path: Path
) -> None:
    path = export(tmp_path, session(BRANCHES))
    look = watched(path)
    hidden = ({"m-c", "m-e"} - set(look.visible())).pop()
    look.page.goto(f"{path.as_uri()}#{hidden}")
    assert hidden in look.visible()
    look.page.goto(f"{path.as_uri()}?branch=77#m-a")
    assert "m-a" in look.visible()
    assert look.wrong == []


def test_agents_unfold_and_levels_change(watched: Callable[..., WatchedExport], tmp_path: Path) -> None:
    look = watched(export(tmp_path, session(DRAWN)))
    page = look.page
    other = "2" if page.locator("#t-t4").first.is_hidden() else "1"
    page.select_option("#branch", other)
    page.locator("#t-t4 > details > summary").click()
    page.locator("#t-t4 details.agent-talk > summary").click()
    assert page.get_by_text("found it", exact=True).is_visible()
    page.locator("#levels").get_by_text("Prompts and answers").click()
    assert page.locator("#t-t4").is_hidden()
    assert page.get_by_text("fix the parser").last.is_visible()
    page.locator("#levels").get_by_text("Everything").click()
    assert page.locator("#t-t1").is_visible()
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") in ("dark", "light")
    assert look.wrong == []


def test_without_scripts_all_of_it_can_be_read(browser: Browser, tmp_path: Path) -> None:
    path = export(tmp_path, session(BRANCHES))
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(path.as_uri())
    for text in ("fixed one", "fixed two", "fixed three", "Branch 2 of 2"):
        assert page.get_by_text(text, exact=True).first.is_visible(), text
    context.close()


def test_nothing_hostile_does_anything(watched: Callable[..., WatchedExport], tmp_path: Path) -> None:
    rows = [draw(DRAWN), draw(AGENT)]
    structure = {
        "type",
        "uuid",
        "parentUuid",
        "sessionId",
        "agentId",
        "timestamp",
        "id",
        "tool_use_id",
        "role",
        "model",
    }
    number = 0
    for fields in [row for file in rows for row in file]:
        for path in list(places(fields)):
            if path[-1] not in structure or path[-2:] == ("message", "model"):
                put(fields, path, f"{HOSTILE[number % len(HOSTILE)]} {HOSTILE[(number * 7 + 3) % len(HOSTILE)]}")
                number += 1
    meta = {**META, "description": HOSTILE[1], "agentType": HOSTILE[0]}
    assert number > 60
    for is_redacted in (True, False):
        folder = tmp_path / str(is_redacted)
        folder.mkdir()
        look = watched(export(folder, files(rows[0], rows[1], meta), is_redacted=is_redacted))
        page = look.page
        page.locator("#levels").get_by_text("Everything").click()
        for branch in ("1", "2"):
            page.select_option("#branch", branch)
            page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            page.mouse.move(200, 400)
            page.keyboard.press("Tab")
        page.evaluate(RUN_TASKS)
        assert page.evaluate("window.hit") is None
        assert page.evaluate("document.scripts.length") == 1
        assert (
            page.evaluate(
                "document.querySelectorAll('iframe, object, embed, base, form, meta[http-equiv=refresh]').length"
            )
            == 0
        )
        assert (
            page.evaluate(
                "[...document.querySelectorAll('*')].flatMap(one => [...one.attributes]).filter("
                "one => /^on/i.test(one.name) || one.name === 'style'"
                " || one.name === 'href' && /^\\s*javascript:/i.test(one.value))"
                ".map(one => one.name)"
            )
            == []
        )
        assert look.wrong == []


def test_a_folder_of_chats_is_searched_without_a_server(watched: Callable[..., WatchedExport], tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session(BRANCHES))
    with shelf.open() as library:
        library.update()
        shared = share(library, library.chats()[0], redactor())
        entry = exported_chat("chat.html", shared, shared.overview)
        other = entry._replace(
            file="other.html", title="Überall <b>Tee</b>", prompts=("</script><script>window.hit=1",)
        )
        pages = {
            "index.html": index_page([entry, other], export_assets(), title="All", is_redacted=True),
            "chat.html": exported(shared, "html", export_assets(), back="index.html"),
        }
        for name, page in pages.items():
            (tmp_path / name).write_text("".join(page), encoding="utf-8")
    look = watched(tmp_path / "index.html")
    rows = look.page.locator("#chats tbody tr")
    assert rows.count() == 2
    look.page.keyboard.press("/")
    look.page.keyboard.type("lexer")
    assert [row.is_visible() for row in rows.all()] == [True, False]
    assert look.page.get_by_text("and now the lexer").is_visible()
    look.page.locator("#chats-find").fill("uberall TEE")
    assert [row.is_visible() for row in rows.all()] == [False, True]
    assert look.page.get_by_text("1 of 2 chats").is_visible()
    look.page.locator("#chats-find").fill("")
    look.page.locator("#chats a").first.click()
    look.page.wait_for_selector("#messages article")
    look.page.get_by_text("All chats").click()
    look.page.wait_for_selector("#chats")
    assert look.page.evaluate("window.hit") is None
    assert look.wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_scrolling_sideways(
    watched: Callable[..., WatchedExport], tmp_path: Path, scheme: str
) -> None:
    wide = json.dumps({"command": "x" * 500, "description": "y" * 300})
    drawing = DRAWN.replace('{"command": "ls -l", "description": "look"}', wide)
    look = watched(
        export(tmp_path, session(drawing)), viewport={"width": 390, "height": 800}, color_scheme=scheme
    )  # fmt: skip
    look.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert look.page.evaluate("document.documentElement.scrollWidth") <= 390
    look.page.get_by_role("button", name="Outline").click()
    look.page.locator("#side .outline:visible a").first.click()
    assert look.page.locator("#side").is_hidden()
    assert look.wrong == []
