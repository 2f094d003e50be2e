"""The listening socket, its host names and its URL."""

import errno
import ipaddress
import socket
from collections.abc import Sequence
from typing import Final

from backscroll.errors import BackscrollError, UsageError

LOOPBACK: Final = "127.0.0.1"
LOOPBACK_NAMES: Final = frozenset({LOOPBACK, "localhost", "[::1]"})
BACKLOG: Final = 1024
"""Connections that the system may queue for us."""


def listen(host: str, ports: Sequence[int]) -> socket.socket:
    """Return a socket on the first free port of these; 0 is any port."""
    family, address = _resolve(host)
    for port in ports:
        # With its protocol named, asyncio turns off Nagle's algorithm, which would delay small answers by 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, port))
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE or port == ports[-1]:
                raise _cannot_listen(host, port, error) from error
        else:
            return listener
    raise AssertionError("the last port either listens or raises")


def address_of(listener: socket.socket) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the address that the socket listens on."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0])


def names_of(host: str, listener: socket.socket) -> frozenset[str]:
    """Return the host names that lead to this server."""
    address = address_of(listener)
    names = set(LOOPBACK_NAMES) | {in_url(str(address)), in_url(host.lower())}
    if address.is_unspecified:
        names |= {socket.gethostname().lower(), in_url(_own_address(listener))}
    return frozenset(names - {""})


def url_of(listener: socket.socket) -> str:
    """Return the URL to open, without a trailing slash."""
    address = listener.getsockname()[0]
    host = _own_address(listener) if address_of(listener).is_unspecified else address
    return f"http://{in_url(host)}:{listener.getsockname()[1]}"


def in_url(host: str) -> str:
    """Return a host as written in a URL."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _resolve(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        resolved = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{host} is not an address of this machine", "leave out --host, or use 127.0.0.1") from error
    # `localhost` may be both; browsers try both, and IPv4 is everywhere.
    family, _, _, _, address = min(resolved, key=lambda entry: entry[0] != socket.AF_INET)
    return socket.AddressFamily(family), str(address[0])


def _cannot_listen(host: str, port: int, error: OSError) -> BackscrollError:
    if error.errno == errno.EADDRINUSE:
        return BackscrollError(f"port {port} is in use", "choose another port with --port")
    if error.errno in (errno.EACCES, errno.EPERM):
        return BackscrollError(f"only root may listen on port {port}", "choose a port above 1023 with --port")
    return BackscrollError(f"cannot listen at {host}: {error.strerror or error}", "choose another --host or --port")


def _own_address(listener: socket.socket) -> str:
    """Return the address that other machines use, if we listen on all. No packet is sent to find out."""
    with socket.socket(listener.family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((DOCUMENTATION[listener.family], 9))
        except OSError:
            return LOOPBACK if listener.family == socket.AF_INET else "::1"
        return str(probe.getsockname()[0])


DOCUMENTATION: Final = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses reserved for documentation, which no machine has."""
