"""The server: a port to listen on, who may come in, and an end that waits for nobody."""

import asyncio
import errno
import gc
import ipaddress
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import uvicorn

from backscroll.errors import BackscrollError, UsageError
from backscroll.web.app import make_app
from backscroll.web.desk import Desk
from backscroll.web.live import Live
from backscroll.web.running import Running, link_to
from backscroll.web.security import LOOPBACK_NAMES, Access
from backscroll.web.tokens import Keys

LOOPBACK: Final = "127.0.0.1"
FIRST_PORT: Final = 8420
PORTS: Final = 20
"""How many are tried before the system is asked for any."""
PATIENCE: Final = 2
"""How long an answer may go on after Ctrl-C, in seconds."""


@dataclass(frozen=True)
class Served:
    """A server that is ready."""

    url: str
    """Its address, without a slash at the end."""
    access: Access
    server: uvicorn.Server
    running: Running

    def first_link(self, path: str = "/") -> str:
        """What to open first; with a code that is good once, where a key is needed."""
        return link_to(self.url, path, self.access.keys.first_code() if self.access.needs_key else None)

    def stop(self) -> None:
        """End it, from wherever."""
        self.server.should_exit = True


def serve(
    desk: Desk,
    *,
    host: str = LOOPBACK,
    port: int | None = None,
    token: str | None = None,
    follows: bool = True,
    on_ready: Callable[[Served], object] = lambda _: None,
) -> None:
    """Serve until Ctrl-C, or until `stop`. Without a port, the first that is free; `on_ready` must not wait.

    Meanwhile the library is brought up to date and kept so, unless it is only to be shown as it is.
    """
    live = Live(desk)
    listener = listen(host, port)
    try:
        access = access_for(host, listener, token)
        chosen = listener.getsockname()[1]
        url = f"http://{_shown(listener)}:{chosen}"
        running = Running.of(desk, url, host, chosen, access)
        config = uvicorn.Config(
            make_app(desk, access, live),
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            access_log=False,  # addresses are what somebody reads and searches, and the first one has a key in it
            log_config=None,
            log_level="error",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=PATIENCE,
        )
        # Chats that are open are hundreds of thousands of objects that stay: to look through them often costs a lot.
        gc.set_threshold(50_000, 20, 50)
        server = _Server(config, desk, running, live if follows else None)
        server.when_ready = lambda: on_ready(Served(url, access, server, running))
        server.run(sockets=[listener])
    finally:
        listener.close()


class _Server(uvicorn.Server):
    """A server that is known to others while it runs, and whose streams end before it does."""

    when_ready: Callable[[], object]

    def __init__(self, config: uvicorn.Config, desk: Desk, running: Running, live: Live | None) -> None:
        super().__init__(config)
        self._desk = desk
        self._running = running
        self._live = live

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and then do the rest: nobody waits for it."""
        await super().startup(sockets)
        with suppress(OSError):  # a library that cannot be written to can still be read
            self._running.write(self._desk.settings)
        try:
            self.when_ready()
        except BaseException:
            self._running.forget(self._desk.settings)
            raise
        if self._live is not None:
            self._live.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what would go on for ever, then the rest."""
        self._running.forget(self._desk.settings)
        if self._live is not None:
            await asyncio.to_thread(self._live.stop)
        await super().shutdown(sockets)


def listen(host: str, port: int | None) -> socket.socket:
    """A socket that listens; without a port on the first that is free."""
    family, address = _resolved(host)
    candidates = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + PORTS), 0]
    for candidate in candidates:
        # With its protocol: only then asyncio sends at once what is small, and does not wait 40 ms for more.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, candidate))
            listener.listen(128)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE or candidate == candidates[-1]:
                raise _cannot_listen(host, candidate, error) from error
        else:
            return listener
    raise AssertionError("the last candidate either listens or raises")


def access_for(host: str, listener: socket.socket, token: str | None) -> Access:
    """Who is let in: whoever is on this machine; elsewhere only who has a key."""
    address = ipaddress.ip_address(listener.getsockname()[0].partition("%")[0])
    names = set(LOOPBACK_NAMES) | {_in_address(str(address)), _in_address(host.lower())}
    if address.is_unspecified:
        names |= {socket.gethostname().lower(), _in_address(_own_address(listener))}
    return Access(
        names=frozenset(names - {""}),
        any_address=address.is_unspecified,
        needs_key=not address.is_loopback or token is not None,
        keys=Keys(token),
    )


def _resolved(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{host} is not an address of this machine", "leave --host out, or name 127.0.0.1") from error
    # `localhost` may be both; browsers try both, and the old one is everywhere.
    family, _, _, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
    return socket.AddressFamily(family), str(address[0])


def _cannot_listen(host: str, port: int, error: OSError) -> BackscrollError:
    if error.errno == errno.EADDRINUSE:
        return BackscrollError(f"port {port} is in use", "leave --port out to have a free one, or name another")
    if error.errno in (errno.EACCES, errno.EPERM):
        return BackscrollError(f"port {port} is not for every user", "name one above 1023 with --port")
    return BackscrollError(f"cannot listen at {host}: {error.strerror or error}", "leave --host out")


def _shown(listener: socket.socket) -> str:
    """What stands in an address for people."""
    address = listener.getsockname()[0]
    return _in_address(_own_address(listener) if ipaddress.ip_address(address).is_unspecified else address)


def _own_address(listener: socket.socket) -> str:
    """The address that others see of us, where we listen on all of them. Nothing is sent to find out."""
    far = DOCUMENTATION[listener.family]
    with socket.socket(listener.family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((far, 9))
        except OSError:
            return "127.0.0.1" if listener.family == socket.AF_INET else "::1"
        return str(probe.getsockname()[0])


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


DOCUMENTATION: Final = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses that belong to nobody."""
