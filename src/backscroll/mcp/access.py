"""Who may come in over HTTP: only who is on this machine, means this server, and has the token. On every address."""

import hmac
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

NAMES: Final = ("127.0.0.1", "localhost")


class Guard:
    """Stands before everything else."""

    def __init__(self, inner: ASGIApp, port: int, token: str) -> None:
        self._inner = inner
        self._hosts = frozenset(f"{name}:{port}".encode() for name in NAMES)
        self._origins = frozenset(f"http://{name}:{port}".encode() for name in NAMES)
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say why not."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refused = self._refusal(scope["headers"])
        if refused is None:
            await self._inner(scope, receive, send)
            return
        status, reason = refused
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
        if status == UNAUTHORIZED:
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": f"{reason}\n".encode()})

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return MISDIRECTED, "this server is not called so"
        # A page of somebody else's may reach this machine through the user's browser.
        if any(value not in self._origins for name, value in headers if name == b"origin"):
            return FORBIDDEN, "not from there"
        if any(value == b"cross-site" for name, value in headers if name == b"sec-fetch-site"):
            return FORBIDDEN, "not from there"
        given = [value for name, value in headers if name == b"authorization"]
        kind, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        if kind.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
            return UNAUTHORIZED, "send the token that backscroll mcp printed, as Authorization: Bearer TOKEN"
        return None


UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
MISDIRECTED: Final = 421
