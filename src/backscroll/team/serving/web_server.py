"""Serve the pages of a team server, and the requests of devices and agents, at a listening socket."""

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import uvicorn

from backscroll.errors import UsageError
from backscroll.httpd.connections import Connections
from backscroll.httpd.listening import LOOPBACK, address_of, listen, names_of, url_of
from backscroll.httpd.server import server_config
from backscroll.sync.remotes import open_remote
from backscroll.team.arrival.libraries import CHANGES, Libraries
from backscroll.team.database.connections import Database
from backscroll.team.operating.request_log import WriteLine
from backscroll.team.operating.server_database import RESTART_SECONDS, ServerPlace, require_ready
from backscroll.team.people.client_address import Network
from backscroll.team.people.context import TeamContext
from backscroll.team.people.invitations import first_link
from backscroll.team.people.oidc import OidcProvider, OidcSettings
from backscroll.team.reading.viewer_pool import ViewerPool
from backscroll.team.serving.app import make_team_app

PORTS: Final = (*range(8520, 8540), 0)
BODY_SECONDS: Final = 600.0
"""Time for a device to send an object over a slow line."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StartedServer:
    """A server that accepts requests."""

    url: str
    server: uvicorn.Server

    def stop(self) -> None:
        """Stop the server, from any thread."""
        self.server.should_exit = True


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
    """Serve pages and take objects until Ctrl-C or `stop`, at `listener` or else at a new socket."""
    listener = listener or listen_for_web(host, port, url)
    database = database.limited()
    try:
        connections = Connections(body_seconds=BODY_SECONDS)
        viewers = ViewerPool(Libraries(place.data, database, sql_password), connections)
        public_url = (url or url_of(listener)).rstrip("/")
        provider = OidcProvider(oidc, f"{public_url}/oidc/callback") if oidc else None
        require_ready(database)
        context = TeamContext(
            database, open_remote(place.objects_address), public_url, provider, trusted_proxies, demo_links or {}
        )
        app = make_team_app(context, viewers, names_of(host, listener), log)
        server = TeamProcess(server_config(app, connections, lifespan="on"), database, viewers)
        server.when_ready = lambda: on_ready(StartedServer(context.url, server))
        server.run(sockets=[listener])
    finally:
        listener.close()
        database.close()


def listen_for_web(host: str, port: int | None, url: str | None) -> socket.socket:
    """Open the socket for web processes. Other machines reach it only through a proxy, which encrypts."""
    listener = listen(host, PORTS if port is None else [port])
    is_secure = url is not None and url.startswith("https://")
    if not is_secure and not address_of(listener).is_loopback:
        listener.close()
        hint = "put a proxy with a certificate in front of it, and give its address: --url https://team.example.org"
        raise UsageError("passwords and sessions would cross the network in the clear", hint)
    return listener


def first_path(database: Database) -> str | None:
    """Make a path at which the first administrator chooses a password; None once there is one.

    Only the process that starts the others calls this: each call makes a further link.
    """
    require_ready(database)
    with database.transaction() as connection:
        secret = first_link(connection)
    return f"/welcome?link={secret}" if secret else None


class TeamProcess(uvicorn.Server):
    """A web process, which tells open pages about changes by workers."""

    when_ready: Callable[[], object] = staticmethod(lambda: None)

    def __init__(self, config: uvicorn.Config, database: Database, viewers: ViewerPool) -> None:
        super().__init__(config)
        self._database, self._viewers = database, viewers
        self._stop = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then call `when_ready`."""
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
        """Pass the notices of workers on to open pages."""
        while not self._stop.is_set():
            try:
                with self._database.connect() as connection:
                    connection.execute(f"listen {CHANGES}")
                    while not self._stop.is_set():
                        for notice in connection.notifies(timeout=0.5, stop_after=1):
                            self._viewers.on_notice(notice.payload)
            except Exception as error:  # without this thread no page would update
                if self._stop.is_set():
                    return
                log.error("open pages do not update at the moment (%s); trying again", type(error).__name__)
                self._stop.wait(RESTART_SECONDS)
