"""The index in PostgreSQL beside the local one: first load, append, and searches, on the same sessions.

`scripts/bench postgres HOME [--rounds 15]`. CPU time counts our process and, for PostgreSQL, all of its own. The
server has the settings that `backscroll server` gives it, on this machine's disk.
"""

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from tests.support.postgres import running_postgres

from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.settings import Settings
from backscroll.store.base import Store
from backscroll.store.local.store import LocalStore
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.store.postgres.migrate import migrate
from backscroll.store.postgres.store import PgStore

QUERIES = ("parser", "the error", "import*", '"no such file"', "error tool:bash", "is:error", "+test +error")
ROUNDS = 15
APPENDED = (
    '{{"type":"user","uuid":"u{0}","parentUuid":null,"isSidechain":false,"userType":"external","timestamp":"2026-01-01T00:00:00.000Z","sessionId":"00000000-0000-4000-8000-000000000001","cwd":"/","version":"2.1.20",'
    '"message":{{"role":"user","content":"needle{0} in a haystack"}}}}\n'
)


@contextmanager
def stores(name: str, folder: Path) -> Iterator[tuple[Store, Callable[[], float]]]:
    """A store, and how much CPU time its engine has used."""
    if name == "local":
        yield LocalStore(folder / "index"), lambda: 0.0
        return
    with running_postgres({}) as server:
        migrate(server.url())
        store = PgStore(server.url(), 1)
        yield store, lambda: _server_seconds(server)


def _server_seconds(server: EmbeddedPostgres) -> float:
    """The CPU time of PostgreSQL: of its processes, and of those that have ended."""
    main = (server._folder / "data" / "postmaster.pid").read_text().split()[0]
    stats = [path.read_text().rpartition(") ")[2].split() for path in Path("/proc").glob("[0-9]*/stat")]
    ours = Path(f"/proc/{main}/stat").read_text().rpartition(") ")[2].split()
    ticks = sum(map(int, ours[11:15])) + sum(sum(map(int, one[11:13])) for one in stats if one[1] == main)
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(name: str, home: Path, rounds: int) -> None:
    """Load, append and search."""
    root = Path(tempfile.mkdtemp(prefix="backscroll-bench-"))
    try:
        copy = shutil.copytree(home, root / "home")
        size = sum(path.stat().st_size for path in copy.rglob("*.jsonl"))
        settings = Settings(homes=(copy,), library=root / "library", file=root / "settings.toml")
        with stores(name, root) as (store, engine), Library(settings, [Home(copy)], store, keeps=False) as library:
            began, cpu, other = time.perf_counter(), time.process_time(), engine()
            while library.refresh(with_text=True) is not None:
                pass
            wall, own, server = time.perf_counter() - began, time.process_time() - cpu, engine() - other
            megabytes = size / 1e6
            print(
                f"{name}: {megabytes:.0f} MB, first load {wall:.1f} s; CPU {own:.1f} s + {server:.1f} s in the engine:"
            )
            print(f"  {megabytes / (own + server):.1f} MB for each; index {library.store.size() / 1e6:.0f} MB")
            print(f"  append → found: {_append(library, copy, rounds) * 1000:.0f} ms (median of {rounds})")
            for query in QUERIES:
                taken = []
                for _ in range(rounds):
                    start = time.perf_counter()
                    found = library.search(query)
                    taken.append(time.perf_counter() - start)
                times = f"{median(taken) * 1000:6.1f} ms, at least {min(taken) * 1000:.1f}"
                print(f"  {query:20} {found.total:7,} found, {times}")
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _append(library: Library, home: Path, rounds: int) -> float:
    """From the write of a line until a search finds its word."""
    file = home / "projects" / "-bench" / "00000000-0000-4000-8000-000000000001.jsonl"
    file.parent.mkdir(parents=True)
    taken = []
    for number in range(rounds):
        with file.open("a", encoding="utf-8") as out:
            out.write(APPENDED.format(number))
        start = time.perf_counter()
        while not library.search(f"needle{number}").total:
            library.refresh(with_text=True)
        taken.append(time.perf_counter() - start)
    return median(taken)


def main() -> None:
    """Both, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    for name in ("local", "postgres"):
        measure(name, given.home, given.rounds)


if __name__ == "__main__":
    main()
