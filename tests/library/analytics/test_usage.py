"""Every number of `stats usage` is what a recount of the raw lines gives, however the answers are spread over files."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from bench.generate import Mix, generate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.archive import Writer
from backscroll.archive.capture import forget_key
from backscroll.files import Home
from backscroll.library import Library
from backscroll.library.analytics.reports import Asked, Report
from backscroll.library.analytics.usage import answers, usage
from backscroll.library.preserve import archive_folder, machine_name
from tests.library.analytics.recount import Told, by_day, by_model, recount, totals
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import EVERYTHING, FAMILIES, SHOP, session_file, session_path

ZONES: Final = tuple(map(ZoneInfo, ("UTC", "Asia/Kolkata", "America/New_York")))
SONNET: Final = "claude-sonnet-4-5-20250929"
MODELS: Final = (SONNET, "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001", "unheard-of-1", "<synthetic>", None)
COUNTED: Final = (
    "select u.message, f.path, u.agent, u.time, u.model, u.input, u.output, u.cache_write, u.cache_read,"
    " u.cache_write_5m, u.cache_write_1h, u.web_searches, u.web_fetches, u.tier, u.speed, u.geo, u.final,"
    " u.reported_cost, u.version, u.git_branch, u.cost, u.records, u.files from counted u join files f on f.id = u.file"
)
SPENT: Final = (
    "select s.quarter, f.path, s.agent, s.model, s.speed, s.version, s.git_branch, s.messages, s.input, s.output,"
    " s.cache_write, s.cache_read, s.cache_write_5m, s.cache_write_1h, s.web_searches, s.web_fetches, s.placeholders,"
    " s.cost, s.unpriced, s.reported_cost, s.records, s.copies from spent s join files f on f.id = s.file"
)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def report_of(shelf: Shelf, by: str = "model", zone: ZoneInfo | None = None) -> Report:
    with shelf.open() as library:
        return usage(library, Asked(zone=zone), by)


def groups_of(report: Report) -> dict[str, dict[str, int]]:
    rows = [dict(row) for row in report.as_dicts()]
    return {row.pop(report.columns[0]): {name: row[name] for name in TOKENS_AND_MESSAGES} for row in rows}


TOKENS_AND_MESSAGES: Final = (
    "messages", "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens",
)  # fmt: skip


def plain(groups: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {name: {field: group.get(field, 0) for field in TOKENS_AND_MESSAGES} for name, group in groups.items()}


def check(library: Library, told: dict[str, Told]) -> None:
    """All that a report says is what the recount says."""
    real = {name: one for name, one in told.items() if not one.is_synthetic}
    report = usage(library, Asked(zone=ZONES[0]), "model")
    assert groups_of(report) == plain(by_model(told))
    counted = totals(told)
    for name, value in report.facts["total"].items():
        if name != "cost_microdollars":
            assert value == counted.get(name, 0), name
    assert report.facts["counted"] == len(real)
    assert report.facts["copies"] == sum(len(one.files) - 1 for one in real.values())
    assert report.facts["repeated_rows"] == sum(one.rows - 1 for one in real.values())
    assert report.facts["placeholders"] == sum(not one.is_final for one in real.values())
    assert report.facts["synthetic"] == len(told) - len(real)
    for zone in ZONES:
        assert groups_of(usage(library, Asked(zone=zone), "day")) == plain(by_day(told, zone))
    for by in ("hour", "week", "month", "project", "chat", "agent", "git-branch", "version"):
        other = usage(library, Asked(zone=ZONES[0]), by)
        assert other.facts == report.facts, by
        assert sum(row["messages"] for row in other.as_dicts()) == len(real), by
    explained = {row["message"]: row for row in answers(library, Asked(zone=ZONES[0])).as_dicts()}
    assert explained.keys() == told.keys()
    for name, one in told.items():
        row = explained[name]
        assert (row["records"], row["files"], row["final"]) == (one.rows, len(one.files), one.is_final)
        assert all(row[field] == one.numbers[field] for field in TOKENS_AND_MESSAGES[1:]), name


# Homes that are there


def test_the_real_sessions_are_counted_as_a_recount_counts_them(corpus: Path, tmp_path: Path) -> None:
    settings = replace(Shelf(tmp_path).settings, homes=(corpus / "home",))
    with Library(settings, [Home(corpus / "home")]) as library:
        library.refresh(with_text=False)
        check(library, recount(corpus / "home"))


@pytest.mark.parametrize("seed", [1, 2])
def test_a_home_with_resumes_forks_and_agents_is_counted_as_a_recount_counts_it(tmp_path: Path, seed: int) -> None:
    mix = Mix(resumes=1.0, forks=0.6, problems=0)
    made = generate(tmp_path / "home", sessions=40, total_bytes=3_000_000, seed=seed, mix=mix)
    assert made.resumes + made.forks and made.agents
    with Shelf(tmp_path).open() as library:
        library.refresh(with_text=False)
        told = recount(tmp_path / "home")
        check(library, told)
        assert any(len(one.files) > 1 for one in told.values())


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("damaged", "secrets")])
def test_every_family_of_versions_is_counted_as_a_recount_counts_it(shelf: Shelf, family: str) -> None:
    shelf.write(FAMILIES[family]).update()
    with shelf.open() as library:
        check(library, recount(shelf.home))


def test_all_of_them_together_too(shelf: Shelf) -> None:
    """But for a row whose model is a number, of which the recount makes a model of its own."""
    sound = {path: data for path, data in EVERYTHING.items() if path not in FAMILIES["damaged"]}
    shelf.write(sound).update()
    with shelf.open() as library:
        check(library, recount(shelf.home))


# One answer at a time


def drawn(shelf: Shelf, drawing: str, **defaults: str) -> Report:
    shelf.write(session_file("S1", drawing, **defaults)).update()
    return report_of(shelf)


def test_of_the_rows_of_an_answer_each_field_counts_at_its_highest(shelf: Shelf) -> None:
    report = drawn(
        shelf,
        """
        a <- - user: hello
        b <- a thinking(m1): hm {"message": {"usage": {"output_tokens": 2, "cache_read_input_tokens": 900}}}
        c <- b assistant(m1): hi {"message": {"usage": {"output_tokens": 70, "cache_read_input_tokens": 800}}}
        """,
    )
    total = report.facts["total"]
    assert (total["messages"], total["input_tokens"], total["output_tokens"]) == (1, 10, 70)
    assert total["cache_read_input_tokens"] == 900
    assert report.facts["repeated_rows"] == 1


def test_an_answer_without_an_id_is_counted_by_its_row(shelf: Shelf) -> None:
    rows = draw("a <- - user: hello\nb <- a assistant -message.id: hi\nc <- b assistant -message.id: ho")
    copied = [row | {"sessionId": session_uuid("S2")} for row in rows]
    shelf.write({session_path("S1"): jsonl(rows), session_path("S2"): jsonl(copied)}).update()
    report = report_of(shelf)
    assert (report.facts["counted"], report.facts["copies"]) == (2, 2)


def test_cache_writes_are_priced_by_how_long_they_stay(shelf: Shelf) -> None:
    """Sonnet 4.5: input 3, output 15, writes 3.75 and 6, reads 0.3 dollars for a million."""
    report = drawn(
        shelf,
        """
        a <- - user: hello
        b <- a assistant(m1): hi {"message": {"usage": {"input_tokens": 1000, "output_tokens": 2000, \
            "cache_creation_input_tokens": 7000, "cache_read_input_tokens": 50000, "cache_creation": \
            {"ephemeral_5m_input_tokens": 4000, "ephemeral_1h_input_tokens": 3000}}}}
        """,
    )
    total = report.facts["total"]
    assert (total["cache_creation_5m"], total["cache_creation_1h"]) == (4000, 3000)
    assert total["cost_microdollars"] == 3 * 1000 + 15 * 2000 + 3.75 * 4000 + 6 * 3000 + 0.3 * 50000


def test_web_searches_are_counted_and_cost_a_cent(shelf: Shelf) -> None:
    used = '{"message": {"usage": {"server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 2}}}}'
    with_search = drawn(shelf, f"a <- - user: hello\nb <- a assistant(m1): hi {used}").facts["total"]
    assert (with_search["web_searches"], with_search["web_fetches"]) == (3, 2)
    assert with_search["cost_microdollars"] == 3 * 10 + 15 * 5 + 30_000


def test_an_output_that_was_never_finished_is_called_a_lower_bound(shelf: Shelf) -> None:
    unfinished = '{"message": {"stop_reason": null}}'
    report = drawn(shelf, f"a <- - user: hello\nb <- a assistant(m1): hi {unfinished}\nc <- b assistant(m2): ho")
    assert report.facts["placeholders"] == 1
    assert any("1 answers" in note and "a lower bound" in note for note in report.notes)


def test_what_the_client_made_up_is_told_apart(shelf: Shelf) -> None:
    report = drawn(shelf, 'a <- - user: hi\nb <- a assistant(m1): no {"message": {"model": "<synthetic>"}}')
    assert (report.rows, report.facts["counted"], report.facts["synthetic"]) == ([], 0, 1)


def test_a_model_without_a_price_has_tokens_and_no_cost(shelf: Shelf) -> None:
    report = drawn(
        shelf,
        """
        a <- - user: hello
        b <- a assistant(m1): hi {"message": {"model": "unheard-of-1"}}
        c <- b assistant(m2): ho
        """,
    )
    costs = {row["model"]: row["cost_microdollars"] for row in report.as_dicts()}
    assert costs == {"unheard-of-1": None, SONNET: 105}
    assert report.facts["unknown"] == {"unheard-of-1": 1}
    assert report.facts["total"]["output_tokens"] == 10
    assert any("unheard-of-1 (1)" in note for note in report.notes)


def test_a_price_in_the_settings_counts_from_the_next_update_on(shelf: Shelf) -> None:
    drawn(shelf, 'a <- - user: hello\nb <- a assistant(m1): hi {"message": {"model": "unheard-of-1"}}')
    for rates, cost in (({"input": 1.0, "output": 2.0}, 20), ({"input": 7.0, "output": 2.0}, 80), (None, None)):
        prices = {"unheard-of-1": rates} if rates else {}
        with Library(replace(shelf.settings, prices=prices), [Home(shelf.home)]) as library:
            library.refresh(with_text=False)
            report = usage(library, Asked(), "model")
            assert report.facts["total"]["cost_microdollars"] == cost
            assert library.sql("select sum(cost), sum(unpriced) from spent").rows == [
                ((cost or 0) * 1000, int(cost is None))
            ]


def test_what_old_rows_say_they_cost_stands_beside_what_we_count(shelf: Shelf) -> None:
    report = drawn(
        shelf,
        """
        @ version=0.2.126
        a <- - user: hello
        b <- a thinking(m1): hm {"costUSD": 0.0003}
        c <- b assistant(m1): hi {"costUSD": 0.0005}
        d <- c assistant(m2): ho
        """,
    )
    assert report.facts["reported"] == {
        "messages": 1, "reported_cost_microdollars": 500, "cost_microdollars": 105,
    }  # fmt: skip
    with shelf.open() as library:
        told = {row["message"]: row["reported_cost_microdollars"] for row in answers(library, Asked()).as_dicts()}
    assert told == {"m1": 500, "m2": None}


def test_an_answer_without_a_time_has_no_day(shelf: Shelf) -> None:
    shelf.write(session_file("S1", "a <- - user: hello\nb <- a assistant(m1) -timestamp: hi")).update()
    assert [row[0] for row in report_of(shelf, "day").rows] == ["-"]


def test_an_agent_is_counted_once_wherever_it_is_repeated(shelf: Shelf) -> None:
    """In its own file, and in the result that the main session got of it."""
    shelf.write(FAMILIES["2.0.28 agents beside"]).update()
    report = report_of(shelf, "agent")
    assert {row["agent"]: row["messages"] for row in report.as_dicts()} == {"-": 2, "be11ce0": 1, "be3a4b1": 1}


PROGRESS: Final = """
    @ version=2.1.42
    a <- - user: look
    b <- a call(m1) t1 Task {"description": "look", "prompt": "look around", "subagent_type": "Explore"}
    p <- b progress agent_progress t1: look {"data": {"agentId": "abc1234", "message": {"type": "assistant", \
        "uuid": "x2", "timestamp": "2026-01-05T10:00:02.000Z", "message": {"id": "m2", "model": "claude-haiku-4-5", \
        "role": "assistant", "content": [], "stop_reason": null, "usage": {"input_tokens": 4, "output_tokens": 1, \
        "cache_creation_input_tokens": 300, "cache_read_input_tokens": 9000}}}}}
    """
AGENT: Final = """
    @ version=2.1.42 agent=abc1234 time=2026-01-05T10:00:01
    x1 <- - user: look around
    x2 <- x1 assistant(m2): seen {"message": {"model": "claude-haiku-4-5", "usage": {"input_tokens": 4, \
        "output_tokens": 30, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 9000}}}
    """


def test_an_answer_that_only_a_progress_row_tells_of_is_counted(shelf: Shelf) -> None:
    report = drawn(shelf, PROGRESS)
    assert report.facts["counted"] == 2
    assert report.facts["total"]["cache_read_input_tokens"] == 9000
    assert len(report_of(shelf, "agent").rows) == 2


def test_a_progress_row_beside_its_agent_adds_nothing(shelf: Shelf) -> None:
    folder = session_path("S1").removesuffix(".jsonl")
    shelf.write({f"{folder}/subagents/agent-abc1234.jsonl": jsonl(draw(AGENT, session="S1"))})
    total = drawn(shelf, PROGRESS).facts["total"]
    assert (total["messages"], total["output_tokens"], total["cache_read_input_tokens"]) == (2, 35, 9000)


# Any homes

Files = dict[str, list[dict[str, Any]]]
# Around the hours that New York has twice and not at all.
MOMENTS: Final = tuple(
    datetime.fromisoformat(text)
    for text in (
        "2026-03-08T04:50Z",
        "2026-03-08T06:59Z",
        "2026-11-01T03:55Z",
        "2026-11-01T05:30Z",
        "2026-07-01T18:20Z",
    )
)
counts = st.integers(0, 5000)


@st.composite
def responses(draw: st.DrawFn, number: int) -> list[dict[str, Any]]:
    """The rows of one answer."""
    model = draw(st.sampled_from(MODELS))
    moment = draw(st.sampled_from(MOMENTS)) + timedelta(seconds=draw(st.integers(0, 7200)))
    has_id, is_timed = draw(st.booleans()) or draw(st.booleans()), draw(st.integers(0, 9)) > 0
    size = draw(st.integers(1, 3)) if has_id else 1
    rows = []
    for part in range(size):
        used: dict[str, Any] = {
            "input_tokens": draw(counts), "output_tokens": draw(counts),
            "cache_creation_input_tokens": draw(counts), "cache_read_input_tokens": draw(counts),
        }  # fmt: skip
        if draw(st.booleans()):
            used["cache_creation"] = {
                "ephemeral_5m_input_tokens": draw(counts), "ephemeral_1h_input_tokens": draw(counts)
            }  # fmt: skip
            used["server_tool_use"] = {"web_search_requests": draw(st.integers(0, 3)), "web_fetch_requests": 1}
        message: dict[str, Any] = {"role": "assistant", "content": [{"type": "text", "text": "so"}], "usage": used}
        message |= {"model": model, "stop_reason": draw(st.sampled_from((None, "end_turn")))}
        if has_id:
            message["id"] = f"m{number}"
        row: dict[str, Any] = {
            "type": "assistant",
            "uuid": f"r{number}-{part}",
            "message": message,
            "version": "2.1.42",
        }
        row |= {"parentUuid": f"r{number}-{part - 1}" if part else "r", "isSidechain": False}
        if is_timed:
            row["timestamp"] = (moment + timedelta(seconds=part)).isoformat().replace("+00:00", "Z")
        if draw(st.integers(0, 5)) == 0:
            row["costUSD"] = draw(st.integers(1, 999)) / 1000
        rows.append(row)
    return rows


@st.composite
def worlds(draw: st.DrawFn) -> Files:
    """Sessions and agents that share some of their answers, as resumes and forks do."""
    given = [draw(responses(number)) for number in range(draw(st.integers(1, 7)))]
    names = [session_path(f"S{number}") for number in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        names.append(f"{SHOP}/{session_uuid('S0')}/subagents/agent-a1b2c3d.jsonl")
    files: Files = {name: [_prompt(name)] for name in names}
    for rows in given:
        for name in draw(st.lists(st.sampled_from(names), min_size=1, unique=True)):
            files[name] += rows
    return files


def _prompt(name: str) -> dict[str, Any]:
    message = {"role": "user", "content": f"hello {name}"}
    return {"type": "user", "uuid": f"prompt of {name}", "parentUuid": None, "isSidechain": False, "message": message}


def lay(shelf: Shelf, files: Files) -> None:
    shelf.write({name: jsonl(_placed(name, rows)) for name, rows in files.items()})


def _placed(name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows as the client writes them into that file."""
    if "agent-" not in name:
        return [row | {"sessionId": Path(name).stem} for row in rows]
    return [row | {"sessionId": session_uuid("S0"), "agentId": "a1b2c3d", "isSidechain": True} for row in rows]


def refreshed(shelf: Shelf) -> dict[str, Any]:
    """The totals after a look at the home, in every way they can be split that has nothing to do with files."""
    with shelf.open() as library:
        library.refresh(with_text=False)
        found: dict[str, Any] = {"model": usage(library, Asked(), "model").rows}
        for zone in ZONES:
            found[str(zone)] = usage(library, Asked(zone=zone), "day").rows
        facts = usage(library, Asked(), "month").facts
    found["facts"] = {name: value for name, value in facts.items() if name not in ("copies", "repeated_rows")}
    return found


def many(examples: int) -> settings:
    return settings(max_examples=examples, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def shelves(tmp_path: Path) -> Any:  # noqa: ANN401 - makes a shelf
    return lambda: Shelf(tmp_path / uuid4().hex)


@many(40)
@given(files=worlds())
def test_any_home_is_counted_as_a_recount_counts_it(shelves: Any, files: Files) -> None:  # noqa: ANN401
    shelf = shelves()
    lay(shelf, files)
    with shelf.open() as library:
        library.refresh(with_text=False)
        check(library, recount(shelf.home))


@many(25)
@given(files=worlds(), data=st.data())
def test_a_copy_of_any_session_changes_no_total(shelves: Any, files: Files, data: st.DataObject) -> None:  # noqa: ANN401
    shelf = shelves()
    lay(shelf, files)
    before = refreshed(shelf)
    chosen = data.draw(st.sampled_from(sorted(files)))
    lay(shelf, {session_path("a copy"): files[chosen]})
    assert refreshed(shelf) == before


@many(25)
@given(files=worlds(), data=st.data())
def test_splitting_and_merging_files_changes_no_total(shelves: Any, files: Files, data: st.DataObject) -> None:  # noqa: ANN401
    whole = shelves()
    lay(whole, files)
    expected = refreshed(whole)
    every = [row for name in sorted(files) for row in files[name]]
    merged = shelves()
    lay(merged, {session_path("merged"): every})
    assert refreshed(merged) == expected
    split = shelves()
    at = data.draw(st.integers(0, len(every)))
    lay(split, {session_path("one"): every[:at], session_path("other"): every[at:]})
    assert refreshed(split) == expected


@many(25)
@given(files=worlds(), data=st.data())
def test_counts_that_grew_are_those_of_a_rebuild(shelves: Any, files: Files, data: st.DataObject) -> None:  # noqa: ANN401
    """In any order of files, with appends, rewrites, deletions, and what is forgotten."""
    shelf = shelves()
    steps = st.sampled_from(("write", "write", "append", "rewrite", "delete", "forget"))
    for step in data.draw(st.lists(steps, min_size=1, max_size=7)):
        name = data.draw(st.sampled_from(sorted(files)))
        _do(shelf, step, name, _placed(name, files[name]), data)
        with shelf.open() as library:
            library.refresh(with_text=False)
            grown = _tables(library)
            _check_sums(library)
        with shelf.rebuilt().open() as library:
            assert _tables(library) == grown


def _do(shelf: Shelf, step: str, name: str, rows: list[dict[str, Any]], data: st.DataObject) -> None:
    path = shelf.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if step == "write":
        path.write_bytes(jsonl(rows[: data.draw(st.integers(0, len(rows)))]))
    elif step == "append":
        have = len(path.read_bytes().splitlines()) if path.exists() else 0
        with path.open("ab") as file:
            file.write(jsonl(rows[have:]))
    elif step == "rewrite":
        path.write_bytes(jsonl(rows[::-1]))
    elif step == "delete":
        path.unlink(missing_ok=True)
    elif archive_folder(shelf.settings).exists():
        with Writer(archive_folder(shelf.settings)) as writer:
            gone = [file for file in writer.files.values() if not file.source.exists()]
            writer.forget(gone, [forget_key(machine_name(), str(shelf.home), file.path) for file in gone])


def _tables(library: Library) -> tuple[list[Any], list[Any]]:
    counted, spent = (library.sql(statement, limit=100_000).rows for statement in (COUNTED, SPENT))
    return sorted(counted, key=repr), sorted(spent, key=repr)


def _check_sums(library: Library) -> None:
    """The sums are those of the answers, and no row is left over."""
    names = ("input", "output", "cache_write", "cache_read", "web_searches", "records", "cost", "reported_cost")
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in names)
    summed = library.sql(f"select coalesce(sum(messages), 0), {sums} from spent").rows
    assert summed == library.sql(f"select count(*), {sums} from counted").rows
    assert library.sql("select count(*) from spent where messages <= 0").rows == [(0,)]


def test_json_of_the_recount_is_read_as_it_stands(tmp_path: Path) -> None:
    """Two objects on a line, and one that is torn."""
    row = {"type": "assistant", "uuid": "a", "timestamp": "2026-01-05T10:00:00Z", "message": {"usage": {}}}
    path = tmp_path / session_path("S1")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(row) + json.dumps(row | {"uuid": "b"}) + "\n" + json.dumps(row)[:20])
    assert {name: min(told.times).astimezone(UTC).hour for name, told in recount(tmp_path).items()} == {
        "a": 10,
        "b": 10,
    }
