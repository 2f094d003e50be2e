"""Whatever a home holds and however it came about: its usage is that of a recount, and of a rebuild."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.archive.forgetting import forget_key
from backscroll.archive.rewriting import Writer
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.library.archives import archive_folder
from tests.library.analytics.recount import recount
from tests.library.analytics.test_usage import SONNET, ZONES, check
from tests.library.support import Shelf, local_store
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import SHOP, session_path
from tests.support.samples import TRY_ALL

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

UNRECORDED: Final = (
    "select f.path, u.number, u.model, u.started, u.quarter, u.input, u.output, u.cache_write, u.cache_read,"
    " u.cache_write_5m, u.cache_write_1h, u.web_searches, u.cost from unrecorded u join files f on f.id = u.file"
)
CHATS: Final = "select name, tokens, cost, unrecorded_tokens, unrecorded_cost from chats"

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


@st.composite
def worlds_with_totals(draw: st.DrawFn) -> Files:
    """The same with the client's own totals between the rows."""
    files = draw(worlds())
    for name, rows in files.items():
        if "agent-" not in name:
            for _ in range(draw(st.integers(0, 3))):
                rows.insert(draw(st.integers(0, len(rows))), draw(totals()))
    return files


@st.composite
def totals(draw: st.DrawFn) -> dict[str, Any]:
    """A total; few counters, so that sessions share some."""
    began = draw(st.sampled_from(MOMENTS[:2])) + timedelta(hours=draw(st.integers(-1, 1)))
    models = draw(st.lists(st.sampled_from(("claude-opus-4-5[1m]", SONNET, "elsewhere")), max_size=2, unique=True))
    names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "webSearchRequests")
    usage = {model: {name: draw(counts) * 3 for name in names} | {"costUSD": 0.5} for model in models}
    return {"type": "cost-state", "startTime": began.timestamp() * 1000, "modelUsage": usage}


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
        found: dict[str, Any] = {"model": usage(library, ReportRequest(), "model").rows}
        for zone in ZONES:
            found[str(zone)] = usage(library, ReportRequest(zone=zone), "day").rows
        facts = usage(library, ReportRequest(), "month").facts
    found["facts"] = {name: value for name, value in facts.items() if name not in ("copies", "repeated_rows")}
    return found


def many(examples: int) -> settings:
    tried = examples if TRY_ALL else examples // 3
    return settings(max_examples=tried, suppress_health_check=[HealthCheck.function_scoped_fixture])


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
@given(files=worlds_with_totals(), data=st.data())
def test_a_session_in_two_folders_has_its_totals_once(shelves: Any, files: Files, data: st.DataObject) -> None:  # noqa: ANN401
    """As a library of two homes has it; one copy may be shorter than the other."""
    shelf = shelves()
    lay(shelf, files)
    before = refreshed(shelf)
    chosen = data.draw(st.sampled_from(sorted(name for name in files if "agent-" not in name)))
    rows = files[chosen]
    lay(shelf, {f"projects/-elsewhere/{Path(chosen).name}": rows[: data.draw(st.integers(1, len(rows)))]})
    assert refreshed(shelf) == before


@pytest.mark.slow
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


@pytest.mark.slow
@many(25)
@given(files=worlds_with_totals(), data=st.data())
def test_counts_that_grew_are_those_of_a_rebuild(shelves: Any, files: Files, data: st.DataObject) -> None:  # noqa: ANN401
    """In any order of files, with appends, rewrites, deletions, and what is forgotten."""
    shelf = shelves()
    steps = st.sampled_from(("write", "write", "append", "rewrite", "delete", "forget"))
    for step in data.draw(st.lists(steps, min_size=1, max_size=7)):
        name = data.draw(st.sampled_from(sorted(files)))
        _do(shelf, step, name, _placed(name, files[name]), data)
        with shelf.open() as library:
            library.refresh(with_text=False)
        _check_sums(shelf)
        assert _tables(shelf.rebuilt()) == _tables(shelf)


def test_sums_of_chats_that_an_older_version_left_wrong_are_made_again(tmp_path: Path) -> None:
    answer = 'a <- - user: hello\nb <- a assistant(m1): hello {"message": {"usage": {"input_tokens": 3000}}}'
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(answer, session="S1"))}).rest()
    shelf.update()
    sums = "select tokens, cost from chats"
    before = shelf.rows(sums)
    assert before[0][0] > 1
    with shelf.open() as library:
        store = local_store(library)
        store.start_writing()
        store.connection.execute("update chats set tokens = 1, cost = 1")
        store.note("prices", (store.noted("prices") or "").split()[-1])  # it noted the prices alone
    assert shelf.rows(sums) == [(1, 1)]
    shelf.update()
    assert shelf.rows(sums) == before


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
            writer.forget(gone, [forget_key(shelf.machine.id, str(shelf.home), file.path) for file in gone])


def _tables(shelf: Shelf) -> list[list[Any]]:
    return [sorted(shelf.rows(statement), key=repr) for statement in (COUNTED, SPENT, UNRECORDED, CHATS)]


def _check_sums(shelf: Shelf) -> None:
    """The sums are those of the answers, and no row is left over."""
    names = ("input", "output", "cache_write", "cache_read", "web_searches", "records", "cost", "reported_cost")
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in names)
    summed = shelf.rows(f"select coalesce(sum(messages), 0), {sums} from spent")
    assert summed == shelf.rows(f"select count(*), {sums} from counted")
    assert shelf.rows("select count(*) from spent where messages <= 0") == [(0,)]


def test_json_of_the_recount_is_read_unchanged(tmp_path: Path) -> None:
    """Two objects on a line, and one that is torn."""
    row = {"type": "assistant", "uuid": "a", "timestamp": "2026-01-05T10:00:00Z", "message": {"usage": {}}}
    path = tmp_path / session_path("S1")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(row) + json.dumps(row | {"uuid": "b"}) + "\n" + json.dumps(row)[:20])
    assert {name: min(told.times).astimezone(UTC).hour for name, told in recount(tmp_path).items()} == {
        "a": 10,
        "b": 10,
    }
