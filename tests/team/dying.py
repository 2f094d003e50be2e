"""A process that is killed at its nth commit point: `python -m tests.team.dying KIND POINT ARGUMENTS…`.

A commit point is just before or after something becomes durable: a transaction, a commit of the archive or of the state
of a sync, an object. With point 0 it lives, and says how many there were.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from backscroll.archive.rewriting import Writer
from backscroll.sync.http_remote import HttpRemote
from backscroll.sync.remotes import Folder, open_remote
from backscroll.sync.state import SyncState
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.database.connections import Database
from backscroll.team.database.web_role import as_web
from backscroll.team.operating.server_database import ServerPlace
from backscroll.team.operating.worker import Worker
from backscroll.team.serving.web_server import StartedServer, serve_web

PASSED = [0]
IS_COUNTING = threading.Event()


def point(dies_at: int) -> None:
    if not IS_COUNTING.is_set():
        return
    PASSED[0] += 1
    if PASSED[0] == dies_at:
        os.kill(os.getpid(), signal.SIGKILL)


def around(kind: type, name: str, dies_at: int, when: Callable[..., bool] = lambda *_: True) -> None:
    """Pass a point before and after each call."""
    original = getattr(kind, name)

    def passing(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        counts = when(*args)
        if counts:
            point(dies_at)
        try:
            return original(*args, **named)
        finally:
            if counts:
                point(dies_at)

    setattr(kind, name, passing)


def commits(connection: psycopg.Connection[Any], query: object, *_: object) -> bool:
    """Whether a statement makes something durable: the end of a transaction, or a change outside of one."""
    words = str(query).split()
    is_outside = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    return words[0] == "commit" or (is_outside and words[0] in {"insert", "update", "delete", "with"})


def watch(dies_at: int) -> None:
    around(psycopg.Transaction, "__exit__", dies_at)
    around(psycopg.Connection, "execute", dies_at, commits)
    around(psycopg.Pipeline, "__exit__", dies_at)
    around(Writer, "commit", dies_at)
    around(Folder, "put", dies_at)
    around(Folder, "delete", dies_at)
    around(HttpRemote, "put", dies_at)
    saving = SyncState.saving

    @contextmanager
    def passing(self: SyncState) -> Iterator[None]:
        with saving(self):
            yield
            point(dies_at)
        point(dies_at)

    SyncState.saving = passing  # type: ignore[method-assign]


def work(address: str, data: str) -> None:
    """Do every job that is due."""
    database = Database(address)
    worker = Worker(database, open_remote(str(Path(data) / "objects")), Libraries(Path(data), database))
    while worker.do_next():
        pass


def web(address: str, data: str) -> None:
    """Serve until the standard input closes."""

    def ready(server: StartedServer) -> None:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        IS_COUNTING.set()  # what counts is what requests do
        threading.Thread(target=stop_with_input, args=(server,), daemon=True).start()

    def stop_with_input(server: StartedServer) -> None:
        sys.stdin.read()
        server.stop()

    place = ServerPlace(Path(data), address, str(Path(data) / "objects"))
    serve_web(place, Database(as_web(address)), port=0, on_ready=ready)


def client(root: str, name: str, url: str, secret: str) -> None:
    """Push what a machine has."""
    from tests.sync.support import Device

    Device(Path(root), name, signs=False).push(open_remote(url, secret))


def main() -> None:
    kind, dies_at, *arguments = sys.argv[1:]
    watch(int(dies_at))
    if kind != "web":
        IS_COUNTING.set()
    kinds: dict[str, Callable[..., None]] = {"work": work, "web": web, "client": client}
    kinds[kind](*arguments)
    sys.stdout.write(f"{PASSED[0]}\n")


if __name__ == "__main__":
    main()
