"""Where a request comes from, if a proxy stands before the server.

Only the part of `X-Forwarded-For` that proxies in the trusted networks wrote is believed. It is used to slow down
guessing, never to know who asks.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from backscroll.errors import UsageError

Network: TypeAlias = IPv4Network | IPv6Network


def networks_of(texts: Iterable[str]) -> tuple[Network, ...]:
    """The networks that are written like this: `10.0.0.0/8`, or one address."""
    found: list[Network] = []
    for text in texts:
        try:
            found.append(ip_network(text.strip(), strict=False))
        except ValueError as error:
            raise UsageError(f"{text} is not a network", "write one as 10.0.0.0/8, or an address") from error
        if found[-1].prefixlen == 0:
            raise UsageError(
                f"{text} covers every address: anyone could forge the header", "name the proxy's own network"
            )
    return tuple(found)


def client_address(peer: str, forwarded: Sequence[str], trusted: Sequence[Network]) -> str:
    """The address of the client: the last one that no trusted proxy has. `forwarded` are the headers, in order."""
    chain = [part.strip() for header in forwarded for part in header.split(",")]
    address = peer
    while _is_trusted(address, trusted) and chain:
        address = chain.pop()
    return address if _is_address(address) else peer


def _is_trusted(address: str, trusted: Sequence[Network]) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found.version == network.version and found in network for network in trusted)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
