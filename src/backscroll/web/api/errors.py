"""Errors as JSON of one shape: from the library, the router, the guard, or a bug."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response

from backscroll.errors import BackscrollError, Busy, NothingFound, UsageError

PREFIX: Final = "/api/"
RETRY_SECONDS: Final = 2
SEE: Final = "see /api/v1/openapi.json"


class ErrorDetail(msgspec.Struct, frozen=True):
    """What went wrong."""

    kind: str
    """`usage`, `nothing-found`, `busy` or `failure`, as on the command line."""
    message: str
    hint: str
    """What to do next."""


class Error(msgspec.Struct, frozen=True):
    """The one shape of an error."""

    error: ErrorDetail


def problem_response(error: BackscrollError, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as JSON."""
    answer = Error(ErrorDetail(error.kind, error.message, error.hint))
    try:
        body = msgspec.json.encode(answer)
    except UnicodeEncodeError:  # half a character, from a request or a file name
        clean = [text.encode(errors="replace").decode() for text in (error.message, error.hint)]
        body = msgspec.json.encode(Error(ErrorDetail(error.kind, *clean)))
    return Response(body, status, {**retry_headers(error), **(headers or {})}, "application/json")


def retry_headers(error: BackscrollError) -> dict[str, str]:
    """Return a Retry-After header if waiting is all that the client has to do."""
    return {"retry-after": str(getattr(error, "seconds", RETRY_SECONDS))} if isinstance(error, Busy) else {}


async def on_http_error(request: Request, raised: Exception) -> Response:
    """Answer an error of the router: unknown address, method not allowed."""
    status = raised.status_code if isinstance(raised, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    headers = (raised.headers if isinstance(raised, HTTPException) else None) or {}
    error = _as_error(request, status)
    if request.url.path.startswith(PREFIX):
        return problem_response(error, status, headers)
    from backscroll.web.layout import error_page  # which needs more than an error in JSON does

    title = "Page not found" if status == HTTPStatus.NOT_FOUND else ""
    return HTMLResponse(error_page(error, title), status, headers)


async def on_failure(request: Request, _: Exception) -> Response:
    """Answer a bug of ours. The traceback goes to the log, never to the client."""
    return await on_http_error(request, HTTPException(HTTPStatus.INTERNAL_SERVER_ERROR))


async def on_departure(_: Request, __: Exception) -> Response:
    """Answer a client that went away while it was sending: no bug of ours, and the answer is never read."""
    return Response(status_code=HTTPStatus.BAD_REQUEST)


def _as_error(request: Request, status: int) -> BackscrollError:
    if status == HTTPStatus.NOT_FOUND:
        is_api = request.url.path.startswith(PREFIX)
        return NothingFound("there is nothing at this address", SEE if is_api else "check the address")
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return UsageError(f"{request.method[:20]} is not allowed here", SEE)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return BackscrollError("internal error", "the server's terminal shows the cause; please report it")
    return UsageError(HTTPStatus(status).phrase.lower(), SEE)


HANDLERS: Final = {HTTPException: on_http_error, ClientDisconnect: on_departure, Exception: on_failure}
