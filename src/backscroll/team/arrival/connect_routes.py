"""HTTP routes by which a machine asks to be let in: `/sync/v1/connect`, for `backscroll connect`."""

from http import HTTPStatus
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from backscroll.errors import BackscrollError, UsageError
from backscroll.team.arrival.device_routes import bearer_of
from backscroll.team.arrival.devices import DeniedError, collect, request_access
from backscroll.team.people.context import TeamContext
from backscroll.team.people.rates import TooMuchError
from backscroll.web.api.errors import problem_response
from backscroll.web.requests import status_of

LARGEST_BODY = 10_000


class _Machine(msgspec.Struct):
    machine: str


async def begin(request: Request) -> Response:
    """Note the request of a machine to be let in; answer with its code."""
    context: TeamContext = request.app.state.team

    def run(body: bytes) -> dict[str, Any]:
        try:
            machine = msgspec.json.decode(body, type=_Machine).machine
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError("the name of the machine is missing", 'send {"machine": "…"}') from error
        with context.database.transaction() as connection:
            waiting = request_access(connection, machine, context.counted_address(request).address)
        return {
            "secret": waiting.secret,
            "code": waiting.code,
            "address": f"{context.url}/connect?code={waiting.code}",
            "seconds": waiting.seconds,
        }

    body = (await request.body())[:LARGEST_BODY]
    end_turn = await context.queue_of_strangers.wait_turn(context.counted_address(request).certain)
    try:
        return JSONResponse(await run_in_threadpool(run, body), HTTPStatus.CREATED)
    except TooMuchError as error:
        return problem_response(error, HTTPStatus.TOO_MANY_REQUESTS)
    except BackscrollError as error:
        return problem_response(error, status_of(error))
    finally:
        end_turn()


async def answer(request: Request) -> Response:
    """Answer a waiting machine: its credential once it was let in."""
    context: TeamContext = request.app.state.team

    def run() -> Response:
        with context.database.transaction() as connection:
            credential = collect(connection, bearer_of(request))
        return JSONResponse(credential._asdict()) if credential else Response(status_code=HTTPStatus.ACCEPTED)

    try:
        return await run_in_threadpool(run)
    except DeniedError as error:
        return problem_response(error, HTTPStatus.FORBIDDEN)
    except BackscrollError as error:
        return problem_response(error, status_of(error))


ROUTES = [Route("/connect", begin, methods=["POST"]), Route("/connect", answer, methods=["GET"])]
