"""The page of a chat's context: counted totals, estimated parts that add up, and the way there from the chat."""

import re
from pathlib import Path

from tests.library.analytics.test_spend import DRAWING
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path
from tests.web.shown import Viewer


def test_the_parts_of_each_turn_add_up_to_its_total(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(DRAWING))})
    shelf.update()
    viewer = Viewer(shelf)
    chat = f"/chats/{session_uuid('S1')}"
    assert f"{chat}/context" in viewer.get(chat).hrefs(chat)  # from the gauge
    for turn, total in ((1, 80_000), (2, 81_000), (3, 82_000)):
        page = viewer.get(f"{chat}/context?turn={turn}")
        assert f"Turn {turn} of 3" in page.text
        cells = re.findall(r'data-label="Tokens">([\d,]+)<', viewer.ask("GET", f"{chat}/context?turn={turn}").text)
        *parts, last = (int(text.replace(",", "")) for text in cells)
        assert sum(parts) == last == total
    assert "Totals are counted, parts are estimated" in page.text
    viewer.get("/chats/nothing/context", 404)


def test_a_chat_without_counted_tokens_says_so(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw("a <- - user: hello"))})
    shelf.update()
    assert "No answer of this chat" in Viewer(shelf).get(f"/chats/{session_uuid('S1')}/context").text
