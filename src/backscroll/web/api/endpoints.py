"""The endpoints of the API: path, handler, parameters and response. The OpenAPI description is made from this table."""

import json
import math
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from backscroll.errors import BackscrollError, Busy, NothingFound, UsageError
from backscroll.web.api import answers, handlers, parameters
from backscroll.web.api.errors import problem_response
from backscroll.web.api.stats import stats
from backscroll.web.requests import Handler as Answering
from backscroll.web.requests import status_of
from backscroll.web.state import viewer_of


class Endpoint(NamedTuple):
    """An endpoint. Its summary is the first line of the handler's docstring."""

    path: str
    answer: Callable[..., dict[str, Any]]
    """Function that takes a library and the parameters, and with `browses` the open chats."""
    takes: type[msgspec.Struct]
    gives: type[msgspec.Struct]
    fails: tuple[type[BackscrollError], ...]
    browses: bool = False
    """Whether the endpoint reads messages of a chat."""
    is_early: bool = False
    """Whether the endpoint works before the first update."""

    @property
    def name(self) -> str:
        """Operation id of the endpoint."""
        return self.answer.__name__

    @property
    def summary(self) -> str:
        """One-line description of the endpoint."""
        return (self.answer.__doc__ or "").splitlines()[0]

    def route(self) -> Route:
        """Starlette route of the endpoint."""
        return Route(self.path, _answering(self), methods=["GET"], name=f"api-{self.name}")


def encode(value: object) -> bytes:
    """JSON of anything that a transcript may contain."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError, ValueError):
        # A lone surrogate, or an integer over 64 bits: the slower encoder writes both in a portable way.
        return json.dumps(_finite(value), separators=(",", ":")).encode()


def _answering(endpoint: Endpoint) -> Answering:
    async def answering(request: Request) -> Response:
        state = viewer_of(request)

        def run() -> Response:
            try:
                wanted = parameters.read_parameters(
                    endpoint.takes, request.path_params, request.scope.get("query_string", b"")
                )
                with state.library() as library:
                    if not library.is_indexed and not endpoint.is_early:
                        raise Busy("the library is being built", "try again in a moment; see /api/v1/status")
                    answer = endpoint.answer(library, wanted, *((state.open_chats,) if endpoint.browses else ()))
            except BackscrollError as error:
                return problem_response(error, status_of(error))
            return Response(encode(answer), HTTPStatus.OK, media_type="application/json")

        return await run_in_threadpool(run)

    return answering


def _finite(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the value without NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


ENDPOINTS: Final = (
    Endpoint("/chats", handlers.chats, parameters.ChatsParameters, answers.Chats, (UsageError, Busy)),
    Endpoint(
        "/chats/{id}", handlers.chat, parameters.ChatParameters, answers.OneChat, (UsageError, NothingFound, Busy),
    ),
    Endpoint(
        "/chats/{id}/messages", handlers.messages, parameters.MessagesParameters, answers.Messages,
        (UsageError, NothingFound, Busy), browses=True,
    ),
    Endpoint(
        "/chats/{id}/branches", handlers.branches, parameters.ChatParameters, answers.Branches,
        (UsageError, NothingFound, Busy), browses=True,
    ),
    Endpoint(
        "/chats/{id}/compare", handlers.compare, parameters.CompareParameters, answers.Comparison,
        (UsageError, NothingFound, Busy), browses=True,
    ),
    Endpoint(
        "/chats/{id}/agents", handlers.agents, parameters.ChatParameters, answers.Agents,
        (UsageError, NothingFound, Busy), browses=True,
    ),
    Endpoint("/search", handlers.search, parameters.SearchParameters, answers.Found, (UsageError, Busy)),
    Endpoint("/stats/{report}", stats, parameters.ReportParameters, answers.Report, (UsageError, NothingFound, Busy)),
    Endpoint("/projects", handlers.projects, parameters.NoParameters, answers.Projects, (UsageError, Busy)),
    Endpoint("/status", handlers.status, parameters.NoParameters, answers.Status, (UsageError,), is_early=True),
)  # fmt: skip
