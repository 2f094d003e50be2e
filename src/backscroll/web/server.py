"""Start and stop the viewer."""

import asyncio
import gc
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import uvicorn

from backscroll.httpd.connections import Connections
from backscroll.httpd.guard import Access
from backscroll.httpd.keys import AccessKeys
from backscroll.httpd.listening import LOOPBACK, address_of, listen, names_of, url_of
from backscroll.httpd.server import server_config
from backscroll.httpd.users import has_other_users
from backscroll.settings import Settings
from backscroll.web.app import make_app
from backscroll.web.live_updates import LiveUpdates
from backscroll.web.running_server import RunningServer
from backscroll.web.state import ViewerState

FIRST_PORT: Final = 8420
PORTS: Final = (*range(FIRST_PORT, FIRST_PORT + 20), 0)
"""The ports to try, then any free one."""


@dataclass(frozen=True)
class StartedViewer:
    """A viewer that accepts requests."""

    url: str
    """URL without a trailing slash."""
    access: Access
    server: uvicorn.Server
    running: RunningServer

    def link(self, path: str = "/") -> str:
        """Return a URL to open, with a one-time code if a key is required."""
        return self.running.link(path)

    def stop(self) -> None:
        """Stop the viewer, from any thread."""
        self.server.should_exit = True


COLLECT_AFTER: Final = (50_000, 10, 1)
"""Open chats are hundreds of thousands of long-lived objects, so full collections are rare. But chats that are read
again leave as much garbage in cycles: with 50 in the last place, a viewer of sessions that were truncated all the time
grew to 1 GB in 36 minutes, and a collection freed five of six objects."""


def serve(
    state: ViewerState,
    *,
    host: str = LOOPBACK,
    port: int | None = None,
    token: str | None = None,
    follows: bool = True,
    connections: Connections | None = None,
    on_ready: Callable[[StartedViewer], object] = lambda _: None,
) -> None:
    """Serve until Ctrl-C or `stop`. Without a port, use the first free one; `on_ready` must not block.

    With `follows`, the library is updated at start and kept up to date.
    """
    connections = connections or Connections()
    live = LiveUpdates(state, connections)
    listener = listen(host, PORTS if port is None else [port])
    try:
        access = access_for(host, listener, token, state.settings)
        url = url_of(listener)
        running = RunningServer.of(state, url, host, listener.getsockname()[1], access)
        config = server_config(make_app(state, access, live), connections)
        gc.set_threshold(*COLLECT_AFTER)
        server = _Server(config, state, running, live if follows else None)
        server.when_ready = lambda: on_ready(StartedViewer(url, access, server, running))
        server.run(sockets=[listener])
    finally:
        listener.close()


def access_for(host: str, listener: socket.socket, token: str | None, settings: Settings) -> Access:
    """Return who may connect: those with a key, or, if none is required, every program on this machine."""
    address = address_of(listener)
    return Access(
        names=names_of(host, listener),
        any_address=address.is_unspecified,
        needs_key=not address.is_loopback or token is not None or needs_key_on_loopback(settings),
        keys=AccessKeys(token),
    )


def needs_key_on_loopback(settings: Settings) -> bool:
    """Whether local programs need a key: as the settings say, or if the machine has other users."""
    return settings.require_key == "always" or (settings.require_key == "auto" and has_other_users())


class _Server(uvicorn.Server):
    """Announces itself while it runs, and closes its event streams on shutdown."""

    when_ready: Callable[[], object]

    def __init__(
        self, config: uvicorn.Config, state: ViewerState, running: RunningServer, live: LiveUpdates | None
    ) -> None:
        super().__init__(config)
        self._state = state
        self._running = running
        self._live = live

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, announce the address, and start live updates."""
        await super().startup(sockets)
        with suppress(OSError):  # a read-only library can still be viewed
            self._running.write(self._state.settings)
        try:
            self.when_ready()
        except BaseException:
            self._running.forget(self._state.settings)
            raise
        if self._live is not None:
            self._live.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the event streams, which never end by themselves, then the server."""
        self._running.forget(self._state.settings)
        if self._live is not None:
            await asyncio.to_thread(self._live.stop)
        await super().shutdown(sockets)
