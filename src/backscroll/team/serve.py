"""Start and stop the processes of a server: web, worker, and what a trial needs beside them."""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn

from backscroll import system
from backscroll.disk import private_folder
from backscroll.errors import BackscrollError, NoPermission, UsageError
from backscroll.httpd.connections import Connections
from backscroll.httpd.listening import LOOPBACK, address_of, listen, names_of, url_of
from backscroll.httpd.server import server_config
from backscroll.sync.remotes import open_remote
from backscroll.team.app import make_team_app
from backscroll.team.context import TeamContext
from backscroll.team.database import Database, migrate
from backscroll.team.job_log import JobLog
from backscroll.team.libraries import PEOPLE, Libraries
from backscroll.team.oidc import OidcProvider, OidcSettings
from backscroll.team.people import first_link
from backscroll.team.proxies import Network
from backscroll.team.request_log import WriteLine
from backscroll.team.reset_after_update import demand_reset, reset_after_update
from backscroll.team.row_security import demand_guarded
from backscroll.team.viewers import Viewers
from backscroll.team.web_role import as_web, demand_owner, demand_rights, grant_to_web
from backscroll.team.worker import CHANGED, Worker

PORTS: Final = (*range(8520, 8540), 0)
BODY_SECONDS: Final = 600.0
"""For a device to send an object over a slow line."""
RESTART_SECONDS: Final = 5.0

if TYPE_CHECKING:
    from backscroll.store.postgres.embedded import EmbeddedPostgres

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerPlace:
    """Where a server keeps everything."""

    data: Path
    """Archives, made of the objects, and people's marks; and, unless named, the objects and the database too."""
    database: str | None = None
    objects: str | None = None

    @property
    def objects_address(self) -> str:
        """The address of the object store."""
        return self.objects or str(self.data / "objects")


@dataclass(frozen=True)
class StartedServer:
    """A server that accepts requests."""

    url: str
    server: uvicorn.Server

    def stop(self) -> None:
        """Stop it, from any thread."""
        self.server.should_exit = True


@contextmanager
def open_database(place: ServerPlace) -> Iterator[Database]:
    """The database of a server: the one that is named, or one that runs as long as this process."""
    if place.database is not None:
        from backscroll.store.postgres.roles import refuse_unsafe_roles

        _prepare_folder(place, 0o700)
        database = Database(place.database)
        try:
            with database.transaction() as connection:
                refuse_unsafe_roles(connection)
            yield database
        finally:
            database.close()
        return
    from backscroll.store.postgres.embedded import EmbeddedPostgres

    _prepare_folder(place, 0o711)
    if system.user_id() == 0:
        place.data.chmod(0o711)  # PostgreSQL runs as another user, who has to get through to its folder
    with EmbeddedPostgres(place.data / "postgres") as postgres, _kept_running(postgres):
        database = Database(postgres.url())
        try:
            yield database
        finally:
            database.close()


@contextmanager
def _kept_running(postgres: "EmbeddedPostgres") -> Iterator[None]:
    """Start PostgreSQL again whenever it ends by itself, such as after a full disk."""
    stop = threading.Event()

    def keep_running() -> None:
        while not stop.is_set():
            code = postgres.wait()
            if stop.is_set():
                return
            log.error("PostgreSQL ended with code %d; starting it again", code)
            try:
                postgres.restart()
            except BackscrollError as error:
                log.error("%s; trying again", error)
                stop.wait(RESTART_SECONDS)

    threading.Thread(target=keep_running, name="postgres", daemon=True).start()
    try:
        yield
    finally:
        stop.set()


def _prepare_folder(place: ServerPlace, mode: int) -> None:
    """Make the data folder and the private folders in it. One that exists keeps its mode: PostgreSQL may need it."""
    place.data.mkdir(parents=True, exist_ok=True, mode=mode)
    private_folder(place.data / PEOPLE)
    if place.objects is None:
        private_folder(place.data / "objects")


def serve_web(
    place: ServerPlace,
    database: Database,
    *,
    host: str = LOOPBACK,
    port: int | None = None,
    url: str | None = None,
    listener: socket.socket | None = None,
    oidc: OidcSettings | None = None,
    demo_links: Mapping[str, str] | None = None,
    trusted_proxies: Sequence[Network] = (),
    log: WriteLine | None = None,
    sql_password: str | None = None,
    on_ready: Callable[[StartedServer], object] = lambda _: None,
) -> None:
    """Serve pages and take objects until Ctrl-C or `stop`: at a socket that listens, else at one of its own."""
    listener = listener or listen_for_web(host, port, url)
    database = database.limited()
    try:
        connections = Connections(body_seconds=BODY_SECONDS)
        viewers = Viewers(Libraries(place.data, database, sql_password), connections)
        found_at = (url or url_of(listener)).rstrip("/")
        provider = OidcProvider(oidc, f"{found_at}/oidc/callback") if oidc else None
        demand_ready(database)
        context = TeamContext(
            database, open_remote(place.objects_address), found_at, provider, trusted_proxies, demo_links or {}
        )
        app = make_team_app(context, viewers, names_of(host, listener), log)
        server = TeamProcess(server_config(app, connections, lifespan="on"), database, viewers)
        server.when_ready = lambda: on_ready(StartedServer(context.url, server))
        server.run(sockets=[listener])
    finally:
        listener.close()
        database.close()


def listen_for_web(host: str, port: int | None, url: str | None) -> socket.socket:
    """The socket that web processes listen at. Other machines reach it through a proxy only, which encrypts."""
    listener = listen(host, PORTS if port is None else [port])
    is_secure = url is not None and url.startswith("https://")
    if not is_secure and not address_of(listener).is_loopback:
        listener.close()
        hint = "put a proxy with a certificate in front of it, and give its address: --url https://team.example.org"
        raise UsageError("passwords and sessions would cross the network in the clear", hint)
    return listener


def demand_ready(database: Database) -> None:
    """An error that says what to do, if web processes could not serve with this database, or not safely."""
    with database.transaction() as connection:
        demand_rights(connection)
        demand_guarded(connection)
        demand_reset(connection)


def first_path(database: Database) -> str | None:
    """Where the first administrator chooses a password, at the address of the server; None once there is one.

    For the one process that starts the others: each call makes a further link, and a web process that is started again
    makes none.
    """
    demand_ready(database)
    with database.transaction() as connection:
        secret = first_link(connection)
    return f"/welcome?link={secret}" if secret else None


class TeamProcess(uvicorn.Server):
    """A web process: tells open pages what workers have done."""

    when_ready: Callable[[], object] = staticmethod(lambda: None)

    def __init__(self, config: uvicorn.Config, database: Database, viewers: Viewers) -> None:
        super().__init__(config)
        self._database, self._viewers = database, viewers
        self._stop = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        self._viewers.attach(asyncio.get_running_loop())
        await super().startup(sockets)
        threading.Thread(target=self._listen, name="changes", daemon=True).start()
        self.when_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams, which never end by themselves, then the server."""
        self._stop.set()
        await asyncio.to_thread(self._viewers.close)
        await super().shutdown(sockets)

    def _listen(self) -> None:
        """Pass on what workers say has changed."""
        while not self._stop.is_set():
            try:
                with self._database.connect() as connection:
                    connection.execute(f"listen {CHANGED}")
                    while not self._stop.is_set():
                        for told in connection.notifies(timeout=0.5, stop_after=1):
                            self._viewers.told(told.payload)
            except Exception as error:  # without this thread no page would update
                if self._stop.is_set():
                    return
                log.error("open pages do not update at the moment (%s); trying again", type(error).__name__)
                self._stop.wait(RESTART_SECONDS)


def run_worker(place: ServerPlace, database: Database, stop: threading.Event, job_log: WriteLine | None = None) -> None:
    """Do jobs until `stop` is set. `job_log` is given a line for each of them."""
    with database.transaction() as connection:
        demand_owner(connection)
    told = JobLog(job_log) if job_log else None
    Worker(database, open_remote(place.objects_address), Libraries(place.data, database), told).run(stop)


def stop_with_parent(stop: Callable[[], object]) -> None:
    """Call `stop` when the standard input closes: the process that started us has ended."""

    def wait() -> None:
        with suppress(OSError, ValueError):
            sys.stdin.buffer.read()
        stop()

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def worker_process(place: ServerPlace, database: Database, *, logs_jobs: bool = False) -> Iterator[None]:
    """A worker in a process of its own, so that pages stay quick."""
    words = ["worker", "--with-parent", *(["--log-jobs"] if logs_jobs else [])]
    with _kept_process("worker", words, _environment(place, database)):
        yield


@contextmanager
def web_processes(
    count: int, listener: socket.socket, place: ServerPlace, database: Database, host: str, settings: Mapping[str, str]
) -> Iterator[None]:
    """More web processes at the same socket: one uses no more than one core. `settings` are environment variables."""
    words = ["web", "--with-parent", "--host", host, "--socket", str(listener.fileno())]
    environment = {**_environment(place, database), **settings}
    with ExitStack() as stack:
        for number in range(count):
            stack.enter_context(_kept_process(f"web process {number + 2}", words, environment, listener.fileno()))
        yield


def _environment(place: ServerPlace, database: Database) -> dict[str, str]:
    """The place of a server for a process of its own. Everyone could read the options of a command, with passwords."""
    named = {"DATA": str(place.data), "OBJECTS": place.objects_address, "DATABASE": database.address}
    return {**os.environ, **{f"BACKSCROLL_{name}": value for name, value in named.items()}}


@contextmanager
def _kept_process(name: str, words: Sequence[str], environment: Mapping[str, str], *sockets: int) -> Iterator[None]:
    """A process of this server, started again if it ends. It stops with us, and Ctrl-C is for us alone."""
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


def prepare(database: Database, tell: Callable[[str], object] = log.warning) -> list[str]:
    """Bring the tables up to date, the server's own and those of the index; the names of the migrations that were run.

    `tell` is given each line of what an update had to end or could not account for.
    """
    from backscroll.store.postgres.migrate import migrate as migrate_index

    with database.transaction() as connection:
        demand_owner(connection)
    done = [*migrate(database), *migrate_index(database.address)]
    with database.transaction() as connection:
        grant_to_web(connection)
        lines = reset_after_update(connection)
    for line in lines:
        tell(line)
    return done


def why_sql_is_off(database: Database) -> BackscrollError | None:
    """Why people's own SQL does not run in this database, if it does not."""
    from backscroll.store.postgres.sql_login import require_safe_login

    try:
        with database.transaction() as connection:
            require_safe_login(connection)
    except NoPermission as error:
        return error
    return None


def sql_login_statements() -> str:
    """What a superuser runs in a database that is not ours, for people's own SQL."""
    from backscroll.store.postgres.sql_login import preparation

    return preparation()


@contextmanager
def database_for_web(place: ServerPlace, database: Database) -> Iterator[Database]:
    """The database as a web process uses it: in one of ours, as a role of its own; a named one as it was named."""
    if place.database is not None:
        yield database
        return
    opened = Database(as_web(database.address))
    try:
        yield opened
    finally:
        opened.close()
