"""The two ways in: standard input and output of a child, or HTTP on this machine."""

import errno
import re
import secrets
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
from mcp.server.stdio import stdio_server

from backscroll.errors import BackscrollError, UsageError
from backscroll.mcp.desk import Desk
from backscroll.mcp.server import Answering

if TYPE_CHECKING:
    import uvicorn

LOOPBACK: Final = "127.0.0.1"
PORT: Final = 8421
PATH: Final = "/mcp"
SHORTEST_TOKEN: Final = 16
PATIENCE: Final = 2
"""How long an answer may go on after Ctrl-C, in seconds."""


@dataclass(frozen=True)
class Served:
    """A server that is ready."""

    url: str
    token: str
    server: "uvicorn.Server"

    def stop(self) -> None:
        """End it, from wherever."""
        self.server.should_exit = True


def serve_child(desk: Desk) -> None:
    """Serve the client that started us, until it closes our input."""
    server = Answering(desk, is_child=True).server()

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    # The SDK waits for the next line in a thread that nothing but the line ends. Whatever is being written to the
    # library when the process ends at once, the next one goes on with.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    desk.start()
    anyio.run(run)


def serve_http(
    desk: Desk,
    *,
    port: int = PORT,
    token: str | None = None,
    on_ready: Callable[[Served], object] = lambda _: None,
) -> None:
    """Serve this machine over HTTP until Ctrl-C, or until `stop`. Nobody comes in without the token."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    from backscroll.mcp.access import NAMES, Guard

    token = checked(token) if token is not None else secrets.token_urlsafe(24)
    listener = _listen(port)
    try:
        hosts = [f"{name}:{port}" for name in NAMES]
        security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{name}" for name in hosts])
        app = Answering(desk, is_child=False).server().streamable_http_app(
            streamable_http_path=PATH, transport_security=security, max_sessions=100
        )  # fmt: skip
        config = uvicorn.Config(
            Guard(app, port, token),
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="on",
            access_log=False,
            log_config=None,
            log_level="error",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=PATIENCE,
        )
        server = uvicorn.Server(config)
        url = f"http://{LOOPBACK}:{port}{PATH}"
        desk.start()
        on_ready(Served(url, token, server))
        server.run(sockets=[listener])
    finally:
        listener.close()


def checked(token: str) -> str:
    """A token that can be sent and not be guessed."""
    if TOKEN.fullmatch(token) is None or len(token) < SHORTEST_TOKEN:
        raise UsageError(
            f"a token has {SHORTEST_TOKEN} letters, digits or -._~+/= at least",
            "leave --token out to have a random one",
        )
    return token


def _listen(port: int) -> socket.socket:
    # With its protocol: only then asyncio sends at once what is small, and does not wait 40 ms for more.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise BackscrollError(f"port {port} is in use", "name another with --port") from error
        raise BackscrollError(
            f"cannot listen on port {port}: {error.strerror or error}", "name another with --port"
        ) from error
    return listener


TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]+")
"""What a bearer token may be made of."""
