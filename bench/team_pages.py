"""What the pages of a team server cost: CPU time of web and PostgreSQL, and how many statements each takes.

    scripts/bench team_pages DIR [--rounds 5] [--only TEXT]

DIR is what `scripts/bench team --keep DIR` has left. Each page is asked for over HTTP, by an administrator or by a
person with a history of their own. Statements are counted in PostgreSQL's log, in a web process of its own.
"""

import argparse
import http.client
import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from backscroll.team.people.accounts import Person, people
from bench.team_load.server import LoadServer, running_server, sign_in, start_web
from bench.team_load.watching import cpu_seconds

ADMIN, READER = "admin", "p0000"
PAGES = {
    ADMIN: (
        "/team-spend", "/team-spend?period=all&by=project", "/team-spend?team=1", "/project-rules", "/storage",
        "/devices", "/audit", "/jobs", "/people", "/retention",
    ),
    READER: ("/spend", "/spend?period=all", "/stats", "/chats", "/chats/{chat}"),
}  # fmt: skip
AT_ONCE = 5
"""So many requests are measured together: CPU time is counted in hundredths of a second."""
STATEMENT = re.compile(rb"LOG:  (?:statement|execute [^:]*): ")


class Reader:
    """A browser of one person."""

    def __init__(self, url: str, secret: str) -> None:
        place = urlsplit(url)
        self._headers = {"cookie": f"backscroll-team-{place.port}={secret}", "accept": "text/html"}
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=300)

    def get(self, path: str) -> bytes:
        """A page, whole."""
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise ValueError(f"{path} answered {answer.status}: {body[:300]!r}")
        return body


def _signed_in(server: LoadServer) -> dict[str, str]:
    with server.database.transaction() as connection:
        row = connection.execute("select org from person where handle = %s", (READER,)).fetchone()
        assert row is not None
        known: dict[str, Person] = {one.handle: one for one in people(connection, int(row[0]))}
    return dict(zip(PAGES, sign_in(server.database, [known[handle] for handle in PAGES]), strict=True))


def _longest_chat(server: LoadServer) -> str:
    with server.superuser() as connection:
        ((name,),) = connection.execute(
            "select c.name from chats c join builds b on b.id = c.build and b.is_current join person p on p.id = b.org"
            " join files f on f.build = c.build and f.chat = c.id where p.handle = %s"
            " group by c.build, c.id, c.name order by sum(f.passages) desc, c.name limit 1",
            (READER,),
        )
    return str(name)


def measure(server: LoadServer, rounds: int, only: str) -> dict[tuple[str, str], list[float]]:
    """The CPU time of each page in seconds: web, PostgreSQL, and how long it took."""
    secrets, chat = _signed_in(server), _longest_chat(server)
    found = {}
    for handle, paths in PAGES.items():
        reader = Reader(server.urls[0], secrets[handle])
        for path in paths:
            if only not in path:
                continue
            reader.get(path.format(chat=chat))  # the first one warms up
            parts = []
            for _ in range(rounds):
                before, began = _cpu(server), time.perf_counter()
                for _ in range(AT_ONCE):
                    reader.get(path.format(chat=chat))
                taken = (time.perf_counter() - began) / AT_ONCE
                parts.append([*((now - then) / AT_ONCE for now, then in zip(_cpu(server), before, strict=True)), taken])
            found[handle, path] = [statistics.median(column) for column in zip(*parts, strict=True)]
    return found


def _cpu(server: LoadServer) -> tuple[float, float]:
    pids = server.pids()
    return sum(cpu_seconds(some) for name, some in pids.items() if name.startswith("web")), cpu_seconds(
        pids["postgres"]
    )


@contextmanager
def logging_statements(server: LoadServer) -> Iterator[Path]:
    """Have PostgreSQL write every statement of new connections into its log."""
    with server.superuser() as connection:
        connection.execute("alter role backscroll set log_statement = 'all'")
        try:
            yield server.folder / "postgres" / "log"
        finally:
            connection.execute("alter role backscroll reset log_statement")


def statements(server: LoadServer, url: str, log: Path, only: str) -> dict[tuple[str, str], int]:
    """How many statements each page takes, once everything is warm."""
    secrets, chat = _signed_in(server), _longest_chat(server)
    found = {}
    for handle, paths in PAGES.items():
        reader = Reader(url, secrets[handle])
        for path in paths:
            if only in path:
                for _ in range(2):
                    before = log.stat().st_size
                    reader.get(path.format(chat=chat))
                with log.open("rb") as file:
                    file.seek(before)
                    found[handle, path] = len(STATEMENT.findall(file.read()))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.team_pages", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only pages whose address has this text")
    given = parser.parse_args(arguments)
    folder = given.data.absolute()
    with running_server(folder, webs=1, workers=0) as server:
        costs = measure(server, given.rounds, given.only)
        with logging_statements(server) as log, ExitStack() as stack:
            counts = statements(server, start_web(stack, server), log, given.only)
    print(f"{'':34} {'web':>8} {'postgres':>8} {'together':>8}   wall  CPU ms, median of {given.rounds}; statements")
    for (handle, path), (web, postgres, taken) in costs.items():
        cells = "".join(f"{value * 1000:9.1f}" for value in (web, postgres, web + postgres, taken))
        print(f"{handle:6} {path:36}{cells}{counts[handle, path]:7}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
