"""The cost of a first update, compared with `bench.peers` and an earlier version: the best of several rounds.

    python -m bench.first_update [--size 250MB] [--home DIR] [--peers agentsview,…] [--rounds 3] [--before SRC]

Every program takes a turn in every round, so that a busy machine slows all of them alike, and the least of each figure
counts: others can only add to it. CPU time is user and system time with all children. `--before` is the `src` folder of
another checkout of backscroll. At the end: how soon the newest chats are listed, and an update with nothing new over
many small files.
"""

import argparse
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

from bench.generate import _size, generate
from bench.peers import DEFAULT_CACHE, PEERS, SYNC_LIMIT, Cost, Peer, UnableError, install_peers, isolated, succeed
from bench.search import OURS, SESSION, Backscroll, say
from bench.watching import make_home

BEFORE: Final = "before"


class Subject(Backscroll):
    """backscroll, from this checkout or from the `src` folder of another."""

    def __init__(self, home: Path, folder: Path, source: Path | None = None) -> None:
        super().__init__(home, folder)
        self._more = {"PYTHONPATH": str(source)} if source else {}

    def sync(self) -> Cost:
        """`backscroll update`."""
        return succeed(self.command("update"), isolated(self.folder, **self._more), SYNC_LIMIT)[0]

    def list_soon(self) -> Cost:
        """`backscroll list` on a terminal, which `script` gives it."""
        words = ["script", "-qec", shlex.join(self.command("list")), "/dev/null"]
        return succeed(words, isolated(self.folder), SYNC_LIMIT)[0]


def measure(
    home: Path, folder: Path, peers: Sequence[Peer], rounds: int, before: Path | None
) -> dict[str, tuple[Cost, int]]:
    """Of each contestant the least of each figure, and the bytes of its index."""
    found: dict[str, list[tuple[Cost, int]]] = {}
    for number in range(rounds):
        place = folder / str(number)
        subjects: dict[str, Subject | Peer] = {OURS: Subject(home, place / OURS)}
        if before is not None:
            subjects[BEFORE] = Subject(home, place / BEFORE, before)
        for peer in peers:
            peer.prepare(home, place / peer.name)
            subjects[peer.name] = peer
        for name, subject in subjects.items():
            say(f"round {number + 1} of {rounds}: {name}")
            try:
                found.setdefault(name, []).append((subject.sync(), subject.index_bytes()))
            except UnableError as error:
                say(f"{name}: {error}")
        shutil.rmtree(place)
    return {
        name: (Cost(min(cost.wall for cost, _ in costs), min(cost.cpu for cost, _ in costs),
                    min(cost.memory for cost, _ in costs)), min(size for _, size in costs))
        for name, costs in found.items()
        if costs
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.first_update", description="A first update, side by side.")
    parser.add_argument("--size", type=_size, default=250_000_000, help="of the home that is generated, such as 250MB")
    parser.add_argument("--home", type=Path, help="a home that there is, instead of a generated one; it is copied")
    parser.add_argument("--peers", default=",".join(kind.name for kind in PEERS), help="which ones; '' for none")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="the folder for the peers' venvs")
    parser.add_argument("--before", type=Path, metavar="SRC", help="the src folder of an earlier version")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--files", type=int, default=5000, help="small files for an update with nothing new; 0 for none"
    )
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args(arguments)
    wanted = [name.strip() for name in options.peers.split(",") if name.strip()]
    if unknown := set(wanted) - {kind.name for kind in PEERS}:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    peers, left_out = install_peers(options.cache, wanted)
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        folder = Path(name)
        home = folder / "home"
        if options.home:
            shutil.copytree(options.home, home, symlinks=True)
        else:
            generate(home, sessions=max(1, options.size // SESSION), total_bytes=options.size, seed=options.seed)
        raw = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
        found = measure(home, folder, peers, options.rounds, options.before)
        listed = min((Subject(home, folder / f"list-{n}").list_soon() for n in range(options.rounds)), key=_wall)
        many = None
        if options.files:
            make_home(folder / "many", options.files, Random(options.seed))
            subject = Subject(folder / "many", folder / "many-ours")
            subject.sync()
            many = min((subject.sync() for _ in range(options.rounds)), key=_wall)
    print(f"first update of {raw / 1e6:.0f} MB, least of {options.rounds} rounds each")
    for left, reason in left_out.items():
        print(f"left out: {left}: {reason}")
    print(f"{'':18}{'s CPU':>9}{'s wall':>9}{'MB':>8}{'index':>9}{'CPU ms/MB':>12}")
    for who, (cost, size) in found.items():
        share, each = f"{size / raw:.1%}", cost.cpu / raw * 1e9
        print(f"{who:18}{cost.cpu:9.2f}{cost.wall:9.2f}{cost.memory / 1e6:8.0f}{share:>9}{each:12.1f}")
    print(f"the newest chats are listed after {listed.wall:.2f} s ({listed.cpu:.2f} s CPU)")
    if many is not None:
        print(f"nothing new over {options.files:,} files: {many.wall:.2f} s ({many.cpu:.2f} s CPU)")
    return 0


def _wall(cost: Cost) -> float:
    return cost.wall


if __name__ == "__main__":
    sys.exit(main())
