"""What holds for every list, search and settings page, whatever the home holds."""

from collections import deque
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import EVERYTHING, session_path
from tests.web.shown import Viewer

PAGES = (
    "/", "/chats", "/chats?by=project", "/chats?sort=cost", "/projects", "/search", "/search?q=the",
    "/search?q=is:agent", "/search?q=/[a-z]%2B/", "/search?q=nowhere-to-be-found", "/settings", "/settings?check=1",
    "/live", "/palette?q=a",
)  # fmt: skip
HOSTILE = """<script>alert(1)</script><img src=x onerror=alert(2)>"'><svg onload=alert(3)>"""


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Viewer:
    shelf = Shelf(tmp_path_factory.mktemp("shelf")).write(EVERYTHING)
    shelf.update()
    return Viewer(shelf)


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_well_made(viewer: Viewer, path: str) -> None:
    page = viewer.get(path)
    for tag, values in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in values), (tag, values)
    assert all(script["src"].startswith("/static/") for script in page.all("script"))
    names = [values["id"] for _, values in page.elements if "id" in values]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", [path for path in PAGES if path not in ("/live", "/palette?q=a")])
def test_pages_can_be_found_around_in(viewer: Viewer, path: str) -> None:
    page = viewer.get(path)
    assert len(page.all("main")) == len(page.all("h1")) == 1
    assert len([form for form in page.all("form") if form.get("action") == "/search"]) == 1
    for field in page.all("input"):
        is_in_a_label = field["type"] in ("hidden", "radio")
        assert is_in_a_label or "aria-label" in field, field
    assert all("aria-label" in select for select in page.all("select"))


def test_every_link_leads_somewhere(viewer: Viewer) -> None:
    ours = ("/", "/chats", "/projects", "/search", "/settings")
    waiting, seen = deque(ours), set(ours)
    while waiting and len(seen) < 150:
        page = viewer.get(waiting.popleft())
        for href in page.hrefs("/"):
            if urlsplit(href).path in ours and href not in seen and len(seen) < 150:
                seen.add(href)
                waiting.append(href)
    assert len(seen) == 150


def test_static_files_are_there(viewer: Viewer) -> None:
    for path in PAGES[:12]:
        page = viewer.get(path)
        files = [script["src"] for script in page.all("script")] + [link["href"] for link in page.all("link")]
        for file in files:
            assert viewer.ask("GET", file).status == 200, file


def test_what_comes_from_a_transcript_is_only_text(tmp_path: Path) -> None:
    rows = draw(
        """
        @ session=S1 cwd=/home/ada/shop branch=main
        a <- - user: words to be found
        b <- a call(m1) t1 Bash {"command": "ls"}
        c <- b result t1: words
        """
    )
    for row in rows:
        row |= {"cwd": f"/home/{HOSTILE}", "gitBranch": HOSTILE}
        message = row.get("message")
        if isinstance(message, dict) and isinstance(message.get("content"), str):
            message["content"] = f"{HOSTILE} words"
        if isinstance(message, dict) and "model" in message:
            message["model"] = HOSTILE
            message["content"][0]["name"] = HOSTILE
    rows.append({"type": "custom-title", "customTitle": HOSTILE, "sessionId": rows[0]["sessionId"]})
    rows.append({"type": HOSTILE, HOSTILE: HOSTILE})
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(rows)})
    shelf.update()
    viewer = Viewer(shelf)
    for path in ("/", "/chats", "/chats?by=project", "/projects", "/search?q=words", "/search?q=script", "/palette",
                 "/settings?check=1", "/chats?q=<script>", "/search?q=<script>alert(1)</script>"):  # fmt: skip
        page = viewer.get(path)
        assert not page.all("img"), path
        assert [script for script in page.all("script") if not script.get("src", "").startswith("/static/")] == []
        assert "alert(1)" in page.text or path in ("/settings?check=1", "/chats?q=<script>"), path
