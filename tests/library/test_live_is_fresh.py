"""An open chat that follows its files shows what one that is opened afresh shows, whatever is written and by whom."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.chats.following import _FollowedChat
from backscroll.library.chats.open_chats import OpenChats
from backscroll.library.library import Library
from backscroll.render.chats import message_as_json
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path

DRAWING = """
@ version=2.1.42 session=live cwd=/home/ada/shop
a <- - user: fix the parser
b <- a call(m1) t1 Bash {"command": "cat session.jsonl"}
c <- b result t1: shortened
d <- c assistant(m2): Del
"""
LIVE = session_path("live")
SPILLED = LIVE.removesuffix(".jsonl") + "/tool-results/t1.txt"
OTHER = """
@ version=2.1.42 session=other cwd=/home/ada/shop
x <- - user: quite another chat
y <- x assistant(m9): it is
"""
Shown = list[tuple[str, Any]]


def shown(library: Library, reader: ChatReader) -> Shown:
    branch_messages = reader.branch_messages()
    messages = reader.messages(library, branch_messages, branch_messages.keys)
    return [(message.key, message_as_json(message)) for message in messages]


class OpenPage:
    """A page of the viewer: opened once under an address, it applies the changes of which it is told."""

    def __init__(self, shelf: Shelf, library: Library, address: str) -> None:
        self.shelf, self.library, self.address = shelf, library, address
        self.open_chats = OpenChats()
        self.load()

    def load(self) -> None:
        reader = self.open_chats.open(self.library, self.address)
        self.chat, self.cursor = reader.stored.overview.id, reader.cursor
        self.messages = dict(shown(self.library, reader))
        self.order = list(self.messages)

    def tell(self, *paths: str) -> None:
        """What the viewer does when files changed."""
        self.library.renew()
        if self.chat not in self.open_chats.take(self.library, [self.shelf.source(path) for path in paths]):
            return
        reader = self.open_chats.open(self.library, self.chat)
        changes = reader.changes(self.library, 1, self.cursor, is_live=False)
        if changes.is_reset:
            self.load()
            return
        for message, after in changes.messages:
            if message.key not in self.messages:
                self.order.insert(self.order.index(after) + 1 if after else 0, message.key)
            self.messages[message.key] = message_as_json(message)
        self.cursor = changes.cursor

    def check(self) -> None:
        with self.shelf.rebuilt().open() as fresh:
            expected = shown(fresh, ChatReader(fresh, fresh.find(self.address)))
        assert [(key, self.messages[key]) for key in self.order] == expected


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path).write({LIVE: jsonl(draw(DRAWING)), session_path("other"): jsonl(draw(OTHER))})
    shelf.update()
    return shelf


@pytest.fixture
def page(shelf: Shelf) -> Iterator[OpenPage]:
    with shelf.open() as library:
        yield OpenPage(shelf, library, library.find("a").overview.id)


def line_of(row: dict[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"


def again(shelf: Shelf, text: str) -> bytes:
    """The last row of the session once more, under its uuid, with another text."""
    row = json.loads((shelf.home / LIVE).read_bytes().splitlines()[-1])
    row["message"]["content"] = [{"type": "text", "text": text}] if row["type"] == "assistant" else text
    return line_of(row)


def test_a_row_that_is_written_again_under_its_id_replaces_what_it_said(shelf: Shelf, page: OpenPage) -> None:
    for text in ("Delta", "Delta zyxzebra"):
        shelf.append("live", again(shelf, text))
        page.tell(LIVE)
        assert page.messages["d"]["text"] == text
        page.check()


@pytest.mark.parametrize("at_once", [True, False])
def test_what_was_written_over_is_found_no_more_and_its_calls_count_once(shelf: Shelf, at_once: bool) -> None:
    call = json.loads((shelf.home / LIVE).read_bytes().splitlines()[1])
    for word in ("zyxfirst", "zyxsecond", "zyxlast"):
        call["message"]["content"][0]["input"] = {"command": f"cat {word}"}
        shelf.append("live", line_of(call))
        if not at_once:
            shelf.update()
    shelf.update()
    for one in (shelf, shelf.rebuilt()):
        with one.open() as library:
            found = {word: library.search(word).total for word in ("cat", "zyxfirst", "zyxsecond", "zyxlast")}
            assert found == {"cat": 1, "zyxfirst": 0, "zyxsecond": 0, "zyxlast": 1}
            assert library.sql("select call, state from v_tool_calls").rows == [("t1", "done")]


def test_an_output_that_is_itself_a_transcript_is_no_part_of_the_chat(shelf: Shelf, page: OpenPage) -> None:
    before = list(page.order)
    own = jsonl(draw(DRAWING))
    shelf.write({SPILLED: own})
    shelf.update()
    page.tell(SPILLED)
    (shelf.home / SPILLED).write_bytes(own + line_of(row("z", "d", "zyxhostile")))
    shelf.update()
    page.tell(SPILLED)
    assert page.order == before
    page.check()


def test_a_rebuilt_index_does_not_turn_a_chat_into_another(shelf: Shelf, page: OpenPage) -> None:
    with shelf.open() as library:
        chat = library.find("a")
        followed = _FollowedChat(library, chat)
        renumber(shelf)
        library.renew()
        assert library.find("a").key != chat.key
        rewritten = [*jsonl(draw(DRAWING)).splitlines(keepends=True)[:3], line_of(row("e", "c", "and the zyxtests"))]
        (shelf.home / LIVE).write_bytes(b"".join(rewritten))
        shelf.update()
        assert [message.key for message in followed.take([shelf.source(LIVE)])] == ["e"]
    page.tell(LIVE)
    page.check()


def test_a_page_goes_on_when_its_chat_becomes_part_of_another(shelf: Shelf, page: OpenPage) -> None:
    shelf.write({session_path("first"): jsonl(draw(EARLIER))})
    shelf.append("live", line_of(row("e", "d", "goes on")))
    shelf.update()
    with shelf.open() as library:
        assert library.find("a").overview.id != page.chat
    page.tell(session_path("first"), LIVE)
    assert page.order[-1] == "e"
    page.check()
    shelf.append("live", line_of(row("f", "e", "and on")))
    page.tell(LIVE)
    assert page.order[-1] == "f"


EARLIER = """
@ version=2.1.42 session=first time=2026-01-04T10:00:00.000Z cwd=/home/ada/shop
o <- - user: what was before
a <- o user: fix the parser
"""


def row(uuid: str, parent: str, text: str) -> dict[str, Any]:
    drawing = f"@ version=2.1.42 session=live time=2026-01-06T10:00:00.000Z cwd=/home/ada/shop\n{uuid} <- {parent} "
    (found,) = draw(drawing + f"user: {text}")
    return found


def renumber(shelf: Shelf) -> None:
    """A rebuild in which another chat comes first."""
    longer = jsonl(draw("".join(f"w{number} <- - user: number {number}\n" for number in range(20))))
    shelf.write({session_path("longer", "projects/-a"): longer})
    with shelf.open() as library:
        library.rebuild()


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.all) for seed in range(8, 100))])
def test_after_any_history_a_page_shows_what_a_new_page_shows(shelf: Shelf, page: OpenPage, seed: int) -> None:
    chance = random.Random(seed)
    last = "d"

    def goes_on() -> str:
        nonlocal last
        uuid = f"r{chance.randrange(10**9)}"
        parent = last if chance.random() < 0.8 else chance.choice("abcd")
        shelf.append("live", line_of(row(uuid, parent, f"step {uuid}")))
        last = uuid
        return LIVE

    def written_again() -> str:
        shelf.append("live", again(shelf, f"again {chance.randrange(100)}"))
        return LIVE

    def spilled() -> str:
        shelf.write({SPILLED: jsonl(draw(OTHER))})
        return SPILLED

    def merged() -> str:
        shelf.write({session_path("first"): jsonl(draw(EARLIER))})
        return session_path("first")

    def rebuilt() -> str:
        renumber(shelf)
        return goes_on()

    steps: list[Callable[[], str]] = [goes_on, goes_on, goes_on, written_again, spilled, merged, rebuilt]
    for _ in range(chance.randint(2, 8)):
        changed = chance.choice(steps)()
        if chance.random() < 0.5 or changed != LIVE:
            shelf.update()
        page.tell(changed, LIVE)
    shelf.update()
    page.tell(LIVE)
    page.check()
