"""How long a search takes on a team server, by how many people share chats with the asker.

    scripts/bench team_search DIR [--owners 0,10,50] [--chats 3] [--rounds 3]

DIR is what `scripts/bench team --keep DIR` has left: its people, their histories and what they share. The libraries are
asked in this process, as a web process does; CPU time counts it and PostgreSQL.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random

from backscroll.team.arrival.libraries import Libraries
from backscroll.team.reading.shared_library import opener_of_all
from bench.generator.texts import GeneratedTexts
from bench.team import SHARED_CHATS, percentiles, reader_words
from bench.team_load.devices import POOL_BYTES
from bench.team_load.server import LoadServer, running_server
from bench.team_load.watching import cpu_seconds

USUAL = "0,10,50"
QUERIES = 20


def shared_by(server: LoadServer, count: int, reader: str, chats: int = SHARED_CHATS) -> dict[str, set[str]]:
    """So many chats of so many people."""
    with server.superuser() as connection:
        rows = connection.execute(
            "select p.handle, c.name from person p join builds b on b.org = p.id and b.is_current"
            " join lateral (select name from chats where build = b.id order by id limit %s) c on true"
            " where p.handle <> %s order by p.handle",
            (chats, reader),
        ).fetchall()
    found: dict[str, set[str]] = {}
    for handle, chat in rows:
        if handle in found or len(found) < count:
            found.setdefault(handle, set()).add(chat)
    return found


def passages_of(server: LoadServer, shared: dict[str, set[str]]) -> int:
    """How many passages these chats have."""
    with server.superuser() as connection:
        ((found,),) = connection.execute(
            "select coalesce(sum(f.passages), 0) from unnest(%s::text[], %s::text[]) s(handle, chat)"
            " join person p on p.handle = s.handle join builds b on b.org = p.id and b.is_current"
            " join chats c on c.build = b.id and c.name = s.chat join files f on f.build = b.id and f.chat = c.id",
            (
                [owner for owner, chats in shared.items() for _ in chats],
                [one for some in shared.values() for one in some],
            ),
        )
    return int(found)


def measure(server: LoadServer, counts: list[int], chats: int, rounds: int) -> None:
    """Search with each number of owners, in turns."""
    libraries = Libraries(server.folder / "data", server.database)
    words = reader_words(GeneratedTexts(1, POOL_BYTES))
    reader = "p0000"
    shared = {count: shared_by(server, count, reader, chats) for count in counts}
    taken: dict[int, list[float]] = {count: [] for count in counts}
    used: dict[int, list[float]] = {count: [] for count in counts}
    rng = Random("queries")
    with ExitStack() as stack:
        opened = {
            count: stack.enter_context(
                opener_of_all(libraries, reader, frozenset(), some)(libraries.settings(reader), [])
            )
            for count, some in shared.items()
        }
        for one in range(rounds * QUERIES + 1):
            query = " ".join(rng.sample(words, rng.choice((1, 1, 2))))
            for count, library in opened.items():
                before = time.process_time() + cpu_seconds(server.pids()["postgres"])
                began = time.perf_counter()
                library.search(query)
                if one:  # the first one warms up
                    taken[count].append(time.perf_counter() - began)
                    used[count].append(time.process_time() + cpu_seconds(server.pids()["postgres"]) - before)
    for count in counts:
        times, cpu = percentiles(taken[count]), sorted(used[count])
        print(
            f"{len(shared[count]):4} owners, {passages_of(server, shared[count]):7,} passages:"
            f" p50 {times['p50']:8.1f}  p95 {times['p95']:8.1f} ms;"
            f" CPU p50 {cpu[len(cpu) // 2] * 1000:6.0f}, mean {sum(cpu) / len(cpu) * 1000:6.1f} ms",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.team_search", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--owners", default=USUAL)
    parser.add_argument("--chats", type=int, default=SHARED_CHATS, help="how many chats each of them shares")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    with running_server(given.data.absolute(), webs=0, workers=0) as server:
        measure(server, [int(count) for count in given.owners.split(",")], given.chats, given.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
