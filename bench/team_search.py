"""How long a search takes on a team server, by how many people share chats with the asker.

    scripts/bench team_search DIR [--owners 0,10,20,50,100] [--rounds 3]

DIR is what `scripts/bench team --keep DIR` has left: its people, their histories and what they share. The libraries are
asked in this process, as a web process does; CPU time counts it and PostgreSQL.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from backscroll.team.libraries import Libraries
from bench.generator.texts import GeneratedTexts
from bench.team import SHARED_CHATS, percentiles, reader_words
from bench.team_load.devices import POOL_BYTES
from bench.team_load.server import LoadServer, running_server
from bench.team_load.watching import cpu_seconds

USUAL = "0,10,20,50,100"
QUERIES = 20


def shared_by(server: LoadServer, count: int, reader: str) -> dict[str, set[str]]:
    """Chats of so many people."""
    with server.superuser() as connection:
        rows = connection.execute(
            "select p.handle, c.name from person p join builds b on b.org = p.id and b.is_current"
            " join lateral (select name from chats where build = b.id order by id limit %s) c on true"
            " where p.handle <> %s order by p.handle",
            (SHARED_CHATS, reader),
        ).fetchall()
    found: dict[str, set[str]] = {}
    for handle, chat in rows:
        if handle in found or len(found) < count:
            found.setdefault(handle, set()).add(chat)
    return found


def measure(server: LoadServer, counts: list[int], rounds: int) -> None:
    """Search with each number of owners."""
    libraries = Libraries(server.folder / "data", server.database)
    words = reader_words(GeneratedTexts(1, POOL_BYTES))
    reader = "p0000"
    for count in counts:
        shared = shared_by(server, count, reader)
        opener = libraries.opener_of_all(reader, frozenset(), shared)
        rng = Random("queries")
        taken: list[float] = []
        used = 0.0
        with opener(libraries.settings(reader), []) as library:
            for one in range(rounds * QUERIES + 1):
                query = " ".join(rng.sample(words, rng.choice((1, 1, 2))))
                before = time.process_time() + cpu_seconds(server.pids()["postgres"])
                began = time.perf_counter()
                found = library.search(query)
                if one:  # the first one warms up
                    taken.append(time.perf_counter() - began)
                    used += time.process_time() + cpu_seconds(server.pids()["postgres"]) - before
                del found
        times = percentiles(taken)
        print(f"{len(shared):4} owners: p50 {times['p50']:8.1f}  p95 {times['p95']:8.1f} ms;"
              f" {used / len(taken) * 1000:7.1f} ms CPU a search", flush=True)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.team_search", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--owners", default=USUAL)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    with running_server(given.data.absolute(), webs=0, workers=0) as server:
        measure(server, [int(count) for count in given.owners.split(",")], given.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
