"""The page of a chat of which only files of agents are left."""

from pathlib import Path

from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import agent_path
from tests.web.shown import Viewer

COPY = """
@ session=S1 agent=acompact-9f3c cwd=/home/ada/shop
a <- - user: where is the walrus?
b <- a assistant(m1): behind the ferry
"""
OTHER = """
@ session=S1 agent=x1 cwd=/home/ada/shop time=2026-01-06T10:00
c <- - user: count the ferries
d <- c assistant(m2): seven of them
"""


def test_it_shows_the_first_agent_links_to_the_others_and_says_why(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({
        agent_path("S1", "acompact-9f3c"): jsonl(draw(COPY)),
        agent_path("S1", "x1"): jsonl(draw(OTHER)),
    })  # fmt: skip
    shelf.update()
    viewer = Viewer(shelf)
    address = f"/chats/{session_uuid('S1')}"
    assert address in [link.href for link in viewer.get("/chats").links]
    page = viewer.get(address)
    assert "The session's own file is not there" in page.text
    assert "behind the ferry" in page.text
    assert "seven of them" not in page.text
    assert f"{address}/agents/x1" in [link.href for link in page.links]
    assert "seven of them" in viewer.get(f"{address}/agents/x1").text
