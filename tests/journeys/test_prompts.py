"""Saving a prompt from a chat, filling it in and copying it, in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from backscroll.library.prompts.prompt_file import PromptFile
from tests.journeys.test_dialogs import grave
from tests.journeys.visitor import Site, Visitor, be_ready, keep_picture, looks, too_wide
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import session_file
from tests.support.processes import until
from tests.web.served import serving

CHAT = """
@ cwd=/home/ada/shop time=2026-01-05T10:00
a <- - user: Review the branch main and list the risks
b <- a assistant(m1): there are none
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path).write(session_file("shop", CHAT))
    shelf.update()
    return shelf


@pytest.fixture
def site(visitor: Visitor, shelf: Shelf) -> Iterator[Site]:
    with serving(shelf, require_key="always") as served:
        yield Site.of(served)
        visitor.leave()


@pytest.mark.parametrize(("scheme", "viewport"), looks(0))
def test_a_prompt_is_saved_filled_in_and_copied_with_the_keyboard(
    visitor: Visitor, site: Site, shelf: Shelf, scheme: str, viewport: dict[str, int]
) -> None:
    context = visitor.context(site, color_scheme=scheme, viewport=viewport, bypass_csp=True)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{site}/chats/{session_uuid('shop')}")
    be_ready(page)
    page.locator("#m-a").get_by_role("link", name="save prompt").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Save this prompt")
    expect(dialog.locator("input[name=name]")).to_be_focused()
    assert grave(page) == []
    keep_picture(page, f"save-prompt-{scheme}")
    page.keyboard.press("Control+A")
    page.keyboard.type("review")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("Review {{branch}}, then {{branch}} again, in {{folder}}.")
    dialog.locator("input[name=tags]").fill("git")
    dialog.get_by_role("button", name="Save").press("Enter")
    expect(page).to_have_url(f"{site}/prompts/review")
    expect(page.get_by_label("branch", exact=True)).to_be_focused()
    expect(page.get_by_role("button", name="Fill in")).to_have_count(0)
    page.keyboard.type("<main>")
    text = page.locator("#prompt-text")
    expect(text).to_have_text("Review <main>, then <main> again, in {{folder}}.")
    page.get_by_role("button", name="Copy").press("Enter")
    expect(page.locator(".toasts")).to_contain_text("No value for folder")
    expect(page.get_by_label("folder", exact=True)).to_be_focused()
    page.keyboard.type("src")
    assert grave(page) == []
    assert too_wide(page) == []
    keep_picture(page, f"prompt-{scheme}")
    page.get_by_role("button", name="Copy").press("Enter")
    expect(page.locator(".toasts")).to_contain_text("Copied prompt")
    assert page.evaluate("navigator.clipboard.readText()") == "Review <main>, then <main> again, in src."
    until(lambda: PromptFile(shelf.folder).find("review").uses == 1)
    page.goto(f"{site}/prompts")
    expect(page.locator(".prompt-list li")).to_contain_text("1 use")
