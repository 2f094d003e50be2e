"""The startup cost: CPU time of `backscroll --help`, compared with Python and click themselves.

    python -m bench.startup [--runs 15]

Each command runs in a process of its own, in turn with the others; the median counts.
"""

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from typing import Final

AIM: Final = 0.100
"""Seconds of CPU time for the help."""
COMMANDS: Final[dict[str, list[str]]] = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import click'": ["-c", "import click"],
    "python -m backscroll --help": ["-m", "backscroll", "--help"],
    "python -m backscroll inspect --help": ["-m", "backscroll", "inspect", "--help"],
}
BARE: Final = "python -c pass"
HELP: Final = "python -m backscroll --help"


def cpu_seconds(arguments: Sequence[str]) -> float:
    """User and system time of one run of Python with these arguments."""
    actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(sys.executable, [sys.executable, *arguments], os.environ, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"python {' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


def measure(runs: int) -> dict[str, float]:
    """The median of each command."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for arguments in COMMANDS.values():
        cpu_seconds(arguments)  # once for the caches
    for _ in range(runs):
        for name, arguments in COMMANDS.items():
            times[name].append(cpu_seconds(arguments))
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if starting takes longer than we aim for."""
    parser = argparse.ArgumentParser(prog="python -m bench.startup", description="CPU time of starting backscroll.")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    medians = measure(options.runs)
    if options.json:
        print(json.dumps({"aim": AIM, "runs": options.runs, "medians": medians}, indent=2))
    else:
        print(f"{'':40}{'CPU ms':>8}{'× bare':>9}")
        for name, seconds in medians.items():
            print(f"{name:40}{seconds * 1000:8.0f}{seconds / medians[BARE]:9.1f}")
        print(f"aim: {HELP} under {AIM * 1000:.0f} ms: {'reached' if medians[HELP] < AIM else 'missed'}")
    return 0 if medians[HELP] < AIM else 1


if __name__ == "__main__":
    sys.exit(main())
