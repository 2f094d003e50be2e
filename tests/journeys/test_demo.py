"""The demo in a real browser: everything is there at once, and a session continues live."""

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.demo.support import DemoMachine
from tests.journeys.visitor import Visitor, be_ready, keep_picture, looks, too_wide
from tests.web.served import free_port

LONG_CHAT = "The flaky order test"


def last_words(machine: DemoMachine) -> str:
    """Something of the last answer in the session that is played, without any Markdown in it."""
    (script,) = machine.temporary.glob("*/live.jsonl")
    rows = [json.loads(line) for line in script.read_bytes().splitlines()]
    texts = [
        block["text"]
        for row in rows
        if row["type"] == "assistant"
        for block in row["message"]["content"]
        if block["type"] == "text"
    ]
    words: list[str] = re.findall(r"[\w ,]+", texts[-1])
    return max(words, key=len).strip()


@contextmanager
def demo(visitor: Visitor, machine: DemoMachine, *options: object, **looks: Any) -> Iterator[Page]:  # noqa: ANN401
    """The first page of a demo that runs; at the end nothing is left of it."""
    with machine.running("demo", "--no-browser", "--port", free_port(), *options) as process:
        assert process.stdout
        link = urlsplit(process.stdout.readline().strip())
        yield visitor.page(f"{link.scheme}://{link.netloc}", f"{link.path}?{link.query}", **looks)
        visitor.leave()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert not machine.rooms


@pytest.mark.all
@pytest.mark.parametrize(("theme", "size"), looks(1))
def test_a_session_appears_and_grows(visitor: Visitor, tmp_path: Path, theme: str, size: dict[str, int]) -> None:
    machine = DemoMachine(tmp_path)
    with demo(visitor, machine, "--speed", "20", color_scheme=theme, viewport=size) as page:
        expect(page.get_by_role("note")).to_contain_text("sample conversations")
        expect(page.get_by_role("region", name="Recent chats").get_by_role("listitem").first).to_be_visible()
        live = page.locator("#live a").first
        expect(live).to_be_visible()
        assert not too_wide(page)
        keep_picture(page, f"demo {theme}")
        live.click()
        expect(page.locator("#messages")).to_contain_text(last_words(machine))
        assert not too_wide(page)
        keep_picture(page, f"demo chat {theme}")


def test_the_flaky_test_is_found_and_its_chat_read_with_both_branches(visitor: Visitor, tmp_path: Path) -> None:
    with demo(visitor, DemoMachine(tmp_path)) as page:
        page.get_by_role("region", name="Recent chats").get_by_text(LONG_CHAT).click()
        be_ready(page)
        expect(page.locator("#messages")).to_contain_text("We have a flaky test")
        page.locator("header").locator("#search").fill("flaky test role:answer")
        page.keyboard.press("Enter")
        expect(page.locator(".results")).to_contain_text(LONG_CHAT)
        page.locator(".results .passages a", has_text="Twenty runs give a rate").click()
        be_ready(page)
        expect(page.locator("article", has_text="Twenty runs give a rate")).to_be_in_viewport()
        keep_picture(page, "demo found")
        page.get_by_role("navigation", name="Branches from here").get_by_role("link", name="Previous branch").click()
        expect(page.locator("#messages")).to_contain_text("a rarer flaky test is a worse flaky test")
        assert not too_wide(page)
        keep_picture(page, "demo rewound")
