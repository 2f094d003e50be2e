"""The transports: stdio for a client that started us, or HTTP on this machine."""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Final

import anyio
from mcp.server.stdio import stdio_server

from backscroll.mcp.pool import RefreshedPool
from backscroll.mcp.server import RequestHandlers
from backscroll.system import ENDING_SIGNALS

if TYPE_CHECKING:
    import uvicorn

    from backscroll.httpd.connections import Connections

PORT: Final = 8421
PATH: Final = "/mcp"


@dataclass(frozen=True)
class StartedMcpServer:
    """A server that accepts requests."""

    url: str
    token: str
    server: "uvicorn.Server"

    def stop(self) -> None:
        """Stop the server, from any thread."""
        self.server.should_exit = True


def serve_child(pool: RefreshedPool, on_signal: "Callable[[int, FrameType | None], object] | None" = None) -> None:
    """Serve the client that started us, until it closes our standard input.

    Ctrl-C ends the process at once. If `on_signal` is given, it is called instead, also for SIGTERM and SIGHUP, and
    must end the process.
    """
    server = RequestHandlers(pool, is_child=True).server()

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    # The SDK reads lines in a thread that only another line can end, so a signal must end the process at once. An
    # interrupted update of the library is continued by the next process.
    signal.signal(signal.SIGINT, on_signal or signal.SIG_DFL)
    if on_signal:
        for number in ENDING_SIGNALS:
            signal.signal(number, on_signal)
    pool.start()
    anyio.run(run)


def serve_http(
    pool: RefreshedPool,
    *,
    port: int = PORT,
    token: str | None = None,
    connections: "Connections | None" = None,
    on_ready: Callable[[StartedMcpServer], object] = lambda _: None,
) -> None:
    """Serve this machine over HTTP until Ctrl-C or `stop`. Every client needs the token."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    from backscroll.httpd.connections import Connections
    from backscroll.httpd.guard import Access, Guard
    from backscroll.httpd.keys import AccessKeys
    from backscroll.httpd.listening import LOOPBACK, listen, url_of
    from backscroll.httpd.server import server_config

    access = Access(needs_key=True, takes_links=False, keys=AccessKeys(token))
    listener = listen(LOOPBACK, [port])
    try:
        # The guard checks host names and origins, for this server as for the viewer.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        app = RequestHandlers(pool, is_child=False).server().streamable_http_app(
            streamable_http_path=PATH, transport_security=security, max_sessions=100
        )  # fmt: skip
        server = uvicorn.Server(server_config(Guard(app, access), connections or Connections(), lifespan="on"))
        pool.start()
        on_ready(StartedMcpServer(f"{url_of(listener)}{PATH}", access.keys.token, server))
        server.run(sockets=[listener])
    finally:
        listener.close()
