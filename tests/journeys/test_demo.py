"""The demo in a real browser: everything is there at once, and a session goes on before the reader's eyes."""

import json
import re
import signal
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.demo.support import Machine
from tests.journeys.visitor import NARROW, WIDE, Visitor, keep_picture, too_wide
from tests.web.served import free_port

LOOKS = [("light", WIDE), ("dark", NARROW)]


def last_words(machine: Machine) -> str:
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


@pytest.mark.parametrize(("theme", "size"), LOOKS, ids=["light and wide", "dark and narrow"])
def test_a_session_appears_and_grows(visitor: Visitor, tmp_path: Path, theme: str, size: dict[str, int]) -> None:
    machine = Machine(tmp_path)
    with machine.running("demo", "--no-browser", "--port", free_port(), "--speed", "20") as process:
        assert process.stdout
        link = urlsplit(process.stdout.readline().strip())
        site = f"{link.scheme}://{link.netloc}"
        page = visitor.page(site, f"{link.path}?{link.query}", color_scheme=theme, viewport=size)
        expect(page.get_by_role("note")).to_contain_text("sample conversations")
        expect(page.get_by_role("region", name="Last chats").get_by_role("listitem").first).to_be_visible()
        live = page.locator("#live a").first
        expect(live).to_be_visible()
        assert not too_wide(page)
        keep_picture(page, f"demo {theme}")
        live.click()
        expect(page.locator("#messages")).to_contain_text(last_words(machine))
        assert not too_wide(page)
        keep_picture(page, f"demo chat {theme}")
        visitor.leave()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert not machine.rooms
