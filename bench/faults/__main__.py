"""Faults on purpose: failing system calls, power cuts, changed bytes and kills. No answer may be wrong afterwards.

    python -m bench.faults syscalls|power|flips|kills [--n 200 | --all] [--seed 1] [--scenario update,backup]

Each run starts with a small library in a known state, disturbs one command (or damages one file), and compares every
answer with that of an index made afresh. Prints how many runs ended in which way, and each wrong one with what repeats
it; exits with 1 if there is one.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

from bench.faults import flips, kills, power, syscalls, tracing
from bench.faults.report import Summary, share_out
from bench.faults.world import SCENARIOS, World, make_world, temporary_root

TRACED = ("syscalls", "power")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one loop."""
    options = _options().parse_args(arguments)
    names = options.scenario.split(",") if options.scenario else list(SCENARIOS)
    if options.case:
        names = [options.case.partition(":")[0]]
    if unknown := [name for name in names if name not in SCENARIOS]:
        print(f"no scenario is called {unknown[0]}: there are {', '.join(SCENARIOS)}", file=sys.stderr)
        return 2
    if options.loop in TRACED and not tracing.is_there():
        print("this needs strace: apt install strace", file=sys.stderr)
        return 2
    root = temporary_root()
    try:
        numbers = [options.only] if options.only is not None else list(range(options.n))
        jobs = min(options.jobs, len(numbers))

        def work(mine: Sequence[int], summary: Summary) -> None:
            own = temporary_root(root)
            LOOPS[options.loop](
                make_world(own, () if options.loop == "flips" else names), names, options, mine, summary
            )

        summary = share_out(options.loop, numbers, jobs, work, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    summary.write()
    if options.json:
        options.json.write_text(json.dumps(summary.as_json(), indent=2) + "\n")
    return 1 if summary.failures else 0


def _syscalls(
    world: World, names: list[str], options: argparse.Namespace, numbers: Sequence[int], summary: Summary
) -> None:
    if options.case:
        cases = [syscalls.case_of(options.case)] * len(numbers)
        syscalls.run(world, cases, range(len(cases)), summary)
        return
    found = syscalls.all_cases(world, names)
    summary.facts["faults that can be made"] = len(found)
    if options.all:
        job = numbers[0]
        numbers = range(job, len(found), options.jobs)
        syscalls.run(world, found, numbers, summary)
    else:
        cases = [syscalls.sample(found, number, options.seed) for number in numbers]
        syscalls.run(world, cases, range(len(cases)), summary)


def _power(
    world: World, names: list[str], options: argparse.Namespace, numbers: Sequence[int], summary: Summary
) -> None:
    recordings = {name: power.record(world, name) for name in names}
    cuts = power.all_cuts(recordings, options.seed)
    order = list(range(len(cuts)))
    if options.all:
        power.run(world, recordings, cuts, order[numbers[0] :: options.jobs], summary)
    else:
        Random(options.seed).shuffle(order)
        power.run(world, recordings, cuts, [order[number % len(order)] for number in numbers], summary)


def _flips(
    world: World, names: list[str], options: argparse.Namespace, numbers: Sequence[int], summary: Summary
) -> None:
    del names
    flips.run(world, flips.make_library(world), options.seed, numbers, summary)


def _kills(
    world: World, names: list[str], options: argparse.Namespace, numbers: Sequence[int], summary: Summary
) -> None:
    kills.run(world, names, kills.durations(world, names), options.seed, numbers, summary)


LOOPS = {"syscalls": _syscalls, "power": _power, "flips": _flips, "kills": _kills}


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench faults", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("loop", choices=LOOPS)
    parser.add_argument("--n", type=int, default=200, help="how many runs")
    parser.add_argument("--all", action="store_true", help="every fault there is (syscalls, power)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one run of the seed")
    parser.add_argument("--case", help="one failing call, such as update:fsync:2:EIO:once (syscalls)")
    parser.add_argument("--scenario", help=f"some of {','.join(SCENARIOS)}")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes share the runs")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
