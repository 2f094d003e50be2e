"""The wall around the application: whoever asks comes through here, and every answer leaves through here.

It stands around all routes, also those that are not there: which names we are called by (DNS rebinding), what other
sites may do (nothing but follow a link), who needs a key, how much may be sent, and what a page is allowed to do.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backscroll.render.html.element import el, join, trusted
from backscroll.web.api.errors import Refusal, problem_response
from backscroll.web.tokens import Keys

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'none'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
OPENER: Final = "cross-origin-opener-policy"
"""The one header that browsers complain about where they do not heed it."""
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    OPENER: "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""On every answer, whatever the answer itself says. No other site is told where somebody comes from; we are: without a
referrer a form says `Origin: null`, which could be anybody's."""
LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
LARGEST_BODY: Final = 1024 * 1024
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
HTTP_PORT: Final = 80
CHALLENGE: Final = "backscroll-challenge"
PROOF: Final = "backscroll-proof"


@dataclass(frozen=True)
class Access:
    """Who is let in."""

    names: frozenset[str] = LOOPBACK_NAMES
    """What we may be called in an address, without the port; nobody gets in where there are none."""
    any_address: bool = False
    """Also by any address of numbers: where we listen on all of them. Rebinding needs a name, so these are safe."""
    needs_key: bool = False
    keys: Keys = field(default_factory=Keys)

    def is_called(self, host: str, port: int) -> bool:
        """Whether a Host header means us."""
        name = host.removesuffix(f":{port}") if host.endswith(f":{port}") else host if port == HTTP_PORT else ""
        return name in self.names or (self.any_address and bool(self.names) and _is_address(name))


class Guard:
    """The application behind the wall."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Asking(scope)
        leave = _Leaving(request, self.access, send)
        try:
            answer = self._check(request)
        except Refusal as refusal:
            answer = _refused(request, refusal)
        if answer is not None:
            await answer(scope, receive, leave)
        else:
            await self.app(scope, _Capped(receive), leave)

    def _check(self, request: "Asking") -> Response | None:
        """Nothing if the application may answer; else the answer."""
        if not self.access.is_called(request.host, request.port):
            raise Refusal(
                HTTPStatus.MISDIRECTED_REQUEST, "this is not a name of this server", "use the address that it printed"
            )
        if request.length > LARGEST_BODY:
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "that is too much at once", f"send {LARGEST_BODY} bytes")
        keys = self.access.keys
        has_token = keys.is_token(request.bearer)
        if not has_token:
            _check_site(request)
        if not self.access.needs_key or has_token:
            return None
        has_cookie = keys.is_cookie(request.cookie)
        code = request.code
        if code is not None and request.method == "GET" and (has_cookie or keys.take(code)):
            return _with_cookie(request, keys)
        if not has_cookie:
            raise Refusal(
                HTTPStatus.UNAUTHORIZED,
                "this server needs a key, and each link opens only once",
                "run backscroll open where it runs, which prints a new link",
            )
        return None


class Asking:
    """What the wall wants to know of a request. A header that is there twice is no header that one can trust."""

    def __init__(self, scope: Scope) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.port = int((scope.get("server") or ("", 0))[1] or 0)
        self._query: bytes = scope.get("query_string", b"")
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]

    def all(self, name: str) -> list[str]:
        """Every value of a header."""
        return [value.decode("latin-1") for key, value in self._headers if key.decode("latin-1").lower() == name]

    def one(self, name: str) -> str:
        """The value of a header; nothing where it is missing, or there several times."""
        values = self.all(name)
        return values[0] if len(values) == 1 else ""

    @property
    def host(self) -> str:
        """What we are called."""
        return self.one("host").lower()

    @property
    def is_trusted(self) -> bool:
        """Whether a browser takes our word for everything: without encryption, only where we are on its machine."""
        return self.host.removesuffix(f":{self.port}") in LOOPBACK_NAMES

    @property
    def length(self) -> int:
        """How much the body says it is."""
        value = self.one("content-length")
        return int(value[:18]) if value.isascii() and value.isdecimal() else 0

    @property
    def bearer(self) -> str:
        """The token that a program sent."""
        kind, _, value = self.one("authorization").partition(" ")
        return value.strip() if kind.lower() == "bearer" else ""

    @property
    def cookie_name(self) -> str:
        """Of our own cookie: browsers give cookies to all ports of a host, and two servers must not share one."""
        return f"backscroll-{self.port}"

    @property
    def cookie(self) -> str:
        """What our cookie holds."""
        # Other servers on this host may have left cookies of any shape, so each is looked at by itself.
        parts = (part.strip().partition("=") for part in self.one("cookie").split(";"))
        return next((value for name, _, value in parts if name == self.cookie_name), "")

    @property
    def code(self) -> str | None:
        """The code of a link."""
        return next((value for name, value in self._parameters() if name == "token"), None)

    @property
    def address_without_code(self) -> str:
        """The address, for whoever is in. It begins with one slash: two would lead to another host."""
        rest = urlencode([(name, value) for name, value in self._parameters() if name != "token"])
        path = "/" + quote(self.path, safe="/:@!$&'()*+,;=-._~").lstrip("/")
        return path + (f"?{rest}" if rest else "")

    def _parameters(self) -> list[tuple[str, str]]:
        return parse_qsl(self._query.decode("latin-1"), keep_blank_values=True)


def _check_site(request: Asking) -> None:
    """Another site may follow a link to a page, and nothing else: it could tell by the time what a search finds."""
    sites, origins = request.all("sec-fetch-site"), request.all("origin")
    ours = f"http://{request.host}"
    if request.method in SAFE:
        follows_link = request.all("sec-fetch-mode") == ["navigate"] and request.all("sec-fetch-dest") == ["document"]
        is_fine = set(sites) <= OWN_SITES or follows_link
    elif sites:
        is_fine = len(sites) == 1 and set(sites) <= OWN_SITES and origins in ([], [ours])
    else:
        is_fine = origins == [ours]
    if not is_fine:
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            "this was asked from another site, or by a program without a key",
            "use the pages of this server, or send its token as Authorization: Bearer TOKEN",
        )


def _with_cookie(request: Asking, keys: Keys) -> Response:
    answer = RedirectResponse(request.address_without_code, HTTPStatus.SEE_OTHER)
    answer.set_cookie(request.cookie_name, keys.cookie, httponly=True, samesite="strict", path="/")
    return answer


def _refused(request: Asking, refusal: Refusal) -> Response:
    """For a program in the shape of the API, for people as the command line says it."""
    headers = {"www-authenticate": "Bearer"} if refusal.status == HTTPStatus.UNAUTHORIZED else {}
    if request.path.startswith("/api/"):
        return problem_response(refusal, refusal.status, headers)
    if refusal.status == HTTPStatus.UNAUTHORIZED and request.method == "GET":
        # A browser that comes from another site, as by a link in a mail, does not show its cookie. From here it does.
        here = el("p", "Was this browser here before? ", el("a", "Go on", href=request.address_without_code))
        page = join([trusted("<!doctype html>\n"), el("title", "backscroll"), el("p", refusal.message), here,
                     el("p", refusal.hint)])  # fmt: skip
        return HTMLResponse(page, refusal.status, headers)
    text = f"backscroll: {refusal.message}\n  next: {refusal.hint}\n"
    return PlainTextResponse(text, status_code=refusal.status, headers=headers)


class _Leaving:
    """The way out: the headers that every answer has."""

    def __init__(self, request: Asking, access: Access, send: Send) -> None:
        self._request = request
        self._access = access
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": list(self._headers(message.get("headers", ())))}
        await self._send(message)

    def _headers(self, given: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
        names = set()
        for key, value in given:
            name = key.decode("latin-1").lower()
            if name not in HEADERS and not name.startswith("access-control-"):
                names.add(name)
                yield key, value
        for name, text in HEADERS.items():
            if name != OPENER or self._request.is_trusted:
                yield name.encode(), text.encode()
        if "cache-control" not in names:
            # What is static may be kept, and is asked for by its ETag before it is used.
            yield b"cache-control", b"no-cache" if self._request.path.startswith("/static/") else b"no-store"
        if challenge := self._request.one(CHALLENGE):
            yield PROOF.encode(), self._access.keys.proof(challenge).encode()


class _Capped:
    """A body that ends with an error where it goes on for too long, whatever it said of its length."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > LARGEST_BODY:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return message


def _is_address(name: str) -> bool:
    try:
        ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    return ":" not in name or name.startswith("[")


OWN_SITES: Final = frozenset({"same-origin", "none"})
