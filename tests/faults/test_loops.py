"""Samples of the fault loops of `bench/faults`; `scripts/test --all` takes larger ones, and a release runs all of them.

Most of the time goes into recording what each scenario does, so by default each loop that records takes two of them.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from bench.faults.disk import Files, Recording, Step
from bench.faults.questions import Crashed, Plain, differences, lost
from bench.faults.tracing import _calls, points
from bench.faults.world import SCENARIOS

from tests.support.samples import TRY_ALL

ROOT = Path(__file__).parents[2]
FAILING_CALLS = ("update", "backup")
POWER_CUTS = ("update", "forget")
KILLS = ("update", "keep", "watch", "first", "backup", "rebuild", "restore", "repair")

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def loop(tmp_path: Path, name: str, runs: int, scenarios: Iterable[str] = ()) -> dict[str, Any]:
    """Run one as a process of its own: it forks, which a process with threads must not."""
    target = tmp_path / "summary.json"
    own = ["--n", str(runs), "--seed", "1", "--scenario", ",".join(scenarios), "--json", str(target)]
    command = [sys.executable, "-m", "bench.faults", name, *own]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert target.exists(), ran.stderr
    summary: dict[str, Any] = json.loads(target.read_bytes())
    assert (summary["failures"], ran.returncode) == ([], 0)
    return summary


@needs_strace
def test_a_system_call_that_fails_ends_in_right_answers_or_a_plain_error(tmp_path: Path) -> None:
    summary = loop(tmp_path, "syscalls", 56 if TRY_ALL else 8, SCENARIOS if TRY_ALL else FAILING_CALLS)

    assert summary["facts"]["faults that can be made"] > 500
    assert summary["outcomes"]["plain error"] > 2


@pytest.mark.all
@needs_strace
def test_a_power_cut_where_something_is_made_lasting_costs_nothing(tmp_path: Path) -> None:
    summary = loop(tmp_path, "power", 60 if TRY_ALL else 10, SCENARIOS if TRY_ALL else POWER_CUTS)

    assert summary["facts"]["update: points"] > 10
    assert summary["facts"]["update: flushes"] > 10
    assert summary["runs"] >= 8


def test_a_command_that_is_killed_costs_nothing(tmp_path: Path) -> None:
    summary = loop(tmp_path, "kills", 48 if TRY_ALL else 4, KILLS if TRY_ALL else KILLS[:3])

    assert summary["outcomes"]["mended"] > (2 if TRY_ALL else 1)  # the others had ended before


@pytest.mark.all
def test_a_changed_byte_changes_no_answer_without_a_word(tmp_path: Path) -> None:
    summary = loop(tmp_path, "flips", 100 if TRY_ALL else 25)

    assert {"equal", "plain error"} <= summary["outcomes"].keys()


# That the loops can find what they look for


def state(before: Files, steps: list[Step], survives: Callable[[Step], bool] = lambda _: False) -> Files:
    return Recording(before, steps).state(len(steps), survives)


def test_what_was_not_flushed_is_lost() -> None:
    steps = [Step("write", 0, offset=0, data=b"new")]

    assert state({"/a": b"old"}, steps) == {"/a": b"old"}
    assert state({"/a": b"old"}, [*steps, Step("sync", 0)]) == {"/a": b"new"}
    assert state({"/a": b"old"}, steps, lambda _: True) == {"/a": b"new"}


def test_a_file_that_was_renamed_before_it_was_flushed_may_be_empty() -> None:
    steps = [
        Step("create", 1, "/a.new"),
        Step("write", 1, offset=0, data=b"new"),
        Step("rename", path="/a.new", target="/a"),
    ]

    assert state({"/a": b"old"}, steps) == {"/a": b"old"}
    assert state({"/a": b"old"}, steps, lambda step: step.is_meta) == {"/a": b""}


def test_names_reach_the_disk_in_their_order() -> None:
    steps = [Step("rename", path="/a", target="/b"), Step("unlink", path="/c"), Step("create", 9, "/d")]
    before = {"/a": b"1", "/c": b"2"}

    assert state(before, steps, lambda step: step.kind != "unlink") == {"/b": b"1", "/c": b"2"}
    assert state(before, [*steps, Step("sync", 0)]) == {"/b": b"1", "/d": b""}


def test_a_flush_of_data_alone_leaves_other_names_unsure() -> None:
    steps = [Step("rename", path="/a", target="/b"), Step("datasync", 0)]

    assert state({"/a": b"1"}, steps) == {"/a": b"1"}


def test_a_write_beyond_the_end_that_survives_leaves_zeros_before_it() -> None:
    steps = [Step("write", 0, offset=3, data=b"xx"), Step("write", 0, offset=5, data=b"yy")]

    assert state({"/a": b"old"}, steps, lambda step: step.offset == 5) == {"/a": b"old\0\0yy"}


def test_a_point_is_before_and_after_all_but_writes() -> None:
    steps = [Step("write", 0), Step("write", 0), Step("write", 0), Step("sync", 0), Step("write", 0)]

    assert Recording({}, steps).points() == [0, 3, 4, 5]


def test_only_a_plain_error_may_replace_an_answer() -> None:
    golden = {"list": [1, 2], "search": "a", "show x": "b"}

    assert differences(golden, golden) == {}
    assert differences({**golden, "search": Plain("damaged")}, golden) == {}
    assert differences({"list": Plain("damaged"), "search": "a"}, golden) == {}
    assert differences({**golden, "list": [1]}, golden).keys() == {"list"}
    assert differences({"list": [1, 2], "search": "a"}, golden).keys() == {"show x"}
    assert "KeyError" in differences({**golden, "search": Crashed("Traceback\nKeyError: 1")}, golden)["search"]


def test_a_kept_file_may_grow_but_not_shrink() -> None:
    assert lost({"a": [b"1"]}, {"a": [b"12", b"3"]}) == []
    assert lost({"a": [b"12"]}, {"a": [b"1"]}) == ["a"]
    assert lost({"a": [b"1", b"2"]}, {"a": [b"1"]}) == ["a"]
    assert lost({"a": [b"1"]}, {}) == ["a"]


def test_calls_are_counted_thread_by_thread() -> None:
    calls = list(
        _calls([
            '7 openat(AT_FDCWD</x>, "/lib/a", O_RDONLY) = 3</lib/a>',
            '8 openat(AT_FDCWD</x>, "/etc/b", O_RDONLY <unfinished ...>',
            '7 openat(AT_FDCWD</x>, "/lib/c", O_RDONLY) = -1 EIO (Input/output error) (INJECTED)',
            "8 <... openat resumed>) = 4</etc/b>",
        ])
    )  # fmt: skip

    assert [call.was_injected for call in calls] == [False, True, False]
    assert points(calls, Path("/lib")) == [("openat", 1), ("openat", 2)]
