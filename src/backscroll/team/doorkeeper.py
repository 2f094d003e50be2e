"""Middleware that finds out who asks, before any page or route of the viewer is reached.

A request is known by the cookie of a session or by the key of a person, never by an address or by a header that a proxy
may set. Nothing but the open paths answers a request whose asker is unknown, or who has to be confirmed first: such a
session reaches one page, which says why and what to do, and no route of the viewer.
"""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backscroll.errors import BackscrollError, UsageError
from backscroll.render.html.element import Html
from backscroll.team.context import ASKER, OWNER, RECOVERY, TeamContext, form_page
from backscroll.team.device_routes import bearer_of
from backscroll.team.pages.parts import refusal_page
from backscroll.team.pages.sign_in_pages import WAITING_PAGE
from backscroll.team.people import Person
from backscroll.team.rates import TooMuchError, count_request
from backscroll.team.recoveries import Recovery, recovery_of_session
from backscroll.team.sessions import person_of_session, use_of_key
from backscroll.team.turns import Turns
from backscroll.web.api.errors import PREFIX, problem_response
from backscroll.web.asker import ASKER as ASKER_HANDLE
from backscroll.web.events import STILL_ALLOWED
from backscroll.web.layout import ASKER_LINKS
from backscroll.web.reader_zone import COOKIE as ZONE_COOKIE
from backscroll.web.reader_zone import READER_ZONE, zone_named

OPEN: Final = ("/static/", "/sync/v1/", "/oidc/", "/shared-link/")
OPEN_PAGES: Final = frozenset({"/sign-in", "/welcome", "/healthz", "/readyz", "/favicon.ico"})
MCP: Final = "/mcp"
FOR_WAITING: Final = OPEN_PAGES | {WAITING_PAGE, "/sign-out"}
"""All that a session reaches whose recovery has to be confirmed."""
ONLY_WITH_A_KEY: Final = frozenset({"/metrics", MCP})
SAFE: Final = frozenset({"GET", "HEAD"})

AskerSeen = Callable[[Scope, Person], None]
"""Prepares a request for the person who asks."""


class Doorkeeper:
    """Middleware around the application."""

    def __init__(
        self,
        app: ASGIApp,
        context: TeamContext,
        links: Callable[[Person, str, str], Html],
        prepare: AskerSeen = lambda _, __: None,
    ) -> None:
        """`links` are what the bar of every page has for a person."""
        self._app, self._context, self._links, self._prepare = app, context, links, prepare
        self._turns = Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find the asker, then answer or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        if path.startswith(OPEN):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            person = await run_in_threadpool(self._asker, request)
        except TooMuchError as error:
            headers = {"retry-after": str(error.seconds)}
            await problem_response(error, HTTPStatus.TOO_MANY_REQUESTS, headers)(scope, receive, send)
            return
        except BackscrollError as error:
            await problem_response(error, HTTPStatus.SERVICE_UNAVAILABLE)(scope, receive, send)
            return
        if isinstance(person, Recovery):
            if path not in FOR_WAITING:
                await _refuse_unconfirmed(request, person)(scope, receive, send)
                return
            scope[RECOVERY] = person
            await self._app(scope, receive, send)
            return
        is_barred = path in ONLY_WITH_A_KEY and "authorization" not in request.headers
        if is_barred or (person is None and path not in OPEN_PAGES):
            await _refuse(request)(scope, receive, send)
            return
        if person is None:
            await self._app(scope, receive, send)
            return
        # A form is short, and its sender may be slow; agents have rates and places of their own, and may wait for SQL.
        is_question = request.method in SAFE and path != MCP
        end_turn = await self._turns.take(person.id) if is_question else _nothing

        async def leave(message: Message) -> None:
            end_turn()  # the answer is made: how long its reader takes, or a stream lasts, holds up nothing
            await send(message)

        try:
            scope[ASKER] = person
            scope[STILL_ALLOWED] = partial(self._is_still, request, person)
            await run_in_threadpool(self._prepare, scope, person)
            ASKER_HANDLE.set(person.handle)
            READER_ZONE.set(zone_named(unquote(request.cookies.get(ZONE_COOKIE, ""))))
            ASKER_LINKS.set(self._links(person, path, scope.get(OWNER, "")))
            await self._app(scope, receive, leave)
        finally:
            end_turn()

    def _is_still(self, request: Request, person: Person) -> bool:
        """Whether the session or key of a request still works for this person."""
        try:
            with self._context.database.transaction() as connection:
                if "authorization" in request.headers:
                    use = use_of_key(connection, bearer_of(request))
                    now = use.person if use else None
                else:
                    now = person_of_session(connection, request.cookies.get(self._context.cookie, ""))
        except BackscrollError:  # the page asks again, and then finds out
            return False
        return now is not None and now.id == person.id

    def _asker(self, request: Request) -> Person | Recovery | None:
        """Who asks, or the recovery that must be confirmed first.

        A key counts alone, never together with a cookie, and only for reading through the API.
        """
        with self._context.database.transaction() as connection:
            if "authorization" in request.headers:
                found = use_of_key(connection, bearer_of(request))
                path = request.url.path
                is_agent = path == MCP
                needed = "metrics" if path == "/metrics" else "mcp" if is_agent else "read"
                is_api = is_agent or (path.startswith((PREFIX, "/metrics")) and request.method in SAFE)
                if found is None or needed not in found.scopes or not is_api:
                    return None
                if needed == "metrics" and not found.person.is_administrator:  # who made the key is one no more
                    return None
                count_request(connection, found)
                return found.person
            secret = request.cookies.get(self._context.cookie)
            if not secret:
                return None
            return person_of_session(connection, secret) or recovery_of_session(connection, secret)


def _refuse_unconfirmed(request: Request, waiting: Recovery) -> Response:
    """The account is empty until it is confirmed, and says so."""
    is_page = request.method in SAFE and not request.url.path.startswith((PREFIX, MCP, "/metrics"))
    if is_page and request.headers.get("sec-fetch-dest", "document") == "document":
        return RedirectResponse(WAITING_PAGE, HTTPStatus.SEE_OTHER)
    error = UsageError(
        f"nothing of the account of {waiting.handle} is shown until it is confirmed", f"open {WAITING_PAGE} to see how"
    )
    return problem_response(error, HTTPStatus.FORBIDDEN)


def _nothing() -> None:
    """There is no turn to end."""


def _refuse(request: Request) -> Response:
    path = request.url.path
    is_page = not path.startswith(PREFIX) and path not in ONLY_WITH_A_KEY
    shown_as = request.headers.get("sec-fetch-dest", "document" if request.method in SAFE else "")
    if is_page and shown_as == "document":
        if request.method in SAFE:
            address = path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"/sign-in?next={quote(address, safe='')}", HTTPStatus.SEE_OTHER)
        error = UsageError("you are no longer signed in: nothing was changed", "sign in, and try again")
        return HTMLResponse(refusal_page(error, form_page(request) or "/"), HTTPStatus.UNAUTHORIZED)
    error = UsageError("not signed in", "sign in, or send a key as Authorization: Bearer KEY")
    return problem_response(error, HTTPStatus.UNAUTHORIZED, {"www-authenticate": "Bearer"})
