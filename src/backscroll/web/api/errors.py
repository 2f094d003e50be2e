"""Errors of one shape, whoever makes them: the library, the router, the wall, or a mistake of ours."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from backscroll.errors import BackscrollError, NothingFound, UsageError

PREFIX: Final = "/api/"
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
    """An error as JSON."""
    told = Error(ErrorDetail(error.kind, error.message, error.hint))
    try:
        body = msgspec.json.encode(told)
    except UnicodeEncodeError:  # half a character, from a request or a file name
        clean = [text.encode(errors="replace").decode() for text in (error.message, error.hint)]
        body = msgspec.json.encode(Error(ErrorDetail(error.kind, *clean)))
    return Response(body, status, headers, "application/json")


async def on_http_error(request: Request, raised: Exception) -> Response:
    """What the router has to say: no such address, no such method."""
    status = raised.status_code if isinstance(raised, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    headers = (raised.headers if isinstance(raised, HTTPException) else None) or {}
    error = _as_error(request, status)
    if request.url.path.startswith(PREFIX):
        return problem_response(error, status, headers)
    from backscroll.web.layout import error_page  # which needs more than an error in JSON does

    return HTMLResponse(error_page(error), status, headers)


async def on_failure(request: Request, _: Exception) -> Response:
    """A mistake of ours. What it was goes to the log, and not to whoever asked."""
    return await on_http_error(request, HTTPException(HTTPStatus.INTERNAL_SERVER_ERROR))


def _as_error(request: Request, status: int) -> BackscrollError:
    if status == HTTPStatus.NOT_FOUND:
        is_api = request.url.path.startswith(PREFIX)
        return NothingFound("there is nothing at this address", SEE if is_api else "begin at the first page")
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return UsageError(f"this address does not take {request.method[:20]}", SEE)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return BackscrollError("that failed, and the reason is on the terminal of the server", "please report it")
    return UsageError(HTTPStatus(status).phrase.lower(), SEE)


HANDLERS: Final = {HTTPException: on_http_error, Exception: on_failure}
