"""Page handlers: functions that take a request and return HTML or a response.

Each runs in a thread with a library of its own. Errors become error pages here, and nowhere else.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from backscroll.errors import BackscrollError, Busy, NothingFound, UsageError
from backscroll.library.library import Library
from backscroll.library.prompts.prompt import PromptCollection
from backscroll.library.prompts.prompt_file import PromptFile
from backscroll.render.html.element import Html
from backscroll.web.layout import error_page
from backscroll.web.state import PROMPTS, ViewerState, viewer_of

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class PageRequest:
    """A request, and the library that answers it."""

    http: Request
    state: ViewerState
    library: Library
    form: Mapping[str, str] = field(default_factory=dict)
    """The fields of a submitted form."""

    @property
    def prompts(self) -> PromptCollection:
        """Saved prompts: those of this machine, or, on a team server, those that the asker may use."""
        collection: PromptCollection | None = self.http.scope.get(PROMPTS)
        return collection or PromptFile(self.library.settings.library)

    def path(self, name: str) -> str:
        """Return a parameter in the path."""
        return str(self.http.path_params[name])

    def get(self, name: str, default: str = "") -> str:
        """Return a parameter in the query string; the last value if it is repeated."""
        return str(self.http.query_params.get(name, default))

    def number(self, name: str, default: int, least: int = 0, most: int = 1_000_000) -> int:
        """Return a numeric parameter."""
        value = self.get(name, str(default))
        if not value.isascii() or not value.isdecimal() or not least <= int(value[:12]) <= most:
            raise UsageError(
                f"{name} must be a number from {least} to {most}", f"correct it, or remove {name} from the address"
            )
        return int(value)


def page(answer: Callable[[PageRequest], Html | Response]) -> Handler:
    """Make a Starlette handler from a function that makes a page."""

    @wraps(answer)
    async def endpoint(request: Request) -> Response:
        state = viewer_of(request)
        body = await request.body() if request.method == "POST" else b""
        form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))

        def run() -> Response:
            try:
                with state.library() as library:
                    made = answer(PageRequest(request, state, library, form))
            except BackscrollError as error:
                return _failed(error)
            return HTMLResponse(made) if isinstance(made, Html) else made

        if request.method == "POST":
            try:
                return await state.changes.run(run)
            except Busy as busy:
                return _failed(busy)
        return await run_in_threadpool(run)

    return endpoint


def _failed(error: BackscrollError) -> Response:
    headers = {"retry-after": str(RETRY_SECONDS)} if isinstance(error, Busy) else None
    return HTMLResponse(error_page(error), status_of(error), headers)


def status_of(error: BackscrollError) -> int:
    """Return the HTTP status of an error."""
    for kind, status in STATUS.items():
        if isinstance(error, kind):
            return status
    return HTTPStatus.INTERNAL_SERVER_ERROR


RETRY_SECONDS: Final = 2
STATUS: dict[type[BackscrollError], HTTPStatus] = {
    UsageError: HTTPStatus.BAD_REQUEST,
    NothingFound: HTTPStatus.NOT_FOUND,
    Busy: HTTPStatus.SERVICE_UNAVAILABLE,
}
