from datetime import UTC, datetime
from pathlib import Path

import pytest

from backscroll.files.discovery import HomeFile, discover
from backscroll.files.homes import Home
from backscroll.files.layout import FileKind
from backscroll.files.retention import deletions, retention_days
from tests.support.homes import session_path, write_home

DAY = 86_400 * 10**9


def file(name: str, modified_ns: int, kind: FileKind = FileKind.SESSION) -> HomeFile:
    return HomeFile("/home", name, kind, 0, modified_ns, modified_ns, 1, 1)


def due(modified_ns: int, days: int | None) -> datetime:
    ((_, moment),) = deletions([file("a", modified_ns)], days)
    return moment


@pytest.mark.parametrize(("setting", "days"), [(None, 30), (1, 1), (90, 90), (0, 1), (-5, 1), (99_999, 99_999)])
def test_the_client_takes_a_setting_like_this(setting: int | None, days: int) -> None:
    assert retention_days(setting) == days


def test_a_session_goes_so_many_days_after_it_was_last_modified() -> None:
    assert due(0, None) == datetime(1970, 1, 31, tzinfo=UTC)
    assert due(DAY // 2, 2) == datetime(1970, 1, 3, 12, tzinfo=UTC)


def test_the_next_to_go_comes_first() -> None:
    files = [file("late", 3 * DAY), file("early", 1 * DAY), file("middle", 2 * DAY)]
    assert [deletion.file.relative for deletion in deletions(files, 30)] == ["early", "middle", "late"]


def test_sessions_of_the_same_moment_stay_in_order() -> None:
    files = [file("b", DAY), file("a", DAY)]
    assert [deletion.file.relative for deletion in deletions(files, 30)] == ["b", "a"]


def test_only_sessions_are_counted_for_their_folders_go_with_them(tmp_path: Path) -> None:
    write_home(tmp_path, {session_path("a"): "", session_path("a").replace(".jsonl", "/subagents/agent-1.jsonl"): ""})
    found = discover(Home(tmp_path))
    assert len(found.files) == 2
    assert [deletion.file.relative for deletion in deletions(found.files, 30)] == [session_path("a")]
    assert deletions([file(kind, 0, kind) for kind in FileKind if kind is not FileKind.SESSION], 30) == []


@pytest.mark.parametrize("days", [10**6, 10**9, 10**30])
def test_people_who_write_huge_numbers_mean_never(days: int) -> None:
    assert due(0, days).year > 4000


@pytest.mark.parametrize("modified_ns", [253_402_300_800 * 10**9, 2**63 - 1, 10**30])
def test_a_file_from_the_far_future_never_goes(modified_ns: int) -> None:
    assert due(modified_ns, 30).year > 2200


@pytest.mark.parametrize("modified_ns", [-DAY, -(2**31) * 10**9, -62_135_596_801 * 10**9, -(2**63), -(10**30)])
def test_a_file_from_before_time_began_goes_first(modified_ns: int) -> None:
    files = [file("today", 20_000 * DAY), file("old", modified_ns)]
    assert [deletion.file.relative for deletion in deletions(files, 30)] == ["old", "today"]
