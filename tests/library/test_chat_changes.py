"""A chat read in pieces equals the chat read as a whole, and stays so while it grows."""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import Message
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.chats.find_in_chat import find_in
from backscroll.library.chats.open_chats import OpenChats
from backscroll.library.chats.outline import crossings_of, outline_of
from backscroll.library.library import Library
from backscroll.library.local import local_library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import EVERYTHING, FAMILIES, session_path

DRAWING = """
@ version=2.1.42 session=live cwd=/home/ada/shop
a <- - user: fix the parser
b <- a thinking(m1): where is it?
c <- b call(m1) t1 Read {"file_path": "x.py"}
d <- c result t1: contents of the file
e <- d assistant(m2): done, it was a typo
f <- e user: and now the tests
g <- f call(m3) t2 Bash {"command": "pytest"}
h <- g call(m3) t3 Bash {"command": "ruff check"}
i <- g result t2: 3 passed
j <- h error t3: E501 line too long
k <- j assistant(m4): all is well
"""
RETRIED = """
l <- k user: thank you
m <- l system api_error: overloaded
n <- m system api_error: overloaded
o <- n system informational: waiting
p <- o system api_error: overloaded
q <- p system api_error: reset
r <- q assistant(m5): you are welcome
"""


def said(messages: list[Message]) -> list[tuple[Any, ...]]:
    return [
        (
            message.key, message.id, message.kind, message.text, message.usage, message.starts_part,
            [row.uuid for row in message.rows],
            [(call.id, call.name, call.state, call.result and call.result.row.uuid) for call in message.calls.values()],
        )
        for message in messages
    ]  # fmt: skip


def shelf_of(tmp_path: Path, files: Mapping[str, bytes | str]) -> Shelf:
    shelf = Shelf(tmp_path).write(files)
    shelf.update()
    return shelf


def check_all(library: Library) -> int:
    """Every branch and agent of every chat, compared with the chat that is read whole; how many messages."""
    count = 0
    for stored in library.chats():
        reader, opened = ChatReader(library, stored), library.open(stored)
        shared: dict[str, None] = {}
        for branch in opened.chat.branches:
            branch_messages = reader.branch_messages(branch.number)
            messages = reader.messages(library, branch_messages, branch_messages.keys)
            expected = said(opened.messages(branch))
            own = [one for one in said(messages) if one[0] not in shared]
            assert own == expected, stored.overview.id
            shared |= dict.fromkeys(message.key for message in messages)
            count += len(messages)
        for agent in opened.chat.agents:
            branch_messages = reader.agent_branch(reader.agent(agent.id))
            assert said(reader.messages(library, branch_messages, branch_messages.keys)) == said(
                opened.agent_messages(agent)
            )
    return count


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_pieces_are_the_whole_in_every_layout(tmp_path: Path, family: str) -> None:
    with shelf_of(tmp_path, FAMILIES[family]).open() as library:
        check_all(library)


def test_pieces_are_the_whole_in_all_layouts_at_once(tmp_path: Path) -> None:
    with shelf_of(tmp_path, EVERYTHING).open() as library:
        assert check_all(library) > 50


@pytest.mark.all
def test_pieces_are_the_whole_in_real_chats(corpus_library: Library) -> None:
    assert check_all(corpus_library) > 1000


class PageReader:
    """Shows a branch and applies changes to it, as a page does."""

    def __init__(self, library: Library, reader: ChatReader) -> None:
        self.library, self.reader = library, reader
        self.resets = 0
        self.load()

    def load(self) -> None:
        branch_messages = self.reader.branch_messages()
        self.cursor = self.reader.cursor
        self.shown = {
            one.key: said([one])[0] for one in self.reader.messages(self.library, branch_messages, branch_messages.keys)
        }
        self.order = list(self.shown)

    def ask(self) -> int:
        changes = self.reader.changes(self.library, 1, self.cursor, is_live=False)
        if changes.is_reset:
            self.resets += 1
            self.load()
            return 0
        for message, after in changes.messages:
            if message.key not in self.shown:
                self.order.insert(self.order.index(after) + 1 if after else 0, message.key)
            self.shown[message.key] = said([message])[0]
        self.cursor = changes.cursor
        return len(changes.messages)

    def check(self) -> None:
        with local_library(self.library.settings, self.library.homes) as other:
            other.update()
            fresh = ChatReader(other, other.find(self.reader.stored.overview.id))
            branch_messages = fresh.branch_messages()
            expected = said(fresh.messages(other, branch_messages, branch_messages.keys))
        assert [self.shown[key] for key in self.order] == expected


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def grown(tmp_path: Path, drawing: str, first: int, steps: list[int]) -> Iterator[PageReader]:
    lines = jsonl(draw(drawing)).splitlines(keepends=True)
    name = session_path("live")
    shelf = shelf_of(tmp_path, {name: b"".join(lines[:first])})
    with shelf.open() as library:
        open_chats = OpenChats()
        reader = PageReader(library, open_chats.open(library, library.chats()[0].overview.id))
        at = first
        for step in steps:
            if at >= len(lines):
                break
            append(shelf.home / name, b"".join(lines[at : at + step]))
            at += step
            assert open_chats.take(library, [shelf.source(name)]) == [reader.reader.stored.overview.id]
            reader.ask()
            yield reader


@pytest.mark.parametrize("drawing", [DRAWING, DRAWING.splitlines()[1] + "\nk <- - user: hello" + RETRIED])
@given(first=st.integers(1, 10), steps=st.lists(st.integers(1, 4), min_size=1, max_size=11))
@examples(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_page_that_applies_every_change_shows_what_a_new_page_would(
    tmp_path_factory: pytest.TempPathFactory, drawing: str, first: int, steps: list[int]
) -> None:
    for reader in list(grown(tmp_path_factory.mktemp("growing"), drawing, first, steps))[-1:]:
        reader.check()
        assert reader.resets == 0


def test_retries_in_a_row_are_one_message_found_by_each_of_its_rows(tmp_path: Path) -> None:
    with shelf_of(tmp_path, {session_path("live"): jsonl(draw(DRAWING + RETRIED))}).open() as library:
        messages = OpenChats().open(library, library.chats()[0].overview.id).branch_messages()
        assert messages.keys[-6:] == ["k", "l", "m", "o", "p", "r"]
        assert [messages.message_with(row) for row in "mnpq"] == ["m", "m", "p", "p"]
        check_all(library)


def test_only_changes_are_reported(tmp_path: Path) -> None:
    counts = [reader.ask() for reader in grown(tmp_path, DRAWING, 5, [1] * 6)]
    assert counts == [0] * 6  # nothing is told twice


def test_a_result_changes_the_message_that_asked_for_it(tmp_path: Path) -> None:
    last = list(grown(tmp_path, DRAWING, 8, [1]))[-1]
    changes = last.reader.changes(last.library, 1, f"{last.reader.epoch}-0", is_live=True)
    assert [(message.key, after) for message, after in changes.messages] == [("g", "f")]
    states = [call.state for call in changes.messages[0][0].calls.values()]
    assert states == ["done", "running"]


def test_a_prompt_that_goes_back_makes_the_page_start_over(tmp_path: Path) -> None:
    drawing = DRAWING + "x <- e user: no, first the docs\ny <- x assistant(m9): as you like\n"
    readers = list(grown(tmp_path, drawing, 11, [1, 1]))
    assert readers[-1].resets == 1
    readers[-1].check()
    reader = readers[-1].reader
    assert reader.branch_messages(1).keys[-1] == "y"
    assert reader.branch_messages(2).keys[-1] == "k"
    crossing = crossings_of(reader, reader.branch_messages(1), ["x"])["x"]
    assert [(way.branch, way.key) for way in crossing.ways] == [(2, "f"), (1, "x")]
    assert crossing.here == 1


def test_a_file_that_was_cut_makes_the_page_start_over(tmp_path: Path) -> None:
    lines = jsonl(draw(DRAWING)).splitlines(keepends=True)
    name = session_path("live")
    shelf = shelf_of(tmp_path, {name: b"".join(lines)})
    with shelf.open() as library:
        open_chats = OpenChats()
        reader = PageReader(library, open_chats.open(library, library.chats()[0].overview.id))
        (shelf.home / name).write_bytes(b"".join(lines[:5]))
        shelf.update()
        open_chats.take(library, [shelf.source(name)])
        reader.ask()
        assert reader.resets == 1
        reader.check()


def test_an_agents_words_change_the_call_that_started_it(tmp_path: Path) -> None:
    main = """
    @ version=2.1.42 session=live
    a <- - user: look around
    b <- a call(m1) t1 Task {"description": "look", "prompt": "find it", "subagent_type": "Explore"}
    """
    agent = jsonl(
        draw("@ version=2.1.42 session=live agent=abc1234\ns1 <- - user: find it\ns2 <- s1 assistant(m7): here")
    )
    first, second = agent.splitlines(keepends=True)
    name = session_path("live")
    inside = name.removesuffix(".jsonl") + "/subagents/agent-abc1234.jsonl"
    shelf = shelf_of(tmp_path, {name: jsonl(draw(main)), inside: first})
    with shelf.open() as library:
        open_chats = OpenChats()
        reader = open_chats.open(library, library.chats()[0].overview.id)
        cursor, _ = reader.cursor, reader.branch_messages()
        append(shelf.home / inside, second)
        open_chats.take(library, [shelf.source(inside)])
        changes = reader.changes(library, 1, cursor, is_live=True)
        assert [message.key for message, _ in changes.messages] == ["b"]
        branch_messages = reader.agent_branch(reader.agent("abc1234"))
        assert [message.key for message in reader.messages(library, branch_messages, branch_messages.keys)] == [
            "s1",
            "s2",
        ]


def test_a_message_is_located_by_any_of_its_names(tmp_path: Path) -> None:
    with shelf_of(tmp_path, {session_path("live"): jsonl(draw(DRAWING))}).open() as library:
        reader = ChatReader(library, library.chats()[0])
        for name in ("g", "h", "m3", "t2", "t3", "i", "j"):
            assert reader.locate(name) == (1, "g"), name
        assert reader.locate("nothing") is None


def test_the_outline_says_what_each_turn_took(tmp_path: Path) -> None:
    with shelf_of(tmp_path, {session_path("live"): jsonl(draw(DRAWING))}).open() as library:
        reader = ChatReader(library, library.chats()[0])
        found = outline_of(library, reader, reader.branch_messages())
        assert [(one.key, one.kind, one.messages, one.calls, one.errors) for one in found] == [
            ("a", RowKind.PROMPT, 3, 1, 0),
            ("f", RowKind.PROMPT, 3, 2, 1),
        ]


def test_a_search_inside_a_chat_finds_messages_in_their_order(tmp_path: Path) -> None:
    with shelf_of(tmp_path, {**EVERYTHING, session_path("live"): jsonl(draw(DRAWING))}).open() as library:
        reader = ChatReader(library, library.find("m3"))
        for query, expected in (("the", ["a", "b", "f"]), ("E501", ["g"]), ("nothing-like-this", []), ("", [])):
            found = find_in(library, reader, reader.branch_messages(), query).messages
            assert set(expected) <= set(found) if expected else found == []
            assert found == sorted(found, key=reader.branch_messages().at.__getitem__)


def test_a_leaf_that_is_set_back_makes_the_page_start_over(tmp_path: Path) -> None:
    drawing = DRAWING + 'last-prompt e {"explicit": true}\n'
    reader = list(grown(tmp_path, drawing, 11, [1]))[-1]
    assert reader.resets == 1
    reader.check()
    assert reader.reader.branch_messages(1).keys[-1] == "e"


def test_rows_written_while_a_chat_is_opened_are_included(tmp_path: Path) -> None:
    lines = jsonl(draw(DRAWING)).splitlines(keepends=True)
    name = session_path("live")
    shelf = shelf_of(tmp_path, {name: b"".join(lines[:9])})
    with shelf.open() as library:
        append(shelf.home / name, b"".join(lines[9:]))  # without an event
        assert OpenChats().open(library, library.chats()[0].overview.id).branch_messages().keys[-1] == "k"


def test_two_who_open_a_chat_at_once_get_the_same(tmp_path: Path) -> None:
    shelf = shelf_of(tmp_path, {session_path("live"): jsonl(draw(DRAWING))})
    open_chats, start = OpenChats(), threading.Barrier(4)

    def opened(_: int) -> ChatReader:
        with shelf.open() as library:
            start.wait()
            return open_chats.open(library, library.chats()[0].overview.id)

    with ThreadPoolExecutor(4) as pool:
        assert len({id(one) for one in pool.map(opened, range(4))}) == 1


def test_more_of_an_answer_of_an_earlier_turn_changes_it(tmp_path: Path) -> None:
    drawing = DRAWING + "z <- e assistant(m2): and one thing more\n"
    reader = list(grown(tmp_path, drawing, 11, [1]))[-1]
    reader.check()
