"""The pieces that a chat is read from, and the context of a passage."""

from typing import Final

import pytest

from backscroll.conversation.headings import AnswerCost
from backscroll.query.parse import parse
from backscroll.store.base import Store
from backscroll.store.reader import EVERYTHING, Totals
from tests.contract.conftest import NewStore
from tests.contract.coverage import covers
from tests.contract.support import NOW, Desk
from tests.support.drawings import session_uuid

WORLD: Final = {
    "S1": """
        a <- - user: fix the parser
        b <- a assistant(m1): looking
        queue-operation enqueue: and the lexer
        c <- b call(m2) t1 Bash {"command": "make"}
        d <- c error t1: no rule to make it
        e <- d call(m3) t2 Edit {"file_path": "/home/ada/shop/Makefile", "old_string": "x", "new_string": "y"}
        f <- e result t2: done
        g <- f call(m4) t3 Bash {"command": "make"}
        h <- g result t3: made
        i <- h assistant(m5): it builds
        j <- i user: thanks
        k <- j assistant(m6): welcome
        """,
    "S2": """
        l <- - user: else
        m <- l assistant(m7): nothing
        summary k: The build
        """,
}


@pytest.fixture(scope="module")
def world(new_store: NewStore) -> Desk:
    return Desk(new_store()).draw(WORLD)


def chat(desk: Desk, name: str) -> int:
    (found,) = desk.reader.find(session_uuid(name))
    return found.key


def block(desk: Desk, uuid: str) -> int:
    """The passage of a row."""
    every = desk.reader.passages(parse("role:prompt OR role:output OR role:answer", NOW))
    (found,) = (hit.block for hit in every if hit.uuid == uuid)
    return found


@covers("chat_shape")
def test_the_shape_of_a_chat_is_its_files_without_their_records(world: Desk) -> None:
    shape = world.reader.chat_shape(chat(world, "S1"))
    assert shape is not None
    ((file, transcript),) = shape.files
    assert (file.path, "".join(row.uuid for row in transcript.rows)) == ("S1", "abcdefghijk")
    assert shape.titles == {"k": {"S2": "The build"}}
    assert world.reader.chat_shape(999) is None


@covers("record_positions", "outside_positions")
def test_positions_of_records(world: Desk) -> None:
    assert world.reader.record_positions("S1", [0, 3, 99]) == {0: (0, 1), 3: (3, 1)}
    assert world.reader.record_positions("nowhere", [0]) == {}
    assert world.reader.outside_positions("S1", 5) == [(2, 1)]
    assert world.reader.outside_positions("S1", 2) == []


@covers("chat_ids", "homes")
def test_the_chats_and_homes_of_files(world: Desk) -> None:
    assert world.reader.chat_ids(["S2", "nowhere"]) == {"S2": session_uuid("S2")}
    assert world.reader.homes() == {("ada", "/home/ada/.claude")}


@covers("titles_of", "chats_titled_by")
def test_titles_lead_from_row_to_giver_and_back(world: Desk) -> None:
    assert world.store.titles_of(["k", "l"]) == {"k": {"S2": "The build"}}
    assert world.store.chats_titled_by(world.numbers["S2"]) == {chat(world, "S1")}
    assert world.store.chats_titled_by(world.numbers["S1"]) == set()


@covers("messages_named")
def test_a_message_is_found_by_its_id_in_its_chat(world: Desk) -> None:
    (found,) = world.reader.messages_named(chat(world, "S1"), "B")
    assert (found.uuid, found.kind, found.agent) == ("b", "answer", None)
    assert world.reader.messages_named(chat(world, "S2"), "b") == []
    assert len(world.reader.messages_named(chat(world, "S1"), "")) == 2


@covers("totals", "failed_calls")
def test_how_much_there_is_and_what_failed(world: Desk) -> None:
    assert world.reader.totals() == Totals(2, 10)
    assert world.reader.failed_calls(chat(world, "S1")) == {"t1"}
    assert world.reader.failed_calls(chat(world, "S2")) == set()


@covers("turn_passages")
def test_the_turn_of_a_passage_is_its_prompt_and_its_last_answer(world: Desk) -> None:
    asked = block(world, "d")
    found = {(one.block, one.which): one.uuid for one in world.reader.turn_passages([asked])}
    assert found == {(asked, "prompt"): "a", (asked, "conclusion"): "i"}
    own = block(world, "a")
    assert [(one.which, one.uuid) for one in world.reader.turn_passages([own])] == [("conclusion", "i")]
    assert world.reader.turn_passages([]) == []


@covers("following_steps")
def test_what_followed_a_result_ends_with_the_next_prompt(world: Desk) -> None:
    steps = world.reader.following_steps(block(world, "d"), 100, 100)
    assert "".join(step.uuid or "?" for step in steps) == "cefghi"
    assert [step.uuid for step in steps if step.is_before] == ["c"]
    edit, result = steps[1], steps[2]
    assert (edit.tool, edit.target, edit.call) == ("Edit", "/home/ada/shop/Makefile", "t2")
    assert (result.role, result.call, result.state) == ("output", "t2", "done")
    assert len(world.reader.following_steps(block(world, "d"), 100, 3)) == 3


@covers("use_prices", "answer_costs")
def test_costs_follow_the_prices(store: Store) -> None:
    store.use_prices(lambda answer: answer.output * 100, "first")
    Desk(store).draw(WORLD)
    assert store.within(EVERYTHING).answer_costs(["m1", "unknown"]) == {"m1": AnswerCost(10, 5, 500)}
    store.use_prices(lambda answer: answer.output * 200, "first")
    assert store.within(EVERYTHING).answer_costs(["m1"])["m1"].cost == 500
    store.use_prices(lambda _: None, "second")
    assert store.within(EVERYTHING).answer_costs(["m1"]) == {"m1": AnswerCost(10, 5, None)}


@covers("read_again")
def test_a_file_that_is_to_be_read_again_has_no_bookmark(desk: Desk) -> None:
    desk.draw({"S1": "a <- - user: hello", "S2": "b <- - user: else"})
    desk.store.read_again(["S1"])
    assert {path: known.bookmark for path, known in desk.store.indexed_files().items()} == {"S1": None, "S2": (1, 2, 3)}


@covers("dialect", "views", "sql")
def test_every_view_can_be_asked_in_the_dialect_that_is_named(world: Desk) -> None:
    assert world.store.dialect
    views = world.store.views()
    assert [view.name for view in views] == sorted(view.name for view in views)
    for view in views:
        assert world.reader.sql(f"select * from {view.name}", 1, 10.0).columns == view.columns
    titles = world.reader.sql("select title from v_chats order by title", 10, 10.0)
    assert (titles.rows, titles.is_cut) == ([("The build",), ("else",)], False)
    assert world.reader.sql("select title from v_chats order by title", 1, 10.0).is_cut
