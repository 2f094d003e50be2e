"""The two ways in: standard input and output of a child, or HTTP on this machine."""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Final

import anyio
from mcp.server.stdio import stdio_server

from backscroll.mcp.pool import RefreshedPool
from backscroll.mcp.server import RequestHandlers

if TYPE_CHECKING:
    import uvicorn

    from backscroll.httpd.connections import Connections

PORT: Final = 8421
PATH: Final = "/mcp"


@dataclass(frozen=True)
class StartedMcpServer:
    """A server that is ready."""

    url: str
    token: str
    server: "uvicorn.Server"

    def stop(self) -> None:
        """End it, from wherever."""
        self.server.should_exit = True


def serve_child(pool: RefreshedPool, on_signal: "Callable[[int, FrameType | None], object] | None" = None) -> None:
    """Serve the client that started us, until it closes our input.

    The process ends at once after Ctrl-C; `on_signal` is called instead, and must do so, also after SIGTERM and SIGHUP.
    """
    server = RequestHandlers(pool, is_child=True).server()

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    # The SDK waits for the next line in a thread that nothing but the line ends. Whatever is being written to the
    # library when the process ends at once, the next one goes on with.
    signal.signal(signal.SIGINT, on_signal or signal.SIG_DFL)
    if on_signal:
        signal.signal(signal.SIGTERM, on_signal)
        signal.signal(signal.SIGHUP, on_signal)
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
    """Serve this machine over HTTP until Ctrl-C, or until `stop`. Every client needs the token."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    from backscroll.httpd.connections import Connections
    from backscroll.httpd.guard import Access, Guard
    from backscroll.httpd.keys import AccessKeys
    from backscroll.httpd.listening import LOOPBACK, LOOPBACK_NAMES, listen, url_of
    from backscroll.httpd.server import server_config

    access = Access(needs_key=True, takes_links=False, keys=AccessKeys(token))
    listener = listen(LOOPBACK, [port])
    try:
        hosts = [f"{name}:{port}" for name in sorted(LOOPBACK_NAMES)]
        security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{name}" for name in hosts])
        app = RequestHandlers(pool, is_child=False).server().streamable_http_app(
            streamable_http_path=PATH, transport_security=security, max_sessions=100
        )  # fmt: skip
        server = uvicorn.Server(server_config(Guard(app, access), connections or Connections(), lifespan="on"))
        pool.start()
        on_ready(StartedMcpServer(f"{url_of(listener)}{PATH}", access.keys.token, server))
        server.run(sockets=[listener])
    finally:
        listener.close()
