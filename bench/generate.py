"""Make a realistic Claude Code home of any size, the same bytes for the same arguments.

    python -m bench.generate DIR --sessions 500 --bytes 1GB --seed 7

Shapes and frequencies follow a survey of real files; every text is made up. `play` keeps such a home growing.
Nothing depends on the date, on PYTHONHASHSEED or on where the home stands. The doors are here, the work is in `homes`.
"""

import argparse
import json
import re
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from bench.generator.homes import GeneratedSummary, Maker
from bench.generator.margins import Mix
from bench.generator.play import GeneratedPlayer, play

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["GeneratedPlayer", "GeneratedSummary", "Mix", "generate", "play"]

_MEAN_SESSION = 1_100_000
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def generate(
    root: Path, *, sessions: int, total_bytes: int | None = None, seed: int = 1, mix: Mix | None = None
) -> GeneratedSummary:
    """Write a home with that many sessions under `root`, which must be missing or empty.

    `total_bytes` (1.1 MB a session unless given) is what all files together come to, give or take a few percent:
    a session ends with a whole turn.
    """
    if sessions < 1:
        raise ValueError("a home has at least one session")
    if root.exists() and any(root.iterdir()):
        raise FileExistsError(f"{root} is not empty: choose a new directory")
    return Maker(root, sessions, total_bytes or sessions * _MEAN_SESSION, seed, mix or Mix()).make()


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?B?)", text.strip().upper())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write 500MB or 20GB")
    unit = found[2] if found[2].endswith("B") or not found[2] else f"{found[2]}B"
    return int(float(found[1]) * _UNITS[unit])


def main(arguments: "Sequence[str] | None" = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.generate", description="Make a realistic Claude Code home.")
    parser.add_argument("directory", type=Path, help="a missing or empty directory")
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--bytes", type=_size, help="all files together, such as 1GB (1.1 MB a session unless given)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--problems", type=float, default=Mix().problems, help="share of the sessions with damage")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--live", action="store_true", help="then keep some sessions growing")
    parser.add_argument("--rate", type=float, default=20.0, help="steps a second when live")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to stay live")
    parser.add_argument("--tear", type=float, default=0.0, help="share of the live steps that stop inside a line")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    try:
        mix = Mix(problems=options.problems)
        summary = generate(
            options.directory, sessions=options.sessions, total_bytes=options.bytes, seed=options.seed, mix=mix
        )
    except (FileExistsError, NotADirectoryError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    _print_summary(summary, time.perf_counter() - started, as_json=options.json)
    if options.live:
        _live(options.directory, options.seed, options.rate, options.seconds, options.tear)
    return 0


def _print_summary(summary: GeneratedSummary, seconds: float, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(asdict(summary), indent=2))
        return
    for name, value in asdict(summary).items():
        shown = (
            ", ".join(f"{kind} {count:,}" for kind, count in value.items()) if isinstance(value, dict) else f"{value:,}"
        )
        print(f"{name.replace('_', ' ')}: {shown or 'none'}")
    print(f"written in {seconds:.1f} s, {summary.bytes / 1e6 / seconds:.0f} MB/s")


def _live(root: Path, seed: int, rate: float, seconds: float, tear: float) -> None:
    """Play in real time. A step that is late is not made up for: the pace never bursts."""
    player = GeneratedPlayer(root, seed=seed, tear=tear, now=lambda: time.time_ns() // 1_000_000)
    steps = lines = written = 0
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        step = player.step()
        steps, lines, written = steps + 1, lines + step.lines, written + step.bytes
        time.sleep(1 / rate)
    print(f"live: {steps:,} steps, {lines:,} lines, {written:,} bytes", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
