"""The sample conversations fit the demo: complete, small, without personal data, with every feature to show."""

import json
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from backscroll.library.library import Library
from backscroll.library.setup.inspect import Inspection
from backscroll.library.sharing.share import redactor, rows_of
from backscroll.pricing.names import plain_name
from backscroll.records.content import ToolUse
from backscroll.records.drift import drift
from tests.library.support import Shelf

SAMPLE = Path(__file__).parents[2] / "src" / "backscroll" / "demo" / "sample.tar.xz"
MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    with tarfile.open(SAMPLE) as tar:
        tar.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def about(sample: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((sample / "sample.json").read_text(encoding="utf-8"))
    return value


@pytest.fixture(scope="module")
def library(sample: Path) -> Iterator[Library]:
    with Shelf(sample).open() as library:
        library.update()
        yield library


def rows(library: Library, statement: str) -> list[tuple[Any, ...]]:
    return library.sql(statement, limit=100_000).rows


def flaky(library: Library) -> str:
    ((identity,),) = rows(library, "select id from v_chats where title like '%flaky%'")
    return str(identity)


# What it is -----------------------------------------------------------------------------------------------------------


def test_it_is_small() -> None:
    assert SAMPLE.stat().st_size <= 0.6 * MEGABYTE
    with tarfile.open(SAMPLE) as tar:
        assert sum(entry.size for entry in tar) <= 6 * MEGABYTE


def test_nothing_in_it_leads_out_of_the_folder() -> None:
    with tarfile.open(SAMPLE) as tar:
        for entry in tar:
            assert entry.isfile(), entry.name
            assert re.match(r"(sample\.json$|home/|work/)", entry.name), entry.name
            assert ".." not in entry.name.split("/")


def test_it_says_what_is_in_it(sample: Path, about: dict[str, Any]) -> None:
    assert about.keys() == {"recorded", "user", "deleted", "live"}
    assert about["user"] == "/home/ada"
    assert len(about["deleted"]) in {1, 2}
    for path in [*about["deleted"], about["live"]]:
        assert (sample / "home" / path).is_file()


def test_every_line_is_understood(sample: Path) -> None:
    inspection = Inspection()
    unknown = Counter(
        what
        for found in inspection.read(sorted((sample / "home" / "projects").rglob("*.jsonl")))
        for what in drift(found.record)
    )
    assert inspection.records > 400
    assert inspection.troubles == []
    assert unknown == {}


def test_nothing_reveals_the_machine_that_recorded_it(sample: Path) -> None:
    traces = re.compile(
        rb"/tmp/|/root|/work/|\.venv|pyenv|backscroll|registry|127\.0\.0\.1|localhost|sk-ant-|api03"
        rb"|analytical-engine|machineID|@anthropic"
    )
    for path in sorted(sample.rglob("*")):
        if path.is_file():
            content = bytes(path.relative_to(sample)) + b"\n" + path.read_bytes()
            assert not (found := traces.search(content)), (
                f"{path.relative_to(sample)}: {content[found.start() - 80 : found.end() + 80]!r}"
            )


# When it was ----------------------------------------------------------------------------------------------------------


def test_it_was_over_three_months_in_working_hours(library: Library, about: dict[str, Any]) -> None:
    times = [time for (time,) in rows(library, "select time from v_messages where time is not null order by time")]
    assert times[-1][:10] == about["recorded"]
    days = {time[:10] for time in times}
    assert 80 <= (_day(times[-1]) - _day(times[0])) <= 100
    assert len(days) >= 14
    assert {int(time[11:13]) for time in times} <= set(range(7, 20))
    assert any(0 < _day(times[-1]) - _day(f"{day}T00:00") <= 8 for day in days)


def _day(time: str) -> int:
    return date.fromisoformat(time[:10]).toordinal()


# What is in it --------------------------------------------------------------------------------------------------------


def test_there_are_several_projects_and_enough_chats(library: Library) -> None:
    chats = rows(library, "select project, count(*) from v_chats group by project")
    assert {project for project, _ in chats} == {"/home/ada/shop", "/home/ada/ledger", "/home/ada/trailmap"}
    assert 12 <= sum(count for _, count in chats) <= 20


def test_it_cost_something_with_four_models(library: Library) -> None:
    models = {model for (model,) in rows(library, "select distinct model from v_usage") if model}
    assert len({plain_name(model) for model in models if model.startswith("claude")}) >= 4


def test_the_flaky_test_is_a_long_chat_with_everything(library: Library) -> None:
    identity = flaky(library)
    ((messages, branches, agents, compactions),) = rows(
        library, f"select messages, branches, agents, compactions from v_chats where id = '{identity}'"
    )
    assert messages >= 60
    assert branches >= 2
    assert agents >= 3
    assert compactions == 1
    assert identity in {found.chat.overview.id for found in library.search("flaky test").chats}
    tools = Counter(tool for (tool,) in rows(library, f"select tool from v_tool_calls where chat_id = '{identity}'"))
    assert tools.keys() >= {"Bash", "Edit", "Read", "Write", "Agent", "TaskCreate"}
    assert rows(library, f"select count(*) from v_tool_calls where is_error and chat_id = '{identity}'")[0][0] >= 2


def test_two_ways_to_mend_it_can_be_compared(library: Library) -> None:
    """The branch that was left gives the microseconds back, the other one sorts by rowid."""
    opened = library.open(flaky(library))
    active = opened.chat.active
    assert active
    (left,) = (branch for branch in opened.chat.branches if branch is not active)
    left_edits, edits = (
        [
            bytes(block.input)
            for message in opened.messages(branch)
            for block in message.blocks
            if isinstance(block, ToolUse)
        ]
        for branch in (left, active)
    )
    assert [edit for edit in left_edits if b"old_string" in edit and b"clock.py" in edit and edit not in edits]
    assert [edit for edit in edits if b"old_string" in edit and b"ORDER BY rowid" in edit and edit not in left_edits]


def test_the_reported_test_result_is_what_happened(sample: Path) -> None:
    """The words were written before the tests ran; the seed of each run makes them come true."""
    text = b"".join(path.read_bytes() for path in sorted((sample / "home" / "projects").rglob("*.jsonl")))
    for said, happened in (
        ("**7 of 20 runs fail**", "7 failed\\n     13 passed"),
        ("Alone: 8 of 15", "8 failed\\n      7 passed"),
    ):
        assert said.encode() in text
        assert happened.encode() in text
    assert b"6 failed\\n      9 passed" in text
    assert b"50 passed" in text


def test_a_picture_was_pasted(sample: Path) -> None:
    assert any(b'"type":"image"' in path.read_bytes() for path in (sample / "home" / "projects").rglob("*.jsonl"))


def test_there_is_japanese(library: Library) -> None:
    assert {found.chat.overview.project for found in library.search("日本語").chats} == {"/home/ada/shop"}


def test_a_session_over_three_files_is_one_chat(library: Library) -> None:
    files = rows(library, "select chat_id, count(*) from v_sessions where kind = 'session' group by chat_id")
    assert sorted(count for _, count in files)[-2:] == [1, 3]


def test_a_plan_a_todo_list_a_refusal_and_an_error_of_the_api(sample: Path, library: Library) -> None:
    tools = {tool for (tool,) in rows(library, "select distinct tool from v_tool_calls")}
    assert tools >= {"ExitPlanMode", "TodoWrite", "TaskCreate"}
    text = b"".join(path.read_bytes() for path in sorted((sample / "home" / "projects").rglob("*.jsonl")))
    assert text.count(b'"isApiErrorMessage":true') >= 1
    assert text.count(b"The user doesn't want to proceed with this tool use") >= 2


def test_the_secret_is_masked_in_exports(sample: Path, library: Library) -> None:
    (identity,) = rows(library, "select distinct chat_id from v_tool_calls where file like '%/shop/.env'")[0]
    found = re.search(rb"PAYMENT_KEY=(\w+)", (sample / "work" / "shop" / ".env").read_bytes())
    assert found
    assert found[1] in b"".join(rows_of(library, identity, None))
    assert found[1] not in b"".join(rows_of(library, identity, redactor()))


def test_the_live_session_is_short_enough_to_watch(sample: Path, about: dict[str, Any]) -> None:
    lines = [json.loads(line) for line in (sample / "home" / about["live"]).read_text(encoding="utf-8").splitlines()]
    shown = [row for row in lines if row["type"] in {"user", "assistant"}]
    assert 25 <= len(shown) <= 45
    assert len([row for row in shown if row["type"] == "user" and isinstance(row["message"]["content"], str)]) == 2
    known: set[str | None] = {None}
    for row in lines:
        if "uuid" in row:
            assert row["parentUuid"] in known, "a row comes before its parent"
            known.add(row["uuid"])
