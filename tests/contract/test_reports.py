"""The data of reports: each answer, row and call once, for the given chats and period."""

import json
from datetime import datetime
from typing import Final

import pytest

from backscroll.query.parse import parse
from backscroll.store.batches import microseconds
from backscroll.store.reader import Scope
from backscroll.store.report_rows import (
    CompactionPlace,
    ContextPart,
    ReportedCosts,
    RowTime,
    ToolCount,
    TurnStart,
    UnsizedPassage,
    UsageSpan,
    UsageSums,
)
from backscroll.store.reports import Reports
from backscroll.store.tool_call_rows import CallSums
from tests.contract.conftest import NewStore
from tests.contract.coverage import covers
from tests.contract.support import NOW, Desk
from tests.support.drawings import session_uuid

S1, S3 = session_uuid("S1"), session_uuid("S3")
SONNET, OPUS = "claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805"
SHOP, BLOG = "/home/ada/shop", "/home/ada/blog"
FIRST: Final = """
    @ time=2026-02-01T10:00
    a <- - user: fix the parser
    b <- a call(m1) t1 Edit {"file_path": "/home/ada/shop/lexer.py", "old_string": "x", "new_string": "y"}
    c <- b result t1: edited
    d <- c assistant(m2): it is fixed
    """
WORLD: Final = {
    "S1": FIRST,
    "S2": FIRST + "e <- d user: thanks",  # resumed: everything of S1 stands in two files
    "S3": """
        @ cwd=/home/ada/blog branch=feature model=claude-opus-4-1-20250805 time=2026-02-02T10:00
        l <- - user: write about it
        f <- l call(m3) t2 Read {"file_path": "/home/ada/blog/post.md"}
        g <- f error t2: no such file
        h <- g assistant(m4): there is no post {"costUSD": 0.25}
        i <- h compact: x
        j <- i attachment edited_text_file: more text
        """,
    "S3/x1": """
        @ cwd=/home/ada/blog model=claude-opus-4-1-20250805 time=2026-02-02T10:10
        x <- - user: look
        y <- x assistant(m5): nothing
        """,
}


@pytest.fixture(scope="module")
def world(new_store: NewStore) -> Desk:
    store = new_store()
    store.use_prices(lambda answer: 1000 if answer.model == SONNET else None, "cheap")
    return Desk(store).draw(WORLD)


def ask(world: Desk, query: str = "", since: str | None = None, until: str | None = None) -> Reports:
    return world.reader.reports(
        parse(query, NOW), since=time(since) if since else None, until=time(until) if until else None
    )


def time(text: str) -> int:
    return microseconds(datetime.fromisoformat(f"{text}+00:00")) or 0


@covers("reports", "usage_by")
def test_usage_counts_each_answer_once_under_every_name(world: Desk) -> None:
    rows = {(row.name, row.model): row.sums for row in ask(world).usage_by("model")}
    assert rows[SONNET, SONNET] == UsageSums(2, 20, 10, cost=2000, records=4, copies=2)
    assert rows[OPUS, OPUS] == UsageSums(3, 30, 15, unpriced=3, reported_cost=250_000_000, records=3)
    assert rows[SONNET, SONNET].tokens == 30
    names = {by: {row.name for row in ask(world).usage_by(by)} for by in ("project", "chat", "agent", "git-branch")}
    assert names["project"] == {SHOP, BLOG}
    assert names["chat"] == {S1, S3}
    assert names["agent"] == {None, "x1"}
    assert names["git-branch"] == {"main", "feature"}
    assert {row.name for row in ask(world).usage_by("version")} == {"2.1.42"}
    assert len({row.name for row in ask(world).usage_by("machine")}) == 1


@covers("reports")
def test_a_query_and_a_time_choose_what_is_counted(world: Desk) -> None:
    assert [row.name for row in ask(world, "project:blog").usage_by("model")] == [OPUS]
    assert [row.name for row in ask(world, until="2026-02-02T00:00").usage_by("model")] == [SONNET]
    assert ask(world, since="2026-03-01T00:00").usage_by("model") == []
    elsewhere = Scope(frozenset({("ada", "/elsewhere")}))
    assert world.within(elsewhere).reports(None).usage_by("model") == []


@covers("usage_over_time", "usage_span")
def test_usage_by_period(world: Desk) -> None:
    day, quarter = 24 * 4, time("2026-02-01T10:00") // 900_000_000
    days = {row.period: row.sums.messages for row in ask(world).usage_over_time("day")}
    assert days == {quarter // day: 2, quarter // day + 1: 3}
    east = {row.period: row.sums.messages for row in ask(world).usage_over_time("day", 14 * 4)}
    assert east == {quarter // day + 1: 2, quarter // day + 2: 3}
    hours = {row.period for row in ask(world).usage_over_time("hour")}
    assert hours == {quarter // 4, quarter // 4 + 24}
    assert {row.period for row in ask(world, "project:shop").usage_over_time("quarter")} == {quarter}
    assert ask(world, "project:shop").usage_span() == UsageSpan(quarter, quarter + day)


@covers("usage_span", "answer_span")
def test_nothing_spans_no_time(desk: Desk) -> None:
    assert ask(desk).usage_span() is None
    assert ask(desk).answer_span() is None


@covers("answer_span")
def test_the_first_and_the_last_answer_of_a_time(world: Desk) -> None:
    times = [answer.time for answer in ask(world).answers() if answer.time]
    assert ask(world).answer_span() == (min(times), max(times))
    assert ask(world, "project:shop", since="2026-02-01T10:00:03").answer_span() == (time("2026-02-01T10:00:03"),) * 2
    assert ask(world, since="2030-01-01T00:00:00").answer_span() is None


@covers("reported_costs", "answers")
def test_answers_in_the_order_of_time(world: Desk) -> None:
    assert ask(world).reported_costs() == ReportedCosts(1, 250_000_000, 0, 1)
    answers = ask(world).answers()
    assert [answer.message for answer in answers] == ["m1", "m2", "m3", "m4", "m5"]
    first, last = answers[0], answers[-1]
    assert (first.time, first.chat, first.cost, first.records, first.files) == (
        time("2026-02-01T10:00:01"),
        S1,
        1000,
        2,
        2,
    )
    assert (last.agent, last.cost, last.path, last.is_final) == ("x1", None, "S3/x1", True)


BEGAN: Final = 1_769_940_000_000  # 2026-02-01T10:00, in milliseconds


def total(began: int = BEGAN, **models: tuple[int, int]) -> str:
    """The client's totals, with input and output by model."""
    names = {"opus": "claude-opus-4-1", "sonnet": f"{SONNET}[1m]", "haiku": "claude-haiku-4-5"}
    used = {names[name]: {"inputTokens": given, "outputTokens": made} for name, (given, made) in models.items()}
    return f"cost-state {json.dumps({'startTime': began, 'modelUsage': used})}"


@covers("unrecorded", "write")
def test_what_the_client_counted_beside_its_answers(new_store: NewStore) -> None:
    """Each answer of a drawing used 10 input and 5 output tokens, and comes a second after the row before it."""
    store = new_store()
    store.use_prices(lambda answer: answer.input * 10 + answer.output * 100 if answer.model == SONNET else None, "a")
    parent = f"""
        @ time=2026-02-01T10:00
        a <- - user: one
        b <- a assistant(m1): two
        {total(sonnet=(110, 45), haiku=(7, 3))}
        """
    desk = Desk(store).draw({
        "S1": parent + f"""
        c <- b user: three
        d <- c assistant(m2): four
        {total(sonnet=(320, 150), haiku=(7, 3))}
        e <- d user: live again
        f <- e assistant(m3): not in a total yet
        """,
        "S1/x1": """
        @ time=2026-02-01T10:00:02
        x <- - user: look
        y <- x assistant(m4): nothing
        """,
        "S2": f"""
        @ time=2026-02-01T10:00
        a <- - user: one
        b <- a assistant(m1): two
        @ time=2026-02-01T11:00
        g <- b user: forked
        h <- g assistant(m5): gone on
        {total(sonnet=(121, 50), haiku=(7, 3))}
        """,
        "S3": f"""
        @ time=2026-02-01T09:59
        k <- - user: older than its counter
        l <- k assistant(m6): yes
        @ time=2026-02-01T10:30
        m <- l user: again
        n <- m assistant(m7): yes
        {total(BEGAN + 1_000_000, sonnet=(10, 5), opus=(1, 0))}
        """,
    })  # fmt: skip
    reports = desk.reader.reports(None)
    found = {(row.chat, row.model): (row.input, row.output, row.cost, row.unpriced) for row in reports.unrecorded()}
    named = f"{SONNET}[1m]"
    # The parent: (110, 45) less one answer, then 210 and 105 more less two answers; the fork: 1 and 0 more.
    assert {key: counts[:2] for key, counts in found.items()} == {
        (S1, named): (100 + 190 + 1, 40 + 95), (S1, "claude-haiku-4-5"): (7, 3), (S3, "claude-opus-4-1"): (1, 0),
    }  # fmt: skip
    assert found[S3, "claude-opus-4-1"][2:] == (0, True)
    before = desk.reader.reports(None, until=time("2026-02-01T10:45")).unrecorded()
    assert sum(row.input for row in before if row.model == named) == 290
    chats = {chat.overview.id: chat for chat in desk.reader.chats(None, sort="newest", limit=None, offset=0)}
    assert chats[S1].unrecorded_tokens == 291 + 135 + 10
    assert world_of(desk, "/elsewhere").unrecorded() == []


def world_of(desk: Desk, home: str) -> Reports:
    return desk.within(Scope(frozenset({("ada", home)}))).reports(None)


@covers("spent_answers")
def test_an_answer_knows_what_came_before_it_in_its_conversation(world: Desk) -> None:
    (found,) = ask(world, "project:shop", since="2026-02-01T10:00:03").spent_answers()
    assert (found.time, found.model, found.cost, found.chat, found.project) == (
        time("2026-02-01T10:00:03"), SONNET, 1000, S1, SHOP,
    )  # fmt: skip
    assert (found.agent, found.gap, found.model_before, found.context_before) == (
        None,
        2_000_000,
        None,
        10,
    )  # the same model
    (first, *_, last) = ask(world).spent_answers()
    assert (first.gap, first.model_before, first.context_before) == (None, None, None)
    assert last.agent == "x1"


@covers("answer_tools")
def test_the_tools_that_answers_call(world: Desk) -> None:
    every, some = ask(world).answer_tools(), ask(world, "project:shop").answer_tools()
    messages = {one.message for one in ask(world).answers()}
    assert every
    assert all(one.message in messages and one.tool and one.calls >= 1 for one in every)
    assert set(some) < set(every)
    assert ask(world, until="2026-01-01T00:00").answer_tools() == []


@covers("chat_titles")
def test_titles_of_the_chats_that_are_asked_about(world: Desk) -> None:
    assert ask(world).chat_titles() == {S1: "fix the parser", S3: "write about it"}
    assert ask(world, "project:blog", until="2026-01-01T00:00").chat_titles() == {S3: "write about it"}


@covers("moments", "prompt_moments")
def test_the_rows_of_a_chat_with_their_times_copies_included(world: Desk) -> None:
    rows = list(ask(world, "project:shop").moments())
    assert sorted(row.uuid for row in rows) == sorted("abcdabcde")
    assert {(row.chat_id, row.project) for row in rows} == {(S1, SHOP)}
    prompts = {row.uuid: (row.text, row.size) for row in ask(world).prompt_moments()}
    assert prompts == {"a": ("fix the parser", 14), "e": ("thanks", 6), "l": ("write about it", 14)}
    assert not any(row.is_decision or row.is_abandoned for row in rows)


@covers("calls_by_tool", "tool_calls", "some_tool_calls")
def test_calls_count_once_with_their_results(world: Desk) -> None:
    assert sorted(ask(world).calls_by_tool()) == [ToolCount("Edit", 1, 0), ToolCount("Read", 1, 1)]
    edit, read = sorted(ask(world).tool_calls(), key=lambda call: call.name)
    assert (edit.tool, edit.copies, edit.state, edit.target) == ("Edit", 2, "done", f"{SHOP}/lexer.py")
    assert (read.tool, read.copies, read.state, read.chat_id) == ("Read", 1, "error", S3)
    assert read.thread == (read.chat, None, False)
    assert read.signature
    assert ask(world).some_tool_calls([edit.id, read.id]) == {edit.id: edit, read.id: read}
    assert edit.id not in ask(world, "project:blog").some_tool_calls([read.id])


@covers("call_threads", "call_places", "call_sums", "unanswered_calls")
def test_calls_in_threads_and_added_up_are_the_same_calls(world: Desk) -> None:
    calls = {call.id: call for call in ask(world).tool_calls()}
    steps = [(thread.chat, step) for thread in ask(world).call_threads() for step in thread.steps]
    assert [step.id for _, step in steps] == list(calls)
    for chat, step in steps:
        call = calls[step.id]
        assert (chat, step.time, step.name, step.state, step.signature, step.copies) == (
            call.chat, call.time, call.name, call.state, call.signature, call.copies,
        )  # fmt: skip
    edit, read = sorted(calls.values(), key=lambda call: call.name)
    by_tool = [
        CallSums("Edit", "done", 1, 1, edit.size or 0, edit.result_size or 0, [edit.took]),
        CallSums("Read", "error", 1, 0, read.size or 0, read.result_size or 0, [read.took]),
    ]
    assert sorted(ask(world).call_sums("tool")) == by_tool
    assert [sums._replace(name="Read") for sums in ask(world, "project:blog").call_sums("project")] == by_tool[1:]
    assert sum(sums.calls for sums in ask(world).call_sums("model")) == 2
    assert ask(world).call_sums("tool") and not ask(world, until="2020-01-01T00:00").call_sums("tool")
    assert ask(world).unanswered_calls() == []
    place = ask(world).call_places([edit.id])[edit.id]
    assert (place.source, place.start, place.block, place.target) == (edit.source, edit.start, edit.block, edit.target)


@covers("turn_starts")
def test_where_turns_begin(world: Desk) -> None:
    file = world.numbers["S2"]
    starts = [start for start in ask(world).turn_starts() if start.file == file]
    assert starts == [TurnStart(file, False, 0), TurnStart(file, False, 4)]


@covers("file_paths", "file_calls", "typed_prompts", "row_times")
def test_files_that_were_touched_and_what_was_typed_before(world: Desk) -> None:
    edit, read = ask(world).file_calls()
    assert (edit.file, edit.changes, edit.is_done, edit.source) == (f"{SHOP}/lexer.py", True, True, "S1")
    assert (read.file, read.changes, read.is_done) == (f"{BLOG}/post.md", False, False)
    assert edit.when == datetime.fromisoformat("2026-02-01T10:00:02+00:00")
    assert sorted(ask(world).file_paths()) == [f"{BLOG}/post.md", f"{SHOP}/lexer.py"]
    assert ask(world).file_calls([f"{SHOP}/lexer.py", "/no/such/file"]) == [edit]
    assert ask(world, "project:blog").file_calls([f"{SHOP}/lexer.py"]) == []
    assert ask(world).file_calls([]) == []
    typed = ask(world, "project:blog").typed_prompts()
    assert [(one.uuid, one.text, one.in_agent) for one in typed] == [
        ("l", "write about it", False),
        ("x", "look", True),
    ]
    times = set(ask(world, "project:shop").row_times())
    assert RowTime("d", "d", "m2", time("2026-02-01T10:00:03")) in times
    assert {row.uuid for row in times} == set("abcde")


@covers("context_parts", "context_passages", "unsized_passages", "context_answers", "compactions")
def test_what_fills_a_context(world: Desk) -> None:
    blog, shop = ask(world, "project:blog"), ask(world, "project:shop")
    parts = shop.context_parts()
    assert ContextPart(S1, "prompt", None, False, 2, len("fix the parser" + "thanks"), 0) in parts
    assert ContextPart(S1, "output", "Edit", False, 1, len("edited"), 0) in parts
    assert [(one.role, one.size) for one in shop.context_passages() if one.role != "input"] == [
        ("prompt", 14), ("output", 6), ("answer", 11), ("prompt", 6),
    ]  # fmt: skip
    assert blog.unsized_passages() == [UnsizedPassage(S3, "S3", 5, 1, 0)]
    assert [(one.chat, one.context, one.output) for one in blog.context_answers()] == [(S3, 10, 5), (S3, 10, 5)]
    assert blog.compactions() == [CompactionPlace(S3, time("2026-02-02T10:00:04"), "S3", 4, 1)]
