"""How a connected machine confirms a recovery of its person's account: `/sync/v1/recovery`."""

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from backscroll.errors import BackscrollError, UsageError
from backscroll.team.context import TeamContext
from backscroll.team.device_routes import UnknownDeviceError, bearer_of
from backscroll.team.limits import allowance_of
from backscroll.team.recoveries import confirm_from_machine, with_code
from backscroll.web.api.errors import problem_response
from backscroll.web.requests import status_of

if TYPE_CHECKING:
    from backscroll.team.database import Connection

LARGEST_BODY = 10_000


class _Answer(msgspec.Struct):
    code: str
    is_mine: bool


async def show(request: Request) -> Response:
    """What waits with a code: whose account it is, who made the link, and when it was opened."""

    def find(connection: "Connection", device: str) -> Response:
        found = with_code(connection, device, request.query_params.get("code", ""))
        opened = found.opened.isoformat() if found.opened else ""
        return JSONResponse({"person": found.handle, "made_by": found.made_by, "opened": opened})

    return await _for_machine(request, find)


async def answer(request: Request) -> Response:
    """The person says on the machine whether it is theirs."""
    body = (await request.body())[:LARGEST_BODY]

    def decide(connection: "Connection", device: str) -> Response:
        try:
            told = msgspec.json.decode(body, type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError("the code is missing", 'send {"code": "…", "is_mine": true}') from error
        confirm_from_machine(connection, device, told.code, is_mine=told.is_mine)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return await _for_machine(request, decide)


async def _for_machine(request: Request, answered: Callable[["Connection", str], Response]) -> Response:
    """Answer a machine that is connected; one that was revoked, or whose person is disabled, is not."""
    context: TeamContext = request.app.state.team

    def run() -> Response:
        with context.database.transaction() as connection:
            allowed = allowance_of(connection, bearer_of(request))
            if allowed is None:
                raise UnknownDeviceError
            return answered(connection, allowed.device)

    try:
        return await run_in_threadpool(run)
    except UnknownDeviceError as error:
        return problem_response(error, HTTPStatus.UNAUTHORIZED)
    except BackscrollError as error:
        return problem_response(error, status_of(error))


ROUTES = [Route("/recovery", show, methods=["GET"]), Route("/recovery", answer, methods=["POST"])]
