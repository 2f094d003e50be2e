"""What all requests to the server share, and what a page of it is given."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import parse_qsl, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from backscroll.errors import BackscrollError, NothingFound
from backscroll.render.html.element import Html
from backscroll.sync.remotes import Remote
from backscroll.team.database import Database
from backscroll.team.oidc import OidcProvider
from backscroll.team.pages.parts import refusal_page
from backscroll.team.people import Person
from backscroll.team.proxies import CountedAddress, Network, counted_address
from backscroll.web.api.errors import retry_headers
from backscroll.web.layout import error_page
from backscroll.web.requests import status_of

if TYPE_CHECKING:
    from backscroll.team.database import Connection

ASKER: Final = "backscroll.asker"
"""Where in the scope of a request the asker stands."""
RECOVERY: Final = "backscroll.recovery"
"""Where a recovery stands that has to be confirmed before there is an asker."""
OWNER: Final = "backscroll.owner"
"""Where it says whose chat is asked for, if it is another person's."""


@dataclass(frozen=True)
class TeamContext:
    """The parts of a running server."""

    database: Database
    objects: Remote
    url: str
    """Where people find it, without a trailing slash."""
    oidc: OidcProvider | None = None
    """The identity provider; None if there is none."""
    trusted_proxies: Sequence[Network] = ()
    """The networks whose `X-Forwarded-For` is believed, to tell one client from another."""
    demo_links: Mapping[str, str] = field(default_factory=dict)
    """In a demo, the secrets that let anyone sign in as one of its people: secret → handle."""

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
        """The name of the cookie by which a browser is known in which a person has signed in before."""
        return self.cookie.replace("backscroll", "backscroll-browser")

    def counted_address(self, request: Request) -> CountedAddress:
        """The address that a request is counted by."""
        peer = request.client.host if request.client else ""
        return counted_address(peer, request.headers.getlist("x-forwarded-for"), self.trusted_proxies)


@dataclass(frozen=True)
class TeamRequest:
    """A request for a page, in a transaction."""

    http: Request
    context: TeamContext
    connection: "Connection"
    asker: Person | None
    form: Mapping[str, str] = field(default_factory=dict)
    """The fields of a submitted form."""
    form_lists: Mapping[str, list[str]] = field(default_factory=dict)
    """The same, for fields that may stand several times."""
    before: Any = None
    """What the page did before the transaction (`team_page`)."""

    @property
    def person(self) -> Person:
        """Who asks. Pages that can be seen without signing in must not use it."""
        if self.asker is None:
            not_found()
        return self.asker

    def administrator(self) -> Person:
        """Who asks, if that is an administrator; for others the page does not exist."""
        return self.person if self.person.is_administrator else not_found()

    @property
    def counted_address(self) -> CountedAddress:
        """The address that it is counted by."""
        return self.context.counted_address(self.http)

    def get(self, name: str, default: str = "") -> str:
        """A parameter in the query string."""
        return str(self.http.query_params.get(name, default))

    def number(self, name: str) -> int:
        """A number in the path."""
        value = str(self.http.path_params[name])
        return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else not_found()


def not_found() -> NoReturn:
    """As if there were nothing at this address."""
    raise NothingFound("there is nothing at this address", "check the address")


def team_page(
    answer: Callable[[TeamRequest], Html | Response],
    before: Callable[[Request, TeamContext], object] = lambda _, __: None,
) -> Callable[[Request], Awaitable[Response]]:
    """A handler for Starlette out of a function that makes a page. It runs in a thread, in one transaction.

    What takes long and needs no transaction, such as a request to another server, is done in `before`.
    """

    @wraps(answer)
    async def endpoint(request: Request) -> Response:
        context: TeamContext = request.app.state.team
        body = await request.body() if request.method == "POST" else b""
        fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        lists: dict[str, list[str]] = {}
        for name, value in fields:
            lists.setdefault(name, []).append(value)

        def run() -> Response:
            try:
                asker: Person | None = request.scope.get(ASKER)
                done = before(request, context)
                with context.database.transaction(asker.org if asker else None) as connection:
                    shown = answer(TeamRequest(request, context, connection, asker, dict(fields), lists, done))
            except BackscrollError as error:
                back = form_page(request)
                shown = error_page(error, back=back) if ASKER in request.scope else refusal_page(error)
                return HTMLResponse(shown, status_of(error), retry_headers(error))
            return HTMLResponse(shown) if isinstance(shown, Html) else shown

        return await run_in_threadpool(run)

    return endpoint


def form_page(request: Request) -> str:
    """The page of this server that a form was sent from; nothing for other requests."""
    sent = urlsplit(request.headers.get("referer", ""))
    is_here = sent.netloc == request.headers.get("host", "")
    return sent.path if request.method == "POST" and is_here and sent.path.startswith("/") else ""


def see(address: str) -> Response:
    """Go on to another page after a form."""
    return RedirectResponse(address, HTTPStatus.SEE_OTHER)
