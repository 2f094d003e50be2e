"""How long `stats usage` takes: as a process compared with ccusage and agentsview, and the queries alone.

    python -m bench.stats [--home DIR] [--bytes 250MB] [--runs 7] [--rows 2000000] [--cache DIR] [--json FILE]

The processes: `stats usage --json` and agentsview's `usage daily` on indexes that are up to date, ccusage's `daily`,
which has none and reads everything; in turn, the median counts. Days and tokens are compared too. The questions: a
store with that many rows of usage, which were written through its own interface, half of them repeating an answer.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

from backscroll.files.homes import Home
from backscroll.files.source_key import SourceKey
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import DIMENSIONS, usage
from backscroll.library.indexing.costs import cost_with
from backscroll.library.indexing.prices import load_prices
from backscroll.library.library import Library
from backscroll.library.local import index_folder, local_library
from backscroll.query.parse import parse
from backscroll.settings import Settings
from backscroll.store.batches import Batch, FileColumns, RecordColumns, UsageColumns
from bench.against_ccusage import Ccusage
from bench.generate import _size, generate
from bench.peers import DEFAULT_CACHE, SYNC_LIMIT, AgentsView, Cost, UnableError, isolated, succeed

AIM_RATIO: Final = 10.0
AIM_QUESTION: Final = 0.200
MODELS: Final = (
    "claude-sonnet-4-5-20250929",
    "claude-opus-4-5-20251101",
    "claude-haiku-4-5-20251001",
    "claude-opus-4-6",
)
ROWS_A_FILE: Final = 400
FIRST: Final = 1_748_736_000_000_000  # 2025-06-01
YEAR: Final = 365 * 86_400 * 1_000_000


def measure_processes(home: Path, folder: Path, cache: Path, runs: int) -> dict[str, Any]:
    """The median time of each program's whole process, run in turn."""
    library = folder / "library"
    ours = [sys.executable, "-m", "backscroll", "--home", home, "--library", library]
    utc = os.environ | {"TZ": "UTC"}
    succeed([*ours, "update"], utc, SYNC_LIMIT)
    commands: dict[str, Callable[[], tuple[Cost, str]]] = {
        "backscroll": lambda: succeed([*ours, "stats", "usage", "--json"], utc, SYNC_LIMIT)
    }
    left_out = {}
    ccusage = Ccusage(cache)
    try:
        ccusage.install()
        commands["ccusage"] = lambda: _as_text(ccusage.report(home, "daily"))
    except UnableError as error:
        left_out["ccusage"] = str(error)
    peer = AgentsView(cache)
    try:
        peer.install()
        peer.prepare(home, folder / "agentsview")
        peer.sync()
        environment = isolated(
            peer.folder / "home",
            AGENTSVIEW_DATA_DIR=str(peer.folder / "data"),
            CLAUDE_PROJECTS_DIR=str(home / "projects"),
            AGENTSVIEW_TELEMETRY_ENABLED="0",
            AGENTSVIEW_DISABLE_UPDATE_CHECK="1",
            AGENTSVIEW_NO_DAEMON="1",
        )
        daily = [peer._executable, "usage", "daily", "--all", "--json", "--offline"]
        commands["agentsview"] = lambda: succeed(daily, environment, SYNC_LIMIT)
        commands["agentsview --no-sync"] = lambda: succeed([*daily, "--no-sync"], environment, SYNC_LIMIT)
        commands["agentsview"]()
    except UnableError as error:
        left_out["agentsview"] = str(error)
        commands = {name: command for name, command in commands.items() if not name.startswith("agentsview")}
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            costs[name].append(command()[0])
    medians = {name: _median(found) for name, found in costs.items()}
    return {"medians": medians, "left_out": left_out}


def _as_text(answer: tuple[Cost, dict[str, Any]]) -> tuple[Cost, str]:
    return answer[0], json.dumps(answer[1])


def _median(costs: Sequence[Cost]) -> dict[str, float]:
    return {
        "wall": statistics.median(cost.wall for cost in costs),
        "cpu": statistics.median(cost.cpu for cost in costs),
        "memory": statistics.median(cost.memory for cost in costs),
    }


def fill(library: Library, home: Path, rows: int, seed: int = 1) -> None:
    """Write sessions of a year with that many rows of usage, two for each answer, through the store's interface."""
    rng, store = Random(seed), library.store.start_writing()
    prices = load_prices(library.settings)
    store.use_prices(cost_with(prices), prices.fingerprint)
    for first in range(0, rows // ROWS_A_FILE, 100):
        batch = Batch()
        for number in range(first, min(first + 100, rows // ROWS_A_FILE)):
            file, moment = batch.new_file(), FIRST + int(rng.random() * YEAR)
            project, model = f"/home/ada/project-{number % 40}", rng.choice(MODELS)
            path = f"{home}/projects/-home-ada-project-{number % 40}/{number:08x}.jsonl"
            for row in range(ROWS_A_FILE):
                record, message = len(batch.records), f"msg_{number:06x}{row // 2:06x}"
                moment += int(rng.expovariate(1 / 20) * 1_000_000)
                batch.records.append(
                    RecordColumns(
                        record,
                        file,
                        row,
                        row * 1000,
                        1000,
                        f"{number:06x}-{row}",
                        None,
                        "answer",
                        moment,
                        False,
                        message,
                        model,
                        None,
                        None,
                        None,
                    )
                )
                batch.usage.append(
                    UsageColumns(
                        record,
                        message,
                        model,
                        False,
                        5,
                        rng.randrange(900),
                        rng.randrange(9000),
                        row * 300,
                        0,
                        0,
                        0,
                        0,
                        "standard",
                        None,
                        None,
                        row % 2 == 1,
                        None,
                        "2.1.42",
                        rng.choice(("main", "main", "feature")),
                    )
                )
            batch.files.append(
                FileColumns(
                    file,
                    SourceKey("bench", str(home), path).id,
                    "bench",
                    str(home),
                    path,
                    "session",
                    f"{number:08x}",
                    None,
                    project,
                    "hello",
                    moment,
                    moment,
                    1,
                    False,
                    None,
                    None,
                )
            )
        store.write(batch)


def measure_questions(folder: Path, rows: int, runs: int) -> dict[str, Any]:
    """The median of each way to ask, of an open library, with what a question costs when it is the first."""
    home = folder / "home"
    (home / "projects").mkdir(parents=True)
    settings = Settings(homes=(home,), library=folder / "library", file=folder / "settings.toml")
    started = time.perf_counter()
    with local_library(settings, [Home(home)]) as library:
        fill(library, home, rows)
    filled = time.perf_counter() - started
    with local_library(settings, [Home(home)]) as library:
        sums = library.sql("select count(*), sum(messages), sum(records) from spent").rows[0]
        size = sum(path.stat().st_size for path in index_folder(settings).rglob("*") if path.is_file())
    questions: dict[str, tuple[ReportRequest, str]] = {f"by {by}": (ReportRequest(), by) for by in DIMENSIONS}
    questions["by day, the last month"] = (ReportRequest(since=datetime(2026, 5, 1, tzinfo=UTC)), "day")
    questions["by day, one project"] = (ReportRequest(query=parse("project:project-7", datetime.now(UTC))), "day")
    found = {}
    for name, (asked, by) in questions.items():
        times = []
        for _ in range(runs):
            with local_library(settings, [Home(home)]) as library:
                started = time.perf_counter()
                usage(library, asked, by)
                times.append(time.perf_counter() - started)
        found[name] = statistics.median(times)
    return {"rows": rows, "spent": sums[0], "answers": sums[1], "bytes": size, "filled": filled, "seconds": found}


def tell(answer: dict[str, Any]) -> bool:
    """Write the results for people; whether every aim is met."""
    is_met = True
    if medians := answer.get("processes", {}).get("medians"):
        ours = medians["backscroll"]
        print(f"{'a whole process':<32}{'wall ms':>10}{'CPU ms':>10}{'MB':>8}{'× wall':>9}{'× CPU':>9}")
        for name, cost in medians.items():
            wall, cpu = cost["wall"] / ours["wall"], cost["cpu"] / ours["cpu"]
            print(
                f"{name:<32}{1e3 * cost['wall']:>10.0f}{1e3 * cost['cpu']:>10.0f}{cost['memory'] / 1e6:>8.0f}"
                f"{wall:>9.1f}{cpu:>9.1f}"
            )
            is_met &= name in ("backscroll", "agentsview --no-sync") or wall >= AIM_RATIO
        for name, reason in answer["processes"]["left_out"].items():
            print(f"{name} is left out: {reason}")
    if questions := answer.get("questions"):
        print(
            f"{questions['rows']:,} rows of usage, {questions['answers']:,} answers, {questions['spent']:,} sums,"
            f" {questions['bytes'] / 1e6:,.0f} MB, written in {questions['filled']:.0f} s"
        )
        for name, seconds in questions["seconds"].items():
            print(f"  {name:<30}{1e3 * seconds:>10.1f} ms")
        is_met &= questions["seconds"]["by day"] < AIM_QUESTION
    return is_met


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if an aim is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.stats", description="How long stats usage takes.")
    parser.add_argument("--home", type=Path, help="a home to count, instead of a generated one")
    parser.add_argument("--bytes", type=_size, default=250_000_000, help="the size of the generated home")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of usage for the questions; 0 for none")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="the folder for the peers")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    answer: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        home = options.home.resolve() if options.home else None
        if options.bytes:
            if home is None:
                home = Path(name) / "home"
                generate(home, sessions=max(1, options.bytes // 1_100_000), total_bytes=options.bytes, seed=7)
            answer["processes"] = measure_processes(home, Path(name), options.cache, options.runs)
        if options.rows:
            answer["questions"] = measure_questions(Path(name) / "questions", options.rows, options.runs)
    is_met = tell(answer)
    if options.json:
        options.json.write_text(json.dumps(answer, indent=2))
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
