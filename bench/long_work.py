"""Long work: a long chat's first page, an export, the statistics page, and reports over very many calls.

    python -m bench.long_work [--messages 30000] [--export 60MB] [--bytes 250MB] [--calls 225000] [--rounds 3]
                              [--against SRC] [--json FILE]

Each figure is CPU seconds of the best round in a process of its own, without the start of Python: the shape of a chat
and its first page, `export` to html, `/stats`, and `blame`, `file`, `stats tools` and `stats errors`. With `--against`
the same is measured with another checkout's `src`, round by round in turn, on a library of its own, and ratios are
printed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import UUID

from bench.generate import _size, generate
from bench.peers import SYNC_LIMIT, succeed
from bench.search import say
from bench.viewer import ViewerSession

AIMS: Final = {
    "first page of a chat": 0.5, "export to html": 10.0, "/stats": 0.5, "blame": 0.3, "file": 0.3, "tools": 0.3,
    "errors": 0.3,
}  # fmt: skip
CALLS_A_SESSION: Final = 500
MESSAGES_A_MEGABYTE: Final = 326
TOOLS: Final = ("Bash", "Read", "Edit", "Write", "Grep", "Glob")

WORK: Final = """
import asyncio, gc, json, sys, time
from pathlib import Path
gc.set_threshold(100_000, 20, 20)  # as the program does
what, home, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
from backscroll.files.homes import Home
from backscroll.library.local import local_library
from backscroll.library.analytics.blame import blame
from backscroll.library.analytics.report_kinds import report_of
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.chats.file_versions import history
from backscroll.library.sharing.share import redactor, share
from backscroll.render.html.chat import chat_page
from backscroll.render.html.export import exported
from backscroll.settings import Settings
from backscroll.web.chat_view import ChatView
from backscroll.web.export_assets import export_assets

def page(library):
    return chat_page(ChatView(library, ChatReader(library, library.chats()[0]), 1).shown())

def export(library):
    shared = share(library, library.chats()[0], redactor())
    return sum(len(piece) for piece in exported(shared, "html", export_assets()))

def stats(library):
    from starlette.requests import Request
    from backscroll.web.pages.stats_front import show
    from backscroll.web.requests import PageRequest
    from backscroll.web.state import ViewerState
    http = Request({"type": "http", "query_string": b"since=all", "headers": []})
    async def read():
        response = show(PageRequest(http, ViewerState(settings, [Home(home)]), library))
        return [piece async for piece in response.body_iterator]
    return asyncio.run(read())

path = ""
work = {
    "first page of a chat": page, "export to html": export, "/stats": stats,
    "blame": lambda library: blame(library, path, ReportRequest()),
    "file": lambda library: history(library, path),
    "tools": lambda library: report_of(library, "tools", ReportRequest(), "", 20),
    "errors": lambda library: report_of(library, "errors", ReportRequest(), "", 20),
}[what]
settings = Settings(homes=(home,), library=folder, file=folder.parent / "settings.toml")
with local_library(settings, [Home(home)]) as library:
    if what in ("blame", "file"):
        path = report_of(library, "files", ReportRequest(), "", 1).rows[0][0]  # the one with the most changes
    wall, cpu = time.perf_counter(), time.process_time()
    work(library)
    print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall]))
"""


def fill_calls(home: Path, calls: int, seed: int = 5) -> None:
    """Sessions of 500 calls with short results, one in twelve an error."""
    rng = Random(seed)
    for number in range(-(-calls // CALLS_A_SESSION)):
        session, project = str(UUID(int=rng.getrandbits(128))), f"/work/project-{number % 20}"
        path = home / "projects" / f"-work-project-{number % 20}" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=8 * number)
        base = {"isSidechain": False, "cwd": project, "sessionId": session, "version": "2.0.50", "gitBranch": "main"}
        last: str | None = None
        with path.open("w") as file:
            for step in range(CALLS_A_SESSION):
                for row in _rows_of_call(rng, project, step):
                    time += timedelta(seconds=rng.randrange(1, 20))
                    name = str(UUID(int=rng.getrandbits(128)))
                    told = {"parentUuid": last, "uuid": name, "timestamp": time.isoformat().replace("+00:00", "Z")}
                    file.write(json.dumps(base | told | row) + "\n")
                    last = name


def _rows_of_call(rng: Random, project: str, step: int) -> list[dict[str, Any]]:
    tool, target = rng.choice(TOOLS), f"{project}/src/module_{rng.randrange(200)}.py"
    given = {
        "Bash": {"command": f"pytest -q -k case_{rng.randrange(50)}"},
        "Read": {"file_path": target},
        "Edit": {"file_path": target, "old_string": f"x = {step}", "new_string": f"x = {step + 1}"},
        "Write": {"file_path": target, "content": f"x = {step}\n"},
        "Grep": {"pattern": "parser", "path": project},
        "Glob": {"pattern": "**/*.py"},
    }[tool]
    call, message = (f"{kind}_01{rng.getrandbits(96):024x}" for kind in ("toolu", "msg"))
    failed = rng.random() < 1 / 12
    output = f"ModuleNotFoundError: No module named 'shop_{rng.randrange(30)}'" if failed else "done, and all is well"
    answer = {
        "id": message, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": [{"type": "tool_use", "id": call, "name": tool, "input": given}],
        "usage": {"input_tokens": 5, "output_tokens": 200, "cache_read_input_tokens": 20_000},
    }  # fmt: skip
    result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}
    prompt = {"type": "user", "message": {"role": "user", "content": f"Prompt {step}: mend the parser again"}}
    return [
        *([prompt] if step % 10 == 0 else []),
        {"type": "assistant", "requestId": f"r{message}", "message": answer},
        {"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": {"stdout": output}},
    ]


def measure(source: Path, what: str, home: Path, library: Path) -> tuple[float, float]:
    """CPU and wall seconds of one round."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", WORK, what, str(home), str(library)], env=environment, stdout=subprocess.PIPE, check=True
    )
    cpu, wall = json.loads(done.stdout)
    return cpu, wall


def make_libraries(folder: Path, options: argparse.Namespace, sources: Sequence[Path]) -> dict[str, Path]:
    """The homes by the figures measured on them, each with a library for every checkout next to it."""
    homes = {name: folder / name / "home" for name in ("chat", "export", "stats", "calls")}
    ViewerSession(homes["chat"], 1).fill(options.messages)
    ViewerSession(homes["export"], 2).fill(options.export * MESSAGES_A_MEGABYTE // 1_000_000)
    generate(homes["stats"], sessions=max(1, options.bytes // 1_100_000), total_bytes=options.bytes, seed=7)
    fill_calls(homes["calls"], options.calls)
    for name, home in homes.items():
        for number, source in enumerate(sources):
            say(f"reading {name}")
            places = ["--home", str(home), "--library", str(home.parent / f"library-{number}")]
            environment = {**os.environ, "PYTHONPATH": str(source)}
            succeed([sys.executable, "-m", "backscroll", *places, "update"], environment, SYNC_LIMIT)
    where = {"first page of a chat": "chat", "export to html": "export", "/stats": "stats"}
    return {what: homes[where.get(what, "calls")] for what in AIMS}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if an aim is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.long_work", description="How long long work takes.")
    parser.add_argument("--messages", type=int, default=30_000, help="of the long chat; 30,000 are 84,000 rows")
    parser.add_argument("--export", type=_size, default=60_000_000, help="the size of the chat that is exported")
    parser.add_argument("--bytes", type=_size, default=250_000_000, help="the size of the home for /stats")
    parser.add_argument("--calls", type=int, default=225_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path, metavar="SRC", help="the src folder of another checkout")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    sources = [Path(__file__).parent.parent / "src", *([options.against.resolve()] if options.against else [])]
    best: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        for what, home in make_libraries(Path(name), options, sources).items():
            say(what)
            rounds = [
                [
                    measure(source, what, home, home.parent / f"library-{number}")
                    for number, source in enumerate(sources)
                ]
                for _ in range(options.rounds)
            ]
            best[what] = [min(one) for one in zip(*rounds, strict=True)]
    print(f"{'':24}{'CPU s':>8}{'wall s':>8}{'aim':>8}" + (f"{'before':>8}{'ratio':>8}" if options.against else ""))
    for what, (ours, *others) in best.items():
        print(f"{what:24}{ours[0]:8.2f}{ours[1]:8.2f}{AIMS[what]:8.1f}", end="")
        print("".join(f"{other[0]:8.2f}{ours[0] / other[0]:8.2f}" for other in others))
    if options.json:
        options.json.write_text(json.dumps(best, indent=2))
    return 0 if all(figures[0][0] <= AIMS[what] for what, figures in best.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
