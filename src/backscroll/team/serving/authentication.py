"""Middleware that identifies the person of a request, before any page or route of the viewer is reached.

A request is identified by the cookie of a session or by the key of a person, never by an address or by a header that a
proxy may set. Only the open paths answer a request of an unknown person. A session with a recovery that has to be
confirmed reaches one page, which says why and what to do, and no route of the viewer.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, unquote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backscroll.errors import BackscrollError, UsageError
from backscroll.render.html.element import Html, el
from backscroll.team.arrival.device_routes import bearer_of
from backscroll.team.pages.parts import refusal_page
from backscroll.team.pages.requests import form_page
from backscroll.team.pages.sign_in_pages import WAITING_PAGE
from backscroll.team.people.accounts import Person
from backscroll.team.people.context import ASKER, OWNER, RECOVERY, TeamContext
from backscroll.team.people.rates import TooMuchError, count_request
from backscroll.team.people.recoveries import Recovery, recovery_of_session
from backscroll.team.people.sessions import person_of_session, use_of_key
from backscroll.team.reading.remote_mcp import MCP
from backscroll.web.api.errors import PREFIX, problem_response
from backscroll.web.asker import ASKER as ASKER_HANDLE
from backscroll.web.events import STILL_ALLOWED
from backscroll.web.layout import ASKER_LINKS
from backscroll.web.reader_zone import COOKIE as ZONE_COOKIE
from backscroll.web.reader_zone import READER_ZONE, zone_named

LINKS: Final = "/shared-link/"
OPEN: Final = ("/static/", "/sync/v1/", "/oidc/")
SIGN_IN: Final = el("a", "Sign in", href="/sign-in")
"""What stands in the bar for those who have not."""
STRANGERS: Final = 0
"""The number in the request queue for everyone without an account, who open links."""
OPEN_PAGES: Final = frozenset({"/sign-in", "/welcome", "/healthz", "/readyz", "/favicon.ico"})
FOR_WAITING: Final = OPEN_PAGES | {WAITING_PAGE, "/sign-out"}
"""All that a session can reach while its recovery has to be confirmed."""
ONLY_WITH_A_KEY: Final = frozenset({"/metrics", MCP})
SAFE: Final = frozenset({"GET", "HEAD"})

PrepareRequest = Callable[[Scope, Person], None]
"""Prepares a request for the person who asks."""


class Authentication:
    """Middleware around the application that answers only requests of known people."""

    def __init__(
        self,
        app: ASGIApp,
        context: TeamContext,
        links: Callable[[Person, str, str], Html],
        prepare: PrepareRequest = lambda _, __: None,
    ) -> None:
        """`links` makes the links for a person in the bar of every page."""
        self._app, self._context, self._links, self._prepare = app, context, links, prepare
        self._queue = context.queue

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Identify the person, then answer or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        ASKER_LINKS.set(SIGN_IN)  # until it is known who asks
        if path.startswith(LINKS):
            await self._answer_in_turn(STRANGERS, scope, receive, send)
            return
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
        if request.method not in SAFE and path != MCP:
            try:
                receive = await _read(receive)
            except HTTPException as longer:  # than the guard allows
                too_large = UsageError("the request is too large", "send less at once")
                await problem_response(too_large, longer.status_code)(scope, receive, send)
                return

        async def prepare() -> None:
            scope[ASKER] = person
            scope[STILL_ALLOWED] = partial(self._is_still_valid, request, person)
            await run_in_threadpool(self._prepare, scope, person)
            ASKER_HANDLE.set(person.handle)
            READER_ZONE.set(zone_named(unquote(request.cookies.get(ZONE_COOKIE, ""))))
            ASKER_LINKS.set(self._links(person, path, scope.get(OWNER, "")))

        # Agents take turns where it is known what they call: SQL has places of its own, and may wait.
        await self._answer_in_turn(None if path == MCP else person.id, scope, receive, send, prepare)

    async def _answer_in_turn(
        self,
        person: int | None,
        scope: Scope,
        receive: Receive,
        send: Send,
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Answer when it is the turn of a person, or at once without a person."""
        end_turn = _nothing if person is None else await self._queue.wait_turn(person)

        async def leave(message: Message) -> None:
            end_turn()  # the answer is made: how long its reader takes, or a stream lasts, holds up nothing
            await send(message)

        try:
            if prepare is not None:
                await prepare()
            await self._app(scope, receive, leave)
        finally:
            end_turn()

    def _is_still_valid(self, request: Request, person: Person) -> bool:
        """Whether the session or key of a request still works for this person."""
        try:
            with self._context.database.transaction() as connection:
                if "authorization" in request.headers:
                    use = use_of_key(connection, bearer_of(request))
                    current = use.person if use else None
                else:
                    current = person_of_session(connection, request.cookies.get(self._context.cookie, ""))
        except BackscrollError:  # the page asks again, and then finds out
            return False
        return current is not None and current.id == person.id

    def _asker(self, request: Request) -> Person | Recovery | None:
        """Return the person of a request, or the recovery that must be confirmed first.

        A key counts alone, never together with a cookie, and only for reading through the API.
        """
        with self._context.database.transaction() as connection:
            if "authorization" in request.headers:
                use = use_of_key(connection, bearer_of(request))
                path = request.url.path
                is_agent = path == MCP
                needed = "metrics" if path == "/metrics" else "mcp" if is_agent else "read"
                is_api = is_agent or (path.startswith((PREFIX, "/metrics")) and request.method in SAFE)
                if use is None or needed not in use.scopes or not is_api:
                    return None
                if needed == "metrics" and not use.person.is_administrator:  # who made the key is one no more
                    return None
                count_request(connection, use)
                return use.person
            secret = request.cookies.get(self._context.cookie)
            if not secret:
                return None
            return person_of_session(connection, secret) or recovery_of_session(connection, secret)


async def _read(receive: Receive) -> Receive:
    """Read a form, which the guard keeps short, before its turn: its sender may be slow."""
    messages = [await receive()]
    while messages[-1].get("more_body"):
        messages.append(await receive())

    async def replay() -> Message:
        return messages.pop(0) if messages else await receive()

    return replay


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
