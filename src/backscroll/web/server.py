"""The viewer's server: it listens, writes down where, follows the homes, and ends without waiting for streams."""

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
"""Those that are tried, and then any."""


@dataclass(frozen=True)
class StartedViewer:
    """A server that is ready."""

    url: str
    """Its address, without a slash at the end."""
    access: Access
    server: uvicorn.Server
    running: RunningServer

    def link(self, path: str = "/") -> str:
        """An address to open; with a code that works once, where a key is needed."""
        return self.running.link(path)

    def stop(self) -> None:
        """End it, from wherever."""
        self.server.should_exit = True


COLLECT_AFTER: Final = (50_000, 10, 1)
"""Open chats are hundreds of thousands of objects that stay, so they are not looked through often. But chats that are
read anew leave as many behind, in cycles: with 50 in the last place a viewer of sessions that were cut all the time
grew to 1 GB in 36 minutes, of which a collection freed five objects in six."""


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
    """Serve until Ctrl-C, or until `stop`. Without a port, on the first that is free; `on_ready` must not wait.

    Meanwhile the library is brought up to date and kept so, unless it is only to be shown as it is.
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
    """Who may come in: with a key, whoever has it; without, every program on this machine."""
    address = address_of(listener)
    return Access(
        names=names_of(host, listener),
        any_address=address.is_unspecified,
        needs_key=not address.is_loopback or token is not None or needs_key_on_loopback(settings),
        keys=AccessKeys(token),
    )


def needs_key_on_loopback(settings: Settings) -> bool:
    """Whether programs on this machine need a key too: as the settings say, else where it has other users."""
    return settings.require_key == "always" or (settings.require_key == "auto" and has_other_users())


class _Server(uvicorn.Server):
    """A server that is known to others while it runs, and whose streams end before it does."""

    when_ready: Callable[[], object]

    def __init__(
        self, config: uvicorn.Config, state: ViewerState, running: RunningServer, live: LiveUpdates | None
    ) -> None:
        super().__init__(config)
        self._state = state
        self._running = running
        self._live = live

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and then do the rest: nobody waits for it."""
        await super().startup(sockets)
        with suppress(OSError):  # a library that cannot be written to can still be read
            self._running.write(self._state.settings)
        try:
            self.when_ready()
        except BaseException:
            self._running.forget(self._state.settings)
            raise
        if self._live is not None:
            self._live.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what would go on for ever, then the rest."""
        self._running.forget(self._state.settings)
        if self._live is not None:
            await asyncio.to_thread(self._live.stop)
        await super().shutdown(sockets)
