"""HTTP routes by which a connected machine confirms a recovery of its person's account: `/sync/v1/recovery`."""

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from backscroll.errors import BackscrollError, UsageError
from backscroll.team.arrival.device_routes import UnknownDeviceError, bearer_of
from backscroll.team.people.context import TeamContext
from backscroll.team.people.limits import allowance_of
from backscroll.team.people.recoveries import confirm_from_machine, with_code
from backscroll.web.api.errors import problem_response
from backscroll.web.requests import status_of

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

LARGEST_BODY = 10_000


class _Answer(msgspec.Struct):
    code: str
    is_mine: bool


async def show(request: Request) -> Response:
    """Answer with the recovery of a code: its account, who made the link, and when it was opened."""

    def find(connection: "Connection", device: str) -> Response:
        recovery = with_code(connection, device, request.query_params.get("code", ""))
        opened = recovery.opened.isoformat() if recovery.opened else ""
        return JSONResponse({"person": recovery.handle, "made_by": recovery.made_by, "opened": opened})

    return await _for_machine(request, find)


async def answer(request: Request) -> Response:
    """Confirm or refuse the recovery, as the person says on the machine."""
    body = (await request.body())[:LARGEST_BODY]

    def decide(connection: "Connection", device: str) -> Response:
        try:
            decision = msgspec.json.decode(body, type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError("the code is missing", 'send {"code": "…", "is_mine": true}') from error
        confirm_from_machine(connection, device, decision.code, is_mine=decision.is_mine)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return await _for_machine(request, decide)


async def _for_machine(request: Request, respond: Callable[["Connection", str], Response]) -> Response:
    """Answer a connected machine, not one that was revoked or whose person is disabled."""
    context: TeamContext = request.app.state.team

    def run() -> Response:
        with context.database.transaction() as connection:
            allowed = allowance_of(connection, bearer_of(request))
            if allowed is None:
                raise UnknownDeviceError
            return respond(connection, allowed.device)

    try:
        return await run_in_threadpool(run)
    except UnknownDeviceError as error:
        return problem_response(error, HTTPStatus.UNAUTHORIZED)
    except BackscrollError as error:
        return problem_response(error, status_of(error))


ROUTES = [Route("/recovery", show, methods=["GET"]), Route("/recovery", answer, methods=["POST"])]
