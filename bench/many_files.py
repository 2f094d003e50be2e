"""A home with very many small sessions beside one with a tenth of them: does everything take ten times as long?

    python -m bench.many_files [--files 100000] [--repeated 60000] [--json FILE]

For each home: a first update, an update with nothing new, one after an append, `list` and a search; CPU time with all
children, wall time, and peak memory. Then two homes of the same size: one where each session has an id of its own, and
one where each id is in many project folders, as when a home was copied into folders of another name. All ratios are of
runs on the same machine, one after the other. Exits with 1 if a ratio is more than half larger than that of the files.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from bench.peers import SYNC_LIMIT, Cost, isolated, succeed
from bench.search import OURS, Backscroll, say

IN_A_PROJECT: Final = 50
SPACE: Final = UUID("6f3cf7a6-3b0c-4b7c-9d8a-0d8f6a1f7f11")
WORDS: Final = ("ledger", "harbour", "meadow", "station", "packet", "glyph", "border", "antenna", "socket", "column")
FOLDERS_OF_AN_ID: Final = 1000
ALLOWED: Final = 1.5
"""How much more than the ratio of the files a ratio may be."""


def make_home(home: Path, files: int, ids: int) -> None:
    """Sessions of two prompts and two answers, in projects of fifty; `ids` of them are different."""
    for number in range(files):
        session = uuid5(SPACE, f"session {number % ids}")
        project = f"-home-mara-project-{number // IN_A_PROJECT if ids == files else number // ids}"
        path = home / "projects" / project / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in _rows(number, str(session))))


def _rows(number: int, session: str) -> Iterator[dict[str, Any]]:
    parent = None
    day, minute = number % 27 + 1, number % 50
    for turn in range(4):
        uuid = str(uuid5(SPACE, f"row {number} {turn}"))
        text = f"{WORDS[number % 10]} {WORDS[number // 10 % 10]} number{number} turn{turn}"
        row: dict[str, Any] = {"parentUuid": parent, "isSidechain": False, "sessionId": session, "version": "2.1.300"}
        row |= {"cwd": f"/home/mara/project/{number // IN_A_PROJECT}", "uuid": uuid}
        row |= {"timestamp": f"2026-03-{day:02}T10:{minute:02}:{turn:02}.000Z"}
        if turn % 2:
            usage = {"input_tokens": 10, "output_tokens": 20}
            content = [{"type": "text", "text": f"answer about {text}"}]
            message = {"id": f"msg_{number}_{turn}", "model": "claude-opus-4-6", "role": "assistant", "usage": usage}
            row |= {"type": "assistant", "message": {**message, "content": content}}
        else:
            row |= {"type": "user", "message": {"role": "user", "content": f"look at {text}"}}
        yield row
        parent = uuid


def measure(folder: Path, files: int, ids: int) -> dict[str, Cost]:
    """What everything costs over a home of so many files."""
    home = folder / "home"
    make_home(home, files, ids)
    subject = Backscroll(home, folder / OURS)

    def run(*words: str) -> Cost:
        say(f"{files:,} files, {ids:,} ids: {' '.join(words)}")
        return succeed(subject.command(*words), isolated(subject.folder), SYNC_LIMIT)[0]

    found = {"first update": run("update"), "nothing new": run("update")}
    grown = min(home.glob("projects/*/*.jsonl"))
    with grown.open("a") as file:
        file.write(json.dumps(next(_rows(files, grown.stem))) + "\n")
    found["after an append"] = run("update")
    found["list"] = run("list", "--limit", "50", "--json")
    found["search"] = run("search", f"number{files // 2}", "--json")
    shutil.rmtree(folder)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.many_files", description="Very many small sessions.")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--repeated", type=int, default=60_000, help="files with and without repeated ids")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    runs: list[tuple[str, float, dict[str, Cost], dict[str, Cost]]] = []
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        if options.files:
            few = options.files // 10
            runs.append((
                f"{options.files:,} files beside {few:,}", 10.0,
                measure(Path(name) / "few", few, few), measure(Path(name) / "many", options.files, options.files),
            ))  # fmt: skip
        if options.repeated:
            ids = max(1, options.repeated // FOLDERS_OF_AN_ID)
            runs.append((
                f"{options.repeated:,} files with {ids:,} ids beside as many with an id each", 1.0,
                measure(Path(name) / "each", options.repeated, options.repeated),
                measure(Path(name) / "repeated", options.repeated, ids),
            ))  # fmt: skip
    over = []
    for title, expected, base, other in runs:
        print(f"\n{title}\n{'':18}{'s CPU':>24}{'s wall':>24}{'MB':>24}")
        for what, one in base.items():
            two = other[what]
            pairs = ((one.cpu, two.cpu), (one.wall, two.wall), (one.memory / 1e6, two.memory / 1e6))
            print(f"{what:18}" + "".join(f"{before:8.2f}{after:9.2f}{after / before:6.2f}×" for before, after in pairs))
            if two.cpu / one.cpu > expected * ALLOWED:
                over.append(f"{title}: {what}")
    if options.json:
        found: list[dict[str, Any]] = [
            {"title": title, "base": {what: asdict(cost) for what, cost in base.items()},
             "other": {what: asdict(cost) for what, cost in other.items()}}
            for title, _, base, other in runs
        ]  # fmt: skip
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    for line in over:
        print(f"more than in proportion: {line}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
