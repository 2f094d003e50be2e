"""Start and stop the processes of a server: workers and further web processes."""

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from backscroll.sync.remotes import open_remote
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.database.connections import Database
from backscroll.team.database.web_role import require_owner
from backscroll.team.operating.job_log import JobLog
from backscroll.team.operating.request_log import WriteLine
from backscroll.team.operating.server_database import RESTART_SECONDS, ServerPlace
from backscroll.team.operating.worker import Worker

log = logging.getLogger(__name__)


def run_worker(place: ServerPlace, database: Database, stop: threading.Event, job_log: WriteLine | None = None) -> None:
    """Do jobs until `stop` is set. `job_log` is called with a line for each try."""
    with database.transaction() as connection:
        require_owner(connection)
    log_of_jobs = JobLog(job_log) if job_log else None
    Worker(database, open_remote(place.objects_address), Libraries(place.data, database), log_of_jobs).run(stop)


def stop_with_parent(stop: Callable[[], object]) -> None:
    """Call `stop` when the standard input closes: the process that started us has ended."""

    def wait() -> None:
        with suppress(OSError, ValueError):
            sys.stdin.buffer.read()
        stop()

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def worker_process(place: ServerPlace, database: Database, *, logs_jobs: bool = False) -> Iterator[None]:
    """Run a worker in a process of its own, so that pages stay quick."""
    words = ["worker", "--with-parent", *(["--log-jobs"] if logs_jobs else [])]
    with _kept_process("worker", words, _environment(place, database)):
        yield


@contextmanager
def web_processes(
    count: int, listener: socket.socket, place: ServerPlace, database: Database, host: str, settings: Mapping[str, str]
) -> Iterator[None]:
    """Run more web processes at the same socket: each uses one core at most. `settings` are environment variables."""
    words = ["web", "--with-parent", "--host", host, "--socket", str(listener.fileno())]
    environment = {**_environment(place, database), **settings}
    with ExitStack() as stack:
        for number in range(count):
            stack.enter_context(_kept_process(f"web process {number + 2}", words, environment, listener.fileno()))
        yield


def _environment(place: ServerPlace, database: Database) -> dict[str, str]:
    """The environment of a process of this server. Options of a command, with passwords, could be read by all users."""
    named = {"DATA": str(place.data), "OBJECTS": place.objects_address, "DATABASE": database.address}
    return {**os.environ, **{f"BACKSCROLL_{name}": value for name, value in named.items()}}


@contextmanager
def _kept_process(name: str, words: Sequence[str], environment: Mapping[str, str], *sockets: int) -> Iterator[None]:
    """Run a process of this server, started again if it ends. It stops with this one; Ctrl-C does not reach it."""
    command = [sys.executable, "-P", "-m", "backscroll", "server", *words]
    stop = threading.Event()
    running: list[subprocess.Popen[bytes]] = []

    def keep_running() -> None:
        while not stop.is_set():
            process = subprocess.Popen(  # noqa: S603 - ourselves
                command, stdin=subprocess.PIPE, env=environment, pass_fds=sockets, process_group=0
            )
            running[:] = [process]
            process.wait()
            if not stop.is_set():
                log.error("the %s ended with code %d; starting it again", name, process.returncode)
                stop.wait(RESTART_SECONDS)

    thread = threading.Thread(target=keep_running, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        for process in running:
            if process.stdin is not None:
                process.stdin.close()
        thread.join(60)
