"""The address that a request comes from, also through a proxy.

Only the part of `X-Forwarded-For` that proxies in the trusted networks wrote is believed. The address is used to
slow down guessing, never to identify people.

Without a trusted network, everyone behind a proxy has its address, and must not be counted as one. So the last address
in the header, which the proxy added, is counted together with the proxy's own. A stranger who reaches the server past
the proxy could make it up, and gains no more than by having many addresses.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple, TypeAlias

from backscroll.errors import UsageError

IPV4: Final = 4
Network: TypeAlias = IPv4Network | IPv6Network


class CountedAddress(NamedTuple):
    """The address of a client, as far as it is known; of IPv6, its network."""

    address: str
    through: str = ""
    """The address of the proxy on whose word it is, if that is not a trusted one."""

    @property
    def certain(self) -> str:
        """What no stranger can make up."""
        return self.through or self.address


def networks_of(texts: Iterable[str]) -> tuple[Network, ...]:
    """Parse networks such as `10.0.0.0/8`, or single addresses."""
    networks: list[Network] = []
    for text in texts:
        try:
            networks.append(ip_network(text.strip(), strict=False))
        except ValueError as error:
            raise UsageError(f"{text} is not a network", "write one as 10.0.0.0/8, or an address") from error
        if networks[-1].prefixlen == 0:
            raise UsageError(
                f"{text} covers every address: anyone could forge the header", "name the proxy's own network"
            )
    return tuple(networks)


def client_address(peer: str, forwarded: Sequence[str], trusted: Sequence[Network]) -> str:
    """The address of the client: the last one that no trusted proxy has. `forwarded` are the headers, in order."""
    chain = [part.strip() for header in forwarded for part in header.split(",")]
    address = peer
    while _is_trusted(address, trusted) and chain:
        address = chain.pop()
    return address if _is_address(address) else peer


def counted_address(peer: str, forwarded: Sequence[str], trusted: Sequence[Network]) -> CountedAddress:
    """Return the address by which a request is counted."""
    address = client_address(peer, forwarded, trusted)
    last = forwarded[-1].rpartition(",")[2].strip() if forwarded else ""
    if address == peer and not _is_trusted(peer, trusted) and _is_address(last):
        return CountedAddress(f"{_network(peer)} {_network(last)}", _network(peer))
    return CountedAddress(_network(address))


def _network(address: str) -> str:
    """The network of one customer: a provider gives each of them 2⁶⁴ addresses of IPv6."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == IPV4:
        return str(parsed)
    return str(parsed.ipv4_mapped or ip_network(f"{parsed}/64", strict=False))


def _is_trusted(address: str, trusted: Sequence[Network]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed.version == network.version and parsed in network for network in trusted)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
