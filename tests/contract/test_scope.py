"""Anything outside a scope cannot be seen, counted or guessed by any query.

Two stores have the same files of one home. One of them also has files of another home. A reader that may see the first
home only must get the same answers from both, down to the ids.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, Final, get_args

import pytest

from backscroll.errors import UsageError
from backscroll.query.parse import parse
from backscroll.query.tree import Query
from backscroll.store.reader import EVERYTHING, Hit, Scope, StoredChat, StoreReader
from backscroll.store.report_rows import UsageDimension
from backscroll.store.reports import Reports
from backscroll.store.search import compile as compile_module
from backscroll.store.tool_call_rows import ToolCallDimension
from tests.contract.conftest import NewStore
from tests.contract.coverage import CALLED_WITHIN, covers, members
from tests.contract.support import HOME, NOW, Desk
from tests.support.drawings import session_uuid

OTHER: Final = ("bob", "/home/bob/.claude")
SEEN: Final = Scope(frozenset({HOME}))
NAMED: Final = Scope(frozenset(), sources=frozenset({"S1", "S2"}))
"""The same files, each by its name: what others shared with the asker."""
VISIBLE: Final = {
    "S1": """
        @ cwd=/home/ada/shop branch=main time=2026-02-01T10:00
        a <- - user: fix the parser
        b <- a thinking(m1): the lexer stands before it
        queue-operation enqueue: and the lexer
        c <- b call(m1) t1 Edit {"file_path": "/home/ada/shop/lexer.py", "old_string": "x", "new_string": "y"}
        d <- c error t1: no such parser
        e <- d assistant(m2): it is a mango {"costUSD": 0.25}
        f <- e compact: x
        g <- f attachment edited_text_file: more text
        """,
    "S2": """
        @ cwd=/home/ada/shop time=2026-02-01T12:00
        h <- - user: what else
        i <- h assistant(m3): a parser
        summary a: The parser
        """,
}
HIDDEN: Final = {
    "S3": """
        @ cwd=/home/bob/shop branch=secret time=2026-01-01T10:00 model=claude-opus-4-1-20250805
        A <- - user: the parser of zebra
        B <- A call(M1) T1 Edit {"file_path": "/home/bob/shop/zebra.py", "old_string": "x", "new_string": "y"}
        queue-operation enqueue: and mangoes
        C <- B error T1: no such zebra
        D <- C assistant(M2): a zebra parser {"costUSD": 0.5}
        E <- D compact: y
        F <- E attachment edited_text_file: more secrets
        cost-state {"startTime": 1767261600000, "modelUsage": {"zebra-1": {"inputTokens": 100, "costUSD": 0.5}}}
        """,
    "S4": """
        @ cwd=/home/bob/shop time=2026-03-01T10:00
        G <- - user: mangoes
        H <- G assistant(M3): mangoes
        I <- H call(M4) T2 Bash {"command": "make"}
        summary e: The secret
        """,
    "S4/x1": """
        @ cwd=/home/bob/shop time=2026-03-01T10:01
        x <- - user: look at mangoes
        y <- x assistant(M5): nothing
        """,
}
EVERY_FILE: Final = [*VISIBLE, *HIDDEN]
EVERY_KEY: Final = list(range(1, 10))
"""Of chats; more than there are in either store."""
EVERY_BLOCK: Final = list(range(1, 60))


@pytest.fixture(scope="module")
def alone(new_store: NewStore) -> Desk:
    """A store that has nothing else."""
    return _priced(new_store).draw(VISIBLE)


@pytest.fixture(scope="module")
def shared(new_store: NewStore) -> Desk:
    """A store that has files of another home too."""
    desk = _priced(new_store).draw(VISIBLE)
    desk.draw(HIDDEN, homes=dict.fromkeys(HIDDEN, OTHER))
    return desk.draw({"S5": "z <- - user: later"}, homes={"S5": OTHER}, is_searchable=False)


def _priced(new_store: NewStore) -> Desk:
    store = new_store()
    store.use_prices(lambda answer: answer.output * 100, "cheap")
    return Desk(store)


def query(text: str) -> Query:
    return parse(text, NOW)


WORDS: Final = (
    "parser", "zebra", "mango*", "parser mangoes", "is:error", "tool:edit", "NOT lexer", "project:shop", "project:bob",
)  # fmt: skip
FIELDS: Final = (
    "",
    "parser",
    "zebra",
    "is:error",
    "has:diff",
    "project:bob",
    "cost:>0",
    f"session:{session_uuid('S4')}",
)


def _search(reader: StoreReader) -> object:
    """Without order and scores: how rare a word is, is known for the whole store."""
    answers = []
    for text, sort in product(WORDS, ("relevance", "newest", "oldest")):
        page = reader.search(query(text), sort=sort, limit=20, offset=0, hits=20)
        chats = sorted((chat.chat.key, chat.chat, chat.found, _hits(chat.hits)) for chat in page.chats)
        answers.append((page.total_chats, page.total, chats))
    return answers


def _hits(hits: list[Hit]) -> list[Hit]:
    return sorted((hit._replace(score=0.0) for hit in hits), key=lambda hit: hit.block)


def _chats(reader: StoreReader) -> list[StoredChat]:
    return [
        chat
        for text, sort in product(FIELDS, ("newest", "title", "cost"))
        for chat in reader.chats(query(text), sort=sort, limit=None, offset=0)
    ]


def _usage(reader: StoreReader) -> object:
    return [sorted(reader.reports(None).usage_by(dimension), key=repr) for dimension in get_args(UsageDimension)]


def _report(reader: StoreReader, name: str) -> object:
    answer = getattr(reader.reports(None), name)()
    return list(answer) if isinstance(answer, Iterator) else answer


def _shape(reader: StoreReader, chat: int) -> object:
    shape = reader.chat_shape(chat)
    return shape and ([(file, [row.uuid for row in transcript.rows]) for file, transcript in shape.files], shape.titles)


Question = Callable[[StoreReader], Any]
ANSWERED: Final = {"usage_by", "usage_over_time", "usage_span", "call_sums", "some_tool_calls", "call_places"}
"""Questions of reports that need arguments."""
QUESTIONS: Final[Mapping[str, Question]] = {
    "pending": lambda reader: reader.pending(),
    "search": _search,
    "facets": lambda reader: [
        sorted((name, sorted(value.items()) if isinstance(value, Mapping) else value) for name, value in
               reader.facets(query(text), {"ever": 0})._asdict().items())
        for text in WORDS
    ],
    "chats": _chats,
    "count_chats": lambda reader: [reader.count_chats(query(text)) for text in ("", "zebra", "parser", "project:shop")],
    "passages": lambda reader: list(reader.passages(query("parser OR zebra OR mangoes"))),
    "chats_by_key": lambda reader: reader.chats_by_key(EVERY_KEY),
    "reports": lambda reader: reader.reports(query("zebra OR parser")).answers(),
    "similar": lambda reader: [reader.similar(word) for word in ("zerba", "zebra", "mangos", "mangoes", "parsr")],
    "find": lambda reader: [
        reader.find(name) for name in ("a", "A", "m1", "M1", "x1", *(session_uuid(name) for name in ("S1", "S3", "S4")))
    ],
    "named": lambda reader: reader.named([session_uuid(name) for name in ("S1", "S3", "S4", "S9")]),
    "homes": lambda reader: reader.homes(),
    "files_of": lambda reader: [reader.files_of(key) for key in EVERY_KEY],
    "sources_of": lambda reader: reader.sources_of(EVERY_KEY),
    "chat_shape": lambda reader: [_shape(reader, key) for key in EVERY_KEY],
    "record_positions": lambda reader: [reader.record_positions(name, range(9)) for name in EVERY_FILE],
    "outside_positions": lambda reader: [reader.outside_positions(name, 9) for name in EVERY_FILE],
    "chat_ids": lambda reader: reader.chat_ids(EVERY_FILE),
    "answer_costs": lambda reader: reader.answer_costs(["m1", "m2", "m3", "M1", "M2", "M3"]),
    "messages_named": lambda reader: [
        reader.messages_named(key, name) for key in EVERY_KEY for name in ("", "a", "A", "D")
    ],
    "totals": lambda reader: reader.totals(),
    "failed_calls": lambda reader: [reader.failed_calls(key) for key in EVERY_KEY],
    "turn_passages": lambda reader: reader.turn_passages(EVERY_BLOCK),
    "following_steps": lambda reader: [reader.following_steps(block, 100, 100) for block in EVERY_BLOCK],
    "usage_by": _usage,
    "usage_over_time": lambda reader: [
        reader.reports(None).usage_over_time(unit) for unit in ("quarter", "hour", "day")
    ],
    "usage_span": lambda reader: reader.reports(None).usage_span(),
    "call_sums": lambda reader: [
        sorted(reader.reports(None).call_sums(dimension), key=repr) for dimension in get_args(ToolCallDimension)
    ],
    "call_places": lambda reader: reader.reports(None).call_places(EVERY_BLOCK),
    "some_tool_calls": lambda reader: reader.reports(None).some_tool_calls(EVERY_BLOCK),
    **{
        name: lambda reader, name=name: _report(reader, name)  # type: ignore[misc]
        for name in sorted(members(Reports) - ANSWERED)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
@covers("within")
def test_another_home_changes_no_answer(alone: Desk, shared: Desk, name: str) -> None:
    ask = QUESTIONS[name]
    for scope in (SEEN, NAMED):
        assert ask(shared.store.within(scope)) == ask(alone.reader)
    assert name in CALLED_WITHIN
    assert ask(shared.reader) != ask(alone.reader), "this question cannot tell whether another home is seen"


def test_every_question_is_asked_about_another_home() -> None:
    assert members(StoreReader) | members(Reports) == {*QUESTIONS, "sql", "snapshot"}


@pytest.mark.parametrize(
    "homes", [frozenset(), frozenset({("ada", "/home/bob/.claude")}), frozenset({("bob", HOME[1])})]
)
def test_a_home_is_a_folder_of_a_machine(shared: Desk, homes: frozenset[tuple[str, str]]) -> None:
    reader = shared.store.within(Scope(homes))
    assert reader.chats(None, sort="newest", limit=None, offset=0) == []
    assert reader.totals() == (0, 0)
    assert reader.homes() == set()


@covers("sql")
def test_a_statement_is_limited_like_every_question_or_refused(shared: Desk) -> None:
    for scope in (SEEN, NAMED):
        try:
            found = shared.store.within(scope).sql("select count(*) from v_chats", 1, 10.0).rows
        except UsageError as refused:
            assert "whole" in refused.message
        else:
            assert found == [(2,)]
    assert shared.store.within(EVERYTHING).sql("select count(*) from v_chats", 1, 10.0).rows == [(5,)]
    assert shared.store.within(EVERYTHING).sql("select 1", 1, 10.0).rows == [(1,)]


MANY: Final = 12


def test_a_search_in_many_files_sees_none_of_another_home(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_module, "FEW_FILES", MANY - 2)  # more files than the engine is asked about one by one
    desk.draw({f"S{number}": f"u{number} <- - user: apples" for number in range(MANY)})
    desk.draw({"S999": "z <- - user: apples and pears"}, homes={"S999": OTHER})
    for sort in ("relevance", "newest"):
        found = desk.ask("apples pears", SEEN, sort=sort, limit=MANY)
        assert (found.total_chats, len(found.chats), found.total) == (MANY, MANY, 2 * MANY)  # prompts and titles
        assert desk.ask("apples pears", sort=sort).total_chats == MANY + 1


# A chat with files in two homes.

BEGUN: Final = """
    a <- - user: fix the parser
    b <- a assistant(m1): looking
    c <- b call(m2) t1 Bash {"command": "make"}
    """
RESUMED: Final = {
    "S1": BEGUN,
    "S2": BEGUN
    + """
    d <- c error t1: no rule
    e <- d assistant(m3): a zebra
    f <- e user: thanks
    summary b: The build
    """,
}


@pytest.fixture
def resumed(desk: Desk) -> Desk:
    """A chat of the visible home that was resumed in the other one."""
    return desk.draw(RESUMED, homes={"S2": OTHER})


def test_of_a_chat_in_two_homes_only_the_visible_files_are_read(resumed: Desk) -> None:
    (chat,) = resumed.reader.chats(None, sort="newest", limit=None, offset=0)
    reader = resumed.store.within(SEEN)
    assert [file.source for file in reader.files_of(chat.key)] == ["S1"]
    assert _shape(reader, chat.key) == ([(resumed.store.indexed_files()["S1"], ["a", "b", "c"])], {})
    assert resumed.finds("looking zebra rule", SEEN) == "S1: b"
    assert resumed.finds("zebra") == "S1: e"
    assert [len(reader.messages_named(chat.key, name)) for name in "be"] == [1, 0]
    assert (reader.failed_calls(chat.key), resumed.reader.failed_calls(chat.key)) == (set(), {"t1"})
    assert [reader.find(name) != [] for name in ("b", "e", "m3", session_uuid("S2"))] == [True, False, False, False]
    assert reader.similar("zerba") == []


def test_a_file_that_is_shared_is_seen_with_those_of_the_home(resumed: Desk) -> None:
    shared = Scope(frozenset({HOME}), sources=frozenset({"S2"}))
    assert resumed.finds("looking zebra rule", shared) == resumed.finds("looking zebra rule") == "S1: b d e"
    alone = resumed.store.within(Scope(frozenset(), sources=frozenset({"S2"})))
    (chat,) = alone.chats(None, sort="newest", limit=None, offset=0)
    assert [file.source for file in alone.files_of(chat.key)] == ["S2"]
    assert resumed.finds("zebra", Scope(frozenset(), sources=frozenset({"S1"}))) == ""
    assert resumed.finds("zebra", Scope(frozenset(), sources=frozenset({"S2"}))) == "S1: e"
    assert alone.similar("zerba") == ["zebra"]


def test_reports_of_a_chat_in_two_homes_take_nothing_from_hidden_files(resumed: Desk) -> None:
    reader = resumed.store.within(SEEN)
    (call,) = reader.reports(None).tool_calls()
    assert (call.tool, call.state, call.copies) == ("Bash", None, 1)
    assert [(count.tool, count.failed) for count in reader.reports(None).calls_by_tool()] == [("Bash", 0)]
    assert {row.uuid for row in reader.reports(None).row_times()} == set("abc")
    assert [answer.message for answer in reader.reports(None).answers()] == ["m1", "m2"]


def test_the_result_of_a_tool_shows_no_chat_whose_transcript_is_hidden(desk: Desk) -> None:
    session = session_uuid("S1")
    desk.draw({"S1": "a <- - user: the secret build"}, homes={"S1": OTHER})
    desk.write_result("t1", HOME, session, "a zebra")
    both = Scope(frozenset({HOME, OTHER}))
    assert [desk.finds(word, both) for word in ("zebra", "secret")] == ["S1: output", "S1: a title"]
    for scope in (SEEN, Scope(frozenset(), sources=frozenset({"t1"}))):
        reader = desk.store.within(scope)
        assert desk.lists("", scope) == ""
        assert [reader.find(name) for name in (session, "a")] == [[], []]
        assert [desk.finds(word, scope) for word in ("zebra", "secret")] == ["", ""]
        assert reader.similar("secert") == []


def test_a_chat_reads_the_same_in_every_list(resumed: Desk) -> None:
    reader = resumed.store.within(SEEN)
    assert reader.chats(None, sort="newest", limit=None, offset=0) == resumed.reader.chats(
        None, sort="newest", limit=None, offset=0
    )


def test_the_usage_of_an_answer_is_visible_with_the_file_that_has_it_first(resumed: Desk) -> None:
    hidden = resumed.store.within(Scope(frozenset({OTHER})))
    names = ["m1", "m2", "m3"]
    assert set(resumed.store.within(SEEN).answer_costs(names)) == {"m1", "m2"}
    assert set(hidden.answer_costs(names)) == {"m3"}
