"""A log of requests in lines of JSON: kind, person, status, duration.

No line has an address as it was asked for, a query, a header or a body: they hold what people read and search, and
secrets. A path is written as its route, with names instead of values.
"""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backscroll.team.people.context import ASKER

WriteLine = Callable[[str], object]
UNKNOWN: Final = "-"


class RequestLog:
    """Middleware that writes the lines."""

    def __init__(self, app: ASGIApp, write: WriteLine, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._write, self._clock = app, write, clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, then write a line."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = self._clock(), 500

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note_status)
        finally:
            person = scope.get(ASKER)
            line = {
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "method": scope["method"] if scope["method"] in METHODS else UNKNOWN,
                "route": route_of(scope),
                "status": status,
                "ms": round((self._clock() - began) * 1000),
                "person": person.handle if person else None,
            }
            self._write(json.dumps(line))


def route_of(scope: Scope) -> str:
    """The path with the names of its values; unknown paths are left out, because they may contain anything."""
    if "endpoint" not in scope:
        return UNKNOWN
    parts = {str(value): f"{{{name}}}" for name, value in scope.get("path_params", {}).items() if value}
    path = str(scope["path"])
    for value in sorted(parts, key=len, reverse=True):
        path = path.replace(value, parts[value])
    return path if not path.startswith("/static/") else "/static/{path}"


METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
