"""Finding and resuming, sharing, comparing branches, and what happened to a file, in a real browser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from tests.journeys.house import FORKED, SMALL, House
from tests.journeys.visitor import NARROW, WIDE, Site, Visitor, be_ready, keep_picture, looks, too_wide, wait_in_window
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import session_file
from tests.web.served import serving

TOKEN = "ghp_" + "a1B2" * 9
SECRET = f"""
@ cwd=/home/ada/shop time=2026-08-19T10:00
a <- - user: deploy with {TOKEN}
b <- a thinking(m1): perhaps-thought
c <- b call(m1) t1 Write {{"file_path": "/home/ada/shop/Makefile", "content": "all:\\n\\techo done\\n"}}
d <- c result t1: done {{"toolUseResult": {{"type": "create", "filePath": "/home/ada/shop/Makefile", \
    "content": "all:\\n\\techo done\\n", "structuredPatch": []}}}}
e <- d assistant(m2): deployed
custom-title: Fix the parser
"""
CHAT = session_uuid("secret")


@pytest.fixture
def site(visitor: Visitor, tmp_path: Path) -> Iterator[Site]:
    shelf = Shelf(tmp_path).write(session_file("secret", SECRET))
    shelf.update()
    with serving(shelf, require_key="always") as served:
        yield Site.of(served)
        visitor.leave()


def grave(page: Page) -> list[str]:
    """What axe finds seriously wrong with the page as it is."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in ("serious", "critical")
    ]


def copied(page: Page, what: str) -> str:
    expect(page.locator(".toasts")).to_contain_text(what)
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_a_chat_is_found_and_resumed_by_keys_alone(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, permissions=["clipboard-read", "clipboard-write"])
    page.keyboard.press("/")
    page.keyboard.type("pomegranates post")
    page.keyboard.press("Enter")
    page.locator(".results a[href*='/chats/']").first.click()
    expect(page.locator("#resume")).to_be_visible()
    be_ready(page)
    page.keyboard.press("R")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Copy command")).to_be_focused()
    page.keyboard.press("Enter")
    assert (
        copied(page, "Copied resume command")
        == f"cd /home/ada/blog && CLAUDE_CONFIG_DIR={house.shelf.home} claude --resume {SMALL}"
    )
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(dialog.get_by_role("button", name="Copy path")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".toasts")).to_contain_text("Copied path")
    assert page.evaluate("navigator.clipboard.readText()") == "/home/ada/blog"
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.locator("#resume")).to_be_focused()


def test_of_a_rewound_branch_resume_says_where_the_session_goes_on(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, f"/chats/{FORKED}?branch=2")
    be_ready(page)
    page.locator("#resume").click()
    expect(page.get_by_role("dialog")).to_contain_text("Branch 2 was rewound")
    expect(page.get_by_role("dialog").get_by_role("button", name="Open a terminal")).to_have_count(0)


def test_what_is_shared_is_masked_and_named_and_has_what_was_chosen(site: Site, visitor: Visitor) -> None:
    page = visitor.page(site, f"/chats/{CHAT}")
    be_ready(page)
    page.keyboard.press("S")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 secret will be masked: github-token 1")
    expect(dialog).to_contain_text("2026-08-19 fix-the-parser.html")
    expect(dialog).to_contain_text("ghp_…")
    dialog.get_by_role("radio", name="JSON for programs").check()
    dialog.get_by_label("Thinking").check()
    expect(dialog).to_contain_text("2026-08-19 fix-the-parser.json")
    with page.expect_download() as saved:
        dialog.get_by_role("button", name="Save the file").click()
    assert saved.value.suggested_filename == "2026-08-19 fix-the-parser.json"
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    assert TOKEN not in text
    assert "perhaps-thought" not in text
    assert "[redacted: github-token]" in json.dumps(json.loads(text))
    expect(dialog).to_have_count(0)


def test_only_a_tick_makes_secrets_readable(site: Site, visitor: Visitor) -> None:
    page = visitor.page(site, f"/chats/{CHAT}")
    be_ready(page)
    page.locator("#share").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Do not mask anything").check()
    expect(dialog).to_contain_text("1 secret will be readable")
    with page.expect_download() as saved:
        dialog.get_by_role("button", name="Save the file").click()
    assert TOKEN in Path(saved.value.path()).read_text(encoding="utf-8")


def test_copied_markdown_is_masked_and_says_so(site: Site, visitor: Visitor) -> None:
    page = visitor.page(site, f"/chats/{CHAT}", permissions=["clipboard-read", "clipboard-write"])
    be_ready(page)
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Copy Markdown").click()
    assert "[redacted: github-token]" in copied(page, "1 secret masked")


@pytest.mark.parametrize(("theme", "size"), looks(0))
def test_two_branches_are_compared(visitor: Visitor, house: House, theme: str, size: dict[str, int]) -> None:
    page = visitor.page(house.site, f"/chats/{FORKED}", color_scheme=theme, viewport=size)
    be_ready(page)
    banner = page.get_by_role("note", name="Branch")
    expect(banner).to_contain_text("Branch 1 of 2, the active one")
    page.keyboard.press("}")
    page.wait_for_url(re.compile("branch=2"))
    wait_in_window(page, "#m-fc")  # and not the top of a page that looks the same
    expect(page.locator("#m-fc")).to_contain_text("Make it blue")
    expect(banner).to_contain_text("Branch 2 of 2 leaves branch 1 after “Draw a logo”")
    be_ready(page)
    page.keyboard.press("b")
    expect(page.get_by_role("heading", name="Compare branches")).to_be_visible()
    left, right = page.get_by_role("region", name="Branch 1"), page.get_by_role("region", name="Branch 2")
    expect(left).to_contain_text("It is red now.")
    expect(right).to_contain_text("It is blue now.")
    boxes = [part.bounding_box() for part in (left, right)]
    assert boxes[0] and boxes[1]
    is_beside = boxes[0]["y"] == boxes[1]["y"]
    assert is_beside == (size == WIDE)
    assert not too_wide(page)
    keep_picture(page, f"compare {theme}")
    page.locator("[data-ready]").wait_for(state="attached")
    page.keyboard.press("x")
    page.wait_for_url(re.compile("left=2"))
    expect(page.get_by_role("region", name="Branch 2")).to_contain_text("It is blue now.")


def test_what_happened_to_a_file_is_shown_with_its_tabs(site: Site, visitor: Visitor) -> None:
    page = visitor.page(site, f"/chats/{CHAT}")
    be_ready(page)
    page.get_by_role("link", name="history of this file").first.click()
    page.get_by_role("link", name="Versions").click()
    line = page.locator(".code .line", has_text="echo done")
    expect(line).to_be_visible()
    tab = page.evaluate("""() => {
      const line = [...document.querySelectorAll(".code .line")].find(one => one.textContent.includes("echo"));
      const range = document.createRange();
      const text = document.createTreeWalker(line, NodeFilter.SHOW_TEXT).nextNode();
      range.setStart(text, 0);
      range.setEnd(text, 1);
      const letter = document.createElement("span");
      letter.textContent = "x";
      line.after(letter);
      return range.getBoundingClientRect().width / letter.getBoundingClientRect().width;
    }""")
    assert round(tab, 1) == 4


@pytest.mark.all
@pytest.mark.parametrize(("theme", "size"), looks(1))
def test_nothing_serious_is_wrong_with_the_dialogs(
    visitor: Visitor, house: House, theme: str, size: dict[str, int]
) -> None:
    context = visitor.context(house.site, color_scheme=theme, viewport=size, bypass_csp=True, reduced_motion="reduce")
    page, wrong = context.new_page(), []
    for name in ("resume", "share"):
        page.goto(f"{house.site}/chats/{FORKED}?branch=2")
        be_ready(page)
        page.locator(f"#{name}").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        if name == "share":
            expect(page.get_by_role("dialog")).to_contain_text("No secrets were found")
        assert not too_wide(page)
        keep_picture(page, f"{name} {theme}")
        wrong += [f"{name}: {told}" for told in grave(page)]
        page.goto(f"{house.site}/chats/{FORKED}/{name}?branch=2")  # the same without scripts
        wrong += [f"{name}, its page: {told}" for told in grave(page)]
    page.goto(f"{house.site}/chats/{FORKED}")
    be_ready(page)
    for name, keys in (("menu", "."), ("palette", "Control+k"), ("shortcuts", "?"), ("find", "s")):
        page.keyboard.press(keys)
        opened = {"menu": "#more[open]", "find": "#find"}.get(name, "dialog[open]")
        expect(page.locator(opened)).to_be_visible()
        assert not too_wide(page)
        wrong += [f"{name}: {told}" for told in grave(page)]
        page.keyboard.press("Escape")
        expect(page.locator("dialog[open], #more[open]")).to_have_count(0)
    if size == NARROW:
        page.get_by_role("button", name="Outline").click()
        wrong += [f"outline: {told}" for told in grave(page)]
    page.goto(f"{house.site}/chats/{FORKED}/compare")
    wrong += [f"compare: {told}" for told in grave(page)]
    assert wrong == []
