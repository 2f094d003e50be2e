"""Requests for pages of the server: their person, transaction and form."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import parse_qsl, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from backscroll.errors import BackscrollError, NothingFound
from backscroll.render.html.element import Html
from backscroll.team.pages.parts import refusal_page
from backscroll.team.people.accounts import Person
from backscroll.team.people.client_address import CountedAddress
from backscroll.team.people.context import ASKER, TeamContext
from backscroll.web.api.errors import retry_headers
from backscroll.web.layout import error_page
from backscroll.web.requests import status_of

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection


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
    """The fields of a submitted form that may occur several times."""
    before: Any = None
    """The result of `before`, which ran outside of the transaction (`team_page`)."""

    @property
    def person(self) -> Person:
        """The signed-in person. Pages that can be seen without signing in must not use it."""
        if self.asker is None:
            not_found()
        return self.asker

    def administrator(self) -> Person:
        """Return the signed-in person if they are an administrator; for others the page does not exist."""
        return self.person if self.person.is_administrator else not_found()

    @property
    def counted_address(self) -> CountedAddress:
        """The address by which the request is counted."""
        return self.context.counted_address(self.http)

    def get(self, name: str, default: str = "") -> str:
        """Return a parameter of the query string."""
        return str(self.http.query_params.get(name, default))

    def number(self, name: str) -> int:
        """Return a number in the path."""
        value = str(self.http.path_params[name])
        return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else not_found()


def not_found() -> NoReturn:
    """Raise NothingFound, as if there were nothing at this address."""
    raise NothingFound("there is nothing at this address", "check the address")


def do_nothing(*_: object) -> None:
    """Do nothing."""


def team_page(
    answer: Callable[[TeamRequest], Html | Response],
    before: Callable[[Request, TeamContext], object] = do_nothing,
) -> Callable[[Request], Awaitable[Response]]:
    """Make a handler for Starlette of a function that makes a page. It runs in a thread, in one transaction.

    Slow work without a transaction, such as a request to another server, is done in `before`.
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
                prepared = before(request, context)
                with context.database.transaction(asker.org if asker else None) as connection:
                    page = answer(TeamRequest(request, context, connection, asker, dict(fields), lists, prepared))
            except BackscrollError as error:
                back = form_page(request)
                page = error_page(error, back=back) if ASKER in request.scope else refusal_page(error)
                return HTMLResponse(page, status_of(error), retry_headers(error))
            return HTMLResponse(page) if isinstance(page, Html) else page

        end_turn = await _wait_turn(request, context, is_slow=before is not do_nothing)
        try:
            return await run_in_threadpool(run)
        finally:
            end_turn()

    return endpoint


async def _wait_turn(request: Request, context: TeamContext, *, is_slow: bool) -> Callable[[], None]:
    """Wait for the turn of a stranger, whose request has been read; return a function that ends it.

    `Authentication` gives people their turns. A request that first asks another server must not hold up anyone.
    """
    if is_slow or ASKER in request.scope:
        return do_nothing
    return await context.queue_of_strangers.wait_turn(context.counted_address(request).certain)


def form_page(request: Request) -> str:
    """Return the page of this server that a form was sent from; empty for other requests."""
    referer = urlsplit(request.headers.get("referer", ""))
    is_here = referer.netloc == request.headers.get("host", "")
    return referer.path if request.method == "POST" and is_here and referer.path.startswith("/") else ""


def see(address: str) -> Response:
    """Redirect to another page after a form."""
    return RedirectResponse(address, HTTPStatus.SEE_OTHER)
