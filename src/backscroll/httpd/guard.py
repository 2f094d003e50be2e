"""The guard around an HTTP application: middleware that checks every request and adds headers to every response.

It covers all routes, also unknown ones: allowed host names (against DNS rebinding), what other sites may do (follow a
link, nothing else), who needs a key, how large a body may be, and what a page may load and run.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backscroll.errors import UsageError
from backscroll.httpd.keys import AccessKeys
from backscroll.httpd.listening import LOOPBACK_NAMES
from backscroll.httpd.users import is_other_user

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'none'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
DOCUMENT_POLICY: Final = (
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""Policy for a document that names what may run in it by checksums, in a policy of its own, which counts as well."""
OPENER: Final = "cross-origin-opener-policy"
"""Header that browsers log a warning about where they ignore it."""
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    OPENER: "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""Headers of every response, which override its own. Other sites get no referrer, our own pages do: without one a form
sends `Origin: null`, which any site could send."""
LARGEST_BODY: Final = 1024 * 1024
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
HTTP_PORT: Final = 80
CHALLENGE: Final = "backscroll-challenge"
PROOF: Final = "backscroll-proof"


class Refusal(UsageError):  # noqa: N818 - it is what the user reads
    """A refused request, with its HTTP status."""

    def __init__(self, status: HTTPStatus, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.status = status

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the refusal."""
        return {"www-authenticate": "Bearer"} if self.status == HTTPStatus.UNAUTHORIZED else {}


@dataclass(frozen=True)
class Access:
    """Clients that may connect, and the host names they may use."""

    names: frozenset[str] = LOOPBACK_NAMES
    """Allowed host names, without the port; an empty set refuses every request."""
    any_address: bool = False
    """Also allow any numeric address, for a server that listens on all. Rebinding needs a name, so this is safe."""
    needs_key: bool = False
    keys: AccessKeys = field(default_factory=AccessKeys)
    takes_links: bool = True
    """Whether one-time codes and the cookie count as keys too, or only the token."""
    public_url: str = ""
    """Public address of the server, if a proxy stands before it: `https://team.example.org`."""
    for_programs: tuple[str, ...] = ()
    """Prefixes of paths that browsers never ask for, and that look at no cookie: any program may try them."""
    for_uploads: tuple[str, ...] = ()
    """Prefixes of paths whose handlers limit the body themselves."""
    for_documents: tuple[str, ...] = ()
    """Prefixes of paths that answer with a whole document, which carries its style, its script and its policy in it. It
    is shown as of no site: nothing in it can use a cookie."""

    def is_called(self, host: str, port: int) -> bool:
        """Whether a Host header names this server."""
        if self.public_url and host == urlsplit(self.public_url).netloc.lower():
            return True
        name = host.removesuffix(f":{port}") if host.endswith(f":{port}") else host if port == HTTP_PORT else ""
        return name in self.names or (self.any_address and bool(self.names) and _is_address(name))


class Guard:
    """Middleware around an application."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        refuse: "Callable[[RequestHead, Refusal], Response] | None" = None,
    ) -> None:
        """Make refusals with `refuse`; by default in plain text."""
        self.app = app
        self.access = access
        self._refuse = refuse or refuse_in_plain_text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request, then answer or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        request = RequestHead(scope)
        leave = _SecuredSend(request, self.access, send)
        try:
            answer = self._check(request)
        except Refusal as refusal:
            answer = self._refuse(request, refusal)
        if answer is not None:
            await answer(scope, receive, leave)
        else:
            await self.app(scope, receive if self.is_upload(request) else _LimitedBody(receive), leave)

    def is_upload(self, request: "RequestHead") -> bool:
        """Whether the handler limits the body itself."""
        return bool(self.access.for_uploads) and request.path.startswith(self.access.for_uploads)

    def _check(self, request: "RequestHead") -> Response | None:
        """Return None if the application may answer, else a redirect that sets the cookie."""
        if not self.access.is_called(request.host, request.port):
            raise Refusal(
                HTTPStatus.MISDIRECTED_REQUEST, "unknown host name", "open the address that the server printed at start"
            )
        if request.length > LARGEST_BODY and not self.is_upload(request):
            raise Refusal(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large", f"send at most {LARGEST_BODY:,} bytes"
            )
        keys, takes_links = self.access.keys, self.access.takes_links
        has_token = keys.is_token(request.bearer)
        has_cookie = takes_links and keys.is_cookie(request.cookie)
        is_in = has_token or has_cookie or not self.access.needs_key
        code = request.code if self.access.needs_key and takes_links and request.method == "GET" else None
        if not is_in and code is None:
            raise self._key_needed()
        is_for_programs = bool(self.access.for_programs) and request.path.startswith(self.access.for_programs)
        _check_site(request, self.access.public_url, is_program=has_token or is_for_programs)
        if code is not None and not has_token:
            # An opened link is in the browser's arguments, which every user of the machine can read.
            is_stolen = keys.is_code(code) and is_other_user(request.client, request.server)
            if has_cookie or (not is_stolen and keys.take(code)):
                return _with_cookie(request, keys)
            raise self._key_needed()
        return None

    def _key_needed(self) -> Refusal:
        if not self.access.takes_links:
            return Refusal(
                HTTPStatus.UNAUTHORIZED,
                "this server requires a token",
                "send the token it printed, as Authorization: Bearer TOKEN",
            )
        return Refusal(
            HTTPStatus.UNAUTHORIZED,
            "this server requires a key, and each link works only once",
            "run backscroll open on its machine to get a new link",
        )


class RequestHead:
    """The parts of a request that the guard checks. A repeated header cannot be trusted, and counts as missing."""

    def __init__(self, scope: Scope) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.client: tuple[str, int] | None = scope.get("client")
        self.server: tuple[str, int | None] = scope.get("server") or ("", 0)
        self.port = int(self.server[1] or 0)
        self._query: bytes = scope.get("query_string", b"")
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]

    def all(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value.decode("latin-1") for key, value in self._headers if key.decode("latin-1").lower() == name]

    def one(self, name: str) -> str:
        """Return the value of a header; empty if it is missing or repeated."""
        values = self.all(name)
        return values[0] if len(values) == 1 else ""

    @property
    def host(self) -> str:
        """Value of the Host header."""
        return self.one("host").lower()

    @property
    def is_trusted(self) -> bool:
        """Whether browsers treat this origin as secure: without TLS, only on the same machine."""
        return self.host.removesuffix(f":{self.port}") in LOOPBACK_NAMES

    @property
    def length(self) -> int:
        """Value of the Content-Length header."""
        value = self.one("content-length")
        return int(value[:18]) if value.isascii() and value.isdecimal() else 0

    @property
    def bearer(self) -> str:
        """Bearer token of the request."""
        kind, _, value = self.one("authorization").partition(" ")
        return value.strip() if kind.lower() == "bearer" else ""

    @property
    def cookie_name(self) -> str:
        """Name of our cookie. Browsers share cookies between ports, and two servers must not share one."""
        return f"backscroll-{self.port}"

    @property
    def cookie(self) -> str:
        """Value of our cookie."""
        # Other servers on this host may have set malformed cookies, so each is parsed by itself.
        parts = (part.strip().partition("=") for part in self.one("cookie").split(";"))
        return next((value for name, _, value in parts if name == self.cookie_name), "")

    @property
    def code(self) -> str | None:
        """One-time code in the URL."""
        return next((value for name, value in self._parameters() if name == "token"), None)

    @property
    def address_without_code(self) -> str:
        """Path and query without the code. It starts with one slash: two would lead to another host."""
        rest = urlencode([(name, value) for name, value in self._parameters() if name != "token"])
        path = "/" + quote(self.path, safe="/:@!$&'()*+,;=-._~").lstrip("/")
        return path + (f"?{rest}" if rest else "")

    def _parameters(self) -> list[tuple[str, str]]:
        return parse_qsl(self._query.decode("latin-1"), keep_blank_values=True)


def _check_site(request: RequestHead, public_url: str, *, is_program: bool) -> None:
    """Refuse requests of other sites, which may only link to pages: anything else could leak search results through
    timing."""
    sites, origins = request.all("sec-fetch-site"), request.all("origin")
    ours = {f"http://{request.host}", *([public_url.rstrip("/")] if public_url else [])}
    if request.method in SAFE:
        follows_link = request.all("sec-fetch-mode") == ["navigate"] and request.all("sec-fetch-dest") == ["document"]
        is_fine = set(sites) <= OWN_SITES or follows_link
    elif sites:
        is_fine = len(sites) == 1 and set(sites) <= OWN_SITES and (not origins or _is_one_of(origins, ours))
    else:
        is_fine = _is_one_of(origins, ours) or (is_program and not origins)
    if not is_fine:
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            "the request comes from another site, or from a program without a token",
            "use this server's pages, or send its token as Authorization: Bearer TOKEN",
        )


def _is_one_of(origins: list[str], ours: set[str]) -> bool:
    return len(origins) == 1 and origins[0] in ours


def _with_cookie(request: "RequestHead", keys: AccessKeys) -> Response:
    answer = RedirectResponse(request.address_without_code, HTTPStatus.SEE_OTHER)
    answer.set_cookie(request.cookie_name, keys.cookie, httponly=True, samesite="strict", path="/")
    return answer


def refuse_in_plain_text(_: "RequestHead", refusal: Refusal) -> Response:
    """Return the response to a refused request, worded as on the command line."""
    text = f"backscroll: {refusal.message}\n  next: {refusal.hint}\n"
    return PlainTextResponse(text, refusal.status, refusal.headers)


class _SecuredSend:
    """Send responses with the headers that every answer has."""

    def __init__(self, request: RequestHead, access: Access, send: Send) -> None:
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
        documents = self._access.for_documents
        is_document = bool(documents) and self._request.path.startswith(documents)
        for name, text in HEADERS.items():
            if name != OPENER or self._request.is_trusted:
                is_policy = is_document and name == "content-security-policy"
                yield name.encode(), (DOCUMENT_POLICY if is_policy else text).encode()
        if "cache-control" not in names:
            # Static files may be cached, and are revalidated by ETag.
            yield b"cache-control", b"no-cache" if self._request.path.startswith("/static/") else b"no-store"
        if challenge := self._request.one(CHALLENGE):
            yield PROOF.encode(), self._access.keys.proof(challenge).encode()


class _LimitedBody:
    """A request body that fails when it exceeds the limit, whatever its Content-Length says."""

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
