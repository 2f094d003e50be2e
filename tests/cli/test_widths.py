"""No listing is wider than the terminal, on the sample, on real sessions, and with wide characters."""

import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backscroll.demo.sandbox import open_sandbox
from backscroll.render.cells import cells
from tests.support.command import run_command
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path, write_home
from tests.support.samples import TRY_ALL

WIDTH = 80
TERMINAL = {"TERM": "xterm-256color", "PAGER": "cat", "TZ": "Europe/Berlin"}
REPORTS = (
    "usage", "usage --by chat", "usage --by model", "usage --by project", "usage --by week", "usage --by hour",
    "usage --by git-branch", "usage --by chat --explain -n 1", "blocks", "time", "time --by chat", "prompts",
    "chats", "chats --by week", "topics", "topics --by month",
    "activity", "tools", "tools --by model", "errors", "errors --examples", "sequences", "sequences --loops", "files",
    "folders", "context", "context --by tool", "cache", "cache --by chat", "spend --since 10y",
    "spend --since 10y --by chat", "compare 2026-01 2026-02",
)  # fmt: skip
LISTINGS = (
    "list", "list --sort cost", "list --sort active", "list --since 10y", "search the", "search -C 2 -n 2 the",
    "find the", "show {id}", "tree {id}", "archive status", "archive versions {id}", "status", "doctor", "inspect",
    "blame e", "prices", "stats", *(f"stats {report}" for report in REPORTS),
)  # fmt: skip
JAPANESE = """
@ cwd=/home/ada/日本語のとても長いプロジェクトの名前がここにあります/買い物かごの実装
a <- - user: 買い物かごの合計が正しく計算されない問題を調べて、テストを書いてから直してください。お願いします。
b <- a assistant: はい、まず買い物かごの実装とテストを読みます。それから失敗するテストを書いて、計算を直します。
ai-title: 買い物かごの合計が正しく計算されない問題を調べてテストを書いてから直す作業の記録です
"""


Options = tuple[object, ...]


@pytest.fixture(scope="module")
def sample() -> Iterator[Options]:
    """The sample, unpacked once: with --demo each command would do so."""
    with open_sandbox(datetime.now(UTC)) as room:
        options = ("--home", room.home, "--library", room.folder / "library")
        run_command(*options, "update")
        yield options


def table_of(lines: list[str]) -> list[str]:
    """The list, without what stands before it."""
    start = next(number for number, line in enumerate(lines) if line.startswith("ID "))
    return [line for line in lines[start:] if line]


def seen(*arguments: object, columns: int = WIDTH) -> list[str]:
    """What a terminal shows, line by line, without colours and links."""
    done = run_command(*arguments, environment=os.environ | TERMINAL, columns=columns)
    text = re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\|\x1b\[K", "", done.stdout)
    lines = text.split("\n")
    assert not any(line.startswith("Traceback") for line in lines)
    return lines


def check(*options: object, name: str, listings: Sequence[str] = LISTINGS) -> None:
    for listing in listings:
        words = listing.format(id=name).split()
        wide = [line for line in seen(*options, *words) if cells(line) > WIDTH]
        assert not wide, (listing, wide[:3])


def first_id(*options: object) -> str:
    return run_command(*options, "list").stdout.splitlines()[1].split()[0]


def test_no_listing_of_the_sample_is_wider_than_the_terminal(sample: Options) -> None:
    check(*sample, name=first_id(*sample))


@pytest.mark.all
def test_no_listing_with_wide_characters_is_wider_than_the_terminal(tmp_path: Path) -> None:
    home = write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(JAPANESE))})
    options = ("--home", home, "--library", tmp_path / "library")
    check(*options, name=first_id(*options))
    assert "…" in "".join(seen(*options, "list"))


@pytest.mark.all
def test_no_listing_of_real_sessions_is_wider_than_the_terminal(corpus: Path, tmp_path: Path) -> None:
    options = ("--home", corpus / "home", "--library", tmp_path / "library")
    check(*options, name=first_id(*options), listings=LISTINGS if TRY_ALL else LISTINGS[::3])


def test_dates_and_ids_are_whole_and_the_zone_is_named_once(sample: Options) -> None:
    head, *rows = table_of(seen(*sample, "list"))
    assert "LAST ACTIVE C" in head
    for row in rows:
        assert re.match(r"[0-9a-f]{8}  \d{4}-\d\d-\d\d \d\d:\d\d +\S", row), row
    blocks = seen(*sample, "stats", "blocks")
    assert any(line.startswith("START CE") for line in blocks)
    assert not any(re.match(r"\d{4}-\d\d…", line) for line in blocks)


@pytest.mark.parametrize("report", ["usage", "usage --by chat", "usage --by model", "blocks", "time", "cache", "tools"])
def test_a_report_ends_with_its_total(report: str, sample: Options) -> None:
    found = run_command(*sample, "stats", *report.split()).stdout.splitlines()
    assert found[-1].startswith("total ")


def test_what_programs_read_is_complete(sample: Options) -> None:
    piped = run_command(*sample, "list").stdout.splitlines()
    assert piped[0].split() == ["ID", "LAST", "ACTIVE", piped[0].split()[3], "PROJECT", "MESSAGES", "TITLE"]
    assert not any("…" in line for line in piped)
    assert not any("…" in line for line in run_command(*sample, "stats", "tools").stdout.splitlines())


def test_a_list_is_sorted_by_cost_messages_or_active_time(sample: Options) -> None:
    def column(sort: str, name: str) -> list[str]:
        head, *rows = table_of(seen(*sample, "list", "--sort", sort, columns=200))
        end = head.index(name) + len(name)
        return [row[:end].split()[-1] for row in rows if row]

    costs = [float(value.removeprefix("$")) for value in column("cost", " COST") if value != "-"]
    assert costs == sorted(costs, reverse=True)
    assert len(set(costs)) > 3
    messages = [int(value) for value in column("messages", "MSGS")]
    assert messages == sorted(messages, reverse=True)
    assert len(column("active", "ACTIVE")) == len(messages)
