"""State that all requests share: the parts of the server, and the keys under which a request carries its person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

from backscroll.sync.remotes import Remote
from backscroll.team.database.connections import Database
from backscroll.team.people.client_address import CountedAddress, Network, counted_address
from backscroll.team.people.oidc import OidcProvider
from backscroll.team.people.request_queue import RequestQueue

ASKER: Final = "backscroll.asker"
"""The key in the scope of a request for its person."""
RECOVERY: Final = "backscroll.recovery"
"""The key for a recovery that has to be confirmed before there is an asker."""
OWNER: Final = "backscroll.owner"
"""The key for the owner of the requested chat, if that is another person."""


@dataclass(frozen=True)
class TeamContext:
    """The parts of a running server."""

    database: Database
    objects: Remote
    url: str
    """The public address of the server, without a trailing slash."""
    oidc: OidcProvider | None = None
    """The identity provider; None if there is none."""
    trusted_proxies: Sequence[Network] = ()
    """The networks whose `X-Forwarded-For` is believed, to tell one client from another."""
    demo_links: Mapping[str, str] = field(default_factory=dict)
    """Secrets of a demo that let anyone sign in as one of its people: secret → handle."""
    queue: RequestQueue = field(default_factory=RequestQueue)
    """The queue of requests of people and of their agents."""
    queue_of_strangers: RequestQueue = field(default_factory=RequestQueue)
    """The queue of requests without a person, by address: signing in takes long, and must not take all threads."""

    @property
    def is_secure(self) -> bool:
        """Whether people reach it over TLS."""
        return self.url.startswith("https://")

    @property
    def cookie(self) -> str:
        """The name of the cookie of a session. Browsers share cookies between ports; two servers must not share one."""
        return "__Host-backscroll" if self.is_secure else f"backscroll-team-{urlsplit(self.url).port or 80}"

    @property
    def browser_cookie(self) -> str:
        """The name of the cookie that marks a browser in which a person has signed in before."""
        return self.cookie.replace("backscroll", "backscroll-browser")

    def counted_address(self, request: Request) -> CountedAddress:
        """The address that a request is counted by."""
        peer = request.client.host if request.client else ""
        return counted_address(peer, request.headers.getlist("x-forwarded-for"), self.trusted_proxies)
