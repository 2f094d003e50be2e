"""Files that the viewer hands out, and texts that it lets one copy: masked unless the address says otherwise."""

from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path
from tests.web.shown import Viewer

TOKEN = "ghp_" + "a1B2" * 9
CHAT = f"""
@ session=S1 cwd=/home/ada/shop time=2026-01-05T10:00
a <- - user: use {TOKEN} for ada@example.org
b <- a call(m1) t1 Bash {{"command": "echo {TOKEN}"}}
c <- b result t1: {TOKEN}
d <- c assistant(m2): done
e <- b user: undo that
f <- e assistant(m3): undone
custom-title: Größe of the parser
"""
ADDRESS = f"/chats/{session_uuid('S1')}"
FORMS = ("html", "md", "json", "jsonl")


@pytest.fixture
def viewer(tmp_path: Path) -> Viewer:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(CHAT))})
    shelf.update()
    return Viewer(shelf)


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_masked_unless_it_is_asked_for_unmasked(viewer: Viewer, form: str) -> None:
    masked = viewer.ask("GET", f"{ADDRESS}/export?format={form}")
    assert TOKEN not in masked.text
    assert "ada@example.org" in masked.text
    assert TOKEN in viewer.ask("GET", f"{ADDRESS}/export?format={form}&unmasked=1").text
    assert "ada@example.org" not in viewer.ask("GET", f"{ADDRESS}/export?format={form}&emails=1").text


@pytest.mark.parametrize("form", FORMS)
def test_a_file_has_a_name_that_people_can_read(viewer: Viewer, form: str) -> None:
    disposition = viewer.ask("GET", f"{ADDRESS}/export?format={form}").headers["content-disposition"]
    assert f'filename="2026-01-05 gr__e-of-the-parser.{form}"' in disposition
    assert unquote(disposition.rpartition("''")[2]) == f"2026-01-05 größe-of-the-parser.{form}"


@pytest.mark.parametrize(("branch", "has", "lacks"), [("1", "undone", "done\n"), ("2", "done", "undone")])
def test_copied_markdown_is_masked_and_says_so(viewer: Viewer, branch: str, has: str, lacks: str) -> None:
    copied = viewer.ask("GET", f"{ADDRESS}/markdown?branch={branch}")
    assert copied.headers["backscroll-masked"] == "1"
    assert TOKEN not in copied.text
    assert has in copied.text
    assert f"\n{lacks}" not in copied.text


def test_a_copied_message_is_masked_and_says_so(viewer: Viewer) -> None:
    copied = viewer.ask("GET", f"{ADDRESS}/messages/t1/markdown")
    assert (copied.status, copied.headers["backscroll-masked"]) == (200, "1")
    assert TOKEN not in copied.text
    assert "echo [redacted: github-token]" in copied.text
    assert viewer.ask("GET", f"{ADDRESS}/messages/none/markdown").status == 404


def test_choices_that_do_not_exist_are_errors(viewer: Viewer) -> None:
    assert viewer.ask("GET", f"{ADDRESS}/export?format=exe").status == 400
    assert viewer.ask("GET", f"{ADDRESS}/export?branch=3").status == 404
    assert viewer.ask("GET", f"{ADDRESS}/export?branch=x").status == 400
