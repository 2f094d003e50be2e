"""What devices send to the server, over HTTP: `/sync/v1/objects`.

The order makes a crash harmless: the object is durable, then the worker is told, then the device gets its receipt.
A device without its receipt sends the same again, and gets the same receipt.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Final, Protocol

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from backscroll.errors import BackscrollError, Busy, DiskFull, NothingFound, UsageError
from backscroll.sync.bundles import DamagedBundleError
from backscroll.sync.http_remote import RULES_HEADER, ToldProject
from backscroll.sync.policy import OrgRules
from backscroll.sync.remotes import Remote
from backscroll.team.device_objects import ConflictError, DeviceObjects, Receipt
from backscroll.team.limits import Allowance, OverQuotaError
from backscroll.team.project_rules import OutdatedRulesError
from backscroll.web.api.errors import problem_response

LARGEST_OBJECT: Final = 256 << 20
LARGEST_LIST: Final = 4 << 20
MAX_AT_ONCE: Final = 4
MAX_SMALL_AT_ONCE: Final = 64
SMALL: Final = 1 << 20
"""Objects that are stored at the same time, each in memory as a whole: large ones, and small ones, as appends are."""
BYTES_PER_SECOND: Final = 8 << 20
BURST: Final = 512 << 20
"""Credit of a device: what it may send at once, and how fast the credit grows back."""
MAX_REMEMBERED: Final = 10_000

Endpoint = Callable[[Request], Awaitable[Response]]
DeviceOf = Callable[[str], Allowance | None]
"""What the device with this credential may send now; None if there is none, or it was revoked."""
Stored = Callable[[str, int], object]
"""Called with the device, and how many bytes it sent, when something of it is stored or removed."""


class UnknownDeviceError(UsageError):
    """A request without a valid credential."""

    def __init__(self) -> None:
        super().__init__("the credential is unknown, or was revoked", "run backscroll connect on this machine")


class DeviceRules(Protocol):
    """What the organisation of a device lets it send."""

    def rules(self, device: str) -> OrgRules:
        """The rules."""
        ...

    def note_projects(self, device: str, projects: Sequence[ToldProject]) -> None:
        """It tells which projects it sends."""
        ...


class NoRules:
    """Without an organisation there are none."""

    def rules(self, _: str) -> OrgRules:
        """None."""
        return OrgRules()

    def note_projects(self, _: str, __: Sequence[ToldProject]) -> None:
        """Ignored."""


class ByteCredit:
    """How much each device, person and organisation may still send, so that one cannot hold up all others."""

    def __init__(self, per_second: float = BYTES_PER_SECOND, burst: float = BURST) -> None:
        self._per_second, self._burst = per_second, burst
        self._spent: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """What was spent and when, by the name of a device, a person or an organisation."""

    def wait_for(self, key: str, now: float, per_second: float | None = None) -> int:
        """Seconds until a device, a person or an organisation may send again; 0 if it may."""
        rate = per_second or self._per_second
        over = self._left_over(key, now, rate) - self._burst * rate / self._per_second
        return 0 if over < 0 else max(1, round(over / rate))

    def spend(self, key: str, size: int, now: float, per_second: float | None = None) -> None:
        """Note what was sent."""
        self._spent[key] = (self._left_over(key, now, per_second or self._per_second) + size, now)
        self._spent.move_to_end(key)
        while len(self._spent) > MAX_REMEMBERED:
            self._spent.popitem(last=False)

    def _left_over(self, key: str, now: float, per_second: float) -> float:
        spent, at = self._spent.get(key, (0.0, now))
        return max(0.0, spent - (now - at) * per_second)


class DeviceRoutes:
    """The routes for devices."""

    def __init__(
        self,
        objects: Remote,
        device_of: DeviceOf,
        stored: Stored = lambda _, __: None,
        credit: ByteCredit | None = None,
        clock: Callable[[], float] = time.monotonic,
        rules: DeviceRules | None = None,
    ) -> None:
        self._objects, self._device_of, self._stored = objects, device_of, stored
        self._credit = credit or ByteCredit()
        self._rules = rules or NoRules()
        self._clock = clock
        self._running = {True: 0, False: 0}
        """The objects that are being stored, by whether they are small."""
        self.routes = [
            Route("/rules", self._for_device(self._get_rules)),
            Route("/projects", self._with_body(self._note_projects), methods=["PUT"]),
            Route("/objects", self._for_device(self._list)),
            Route("/objects/{name:path}", self._for_device(self._get), methods=["GET"]),
            Route("/objects/{name:path}", self._with_body(self._put), methods=["PUT"]),
            Route("/objects/{name:path}", self._for_device(self._delete), methods=["DELETE"]),
        ]

    def _for_device(self, answer: Callable[[Request, Allowance, DeviceObjects], Response]) -> Endpoint:
        """The endpoint that finds the device of a request and answers, in one thread."""

        def answered(request: Request) -> Response:
            allowed = self._allowed(request)
            return answer(request, allowed, DeviceObjects(self._objects, allowed.device))

        return _endpoint(lambda request: run_in_threadpool(answered, request))

    def _with_body(self, answer: Callable[[Request, Allowance, DeviceObjects], Awaitable[Response]]) -> Endpoint:
        """The same for a request with a body, which is waited for outside of threads."""

        async def answered(request: Request) -> Response:
            allowed = await run_in_threadpool(self._allowed, request)
            return await answer(request, allowed, DeviceObjects(self._objects, allowed.device))

        return _endpoint(answered)

    def _allowed(self, request: Request) -> Allowance:
        allowed = self._device_of(bearer_of(request))
        if allowed is None:
            raise UnknownDeviceError
        return allowed

    def _get_rules(self, _: Request, allowed: Allowance, __: DeviceObjects) -> Response:
        rules = self._rules.rules(allowed.device)
        return Response(msgspec.json.encode(rules), media_type="application/json")

    async def _note_projects(self, request: Request, allowed: Allowance, _: DeviceObjects) -> Response:
        body = await _body(request, LARGEST_LIST)
        if body is None:
            error = UsageError("the list of projects is too large", f"send at most {LARGEST_LIST:,} bytes")
            return problem_response(error, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            told = msgspec.json.decode(body, type=list[ToldProject])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError("this is not a list of projects", 'send [{"path": "…", "remote": "…"}]') from error
        await run_in_threadpool(self._rules.note_projects, allowed.device, told)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    def _list(self, request: Request, allowed: Allowance, own: DeviceObjects) -> Response:
        found = [one._asdict() for one in own.list(request.query_params.get("prefix", ""))]
        return JSONResponse({"objects": found, "rules": allowed.rules})

    def _get(self, request: Request, _: Allowance, own: DeviceObjects) -> Response:
        data = own.get(request.path_params["name"])
        return Response(data, media_type="application/octet-stream")

    def _delete(self, request: Request, allowed: Allowance, own: DeviceObjects) -> Response:
        own.delete(request.path_params["name"])
        self._stored(allowed.device, 0)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def _put(self, request: Request, allowed: Allowance, own: DeviceObjects) -> Response:
        def store(name: str, data: bytes) -> Receipt:
            receipt = own.put(name, data)
            self._stored(allowed.device, len(data))
            return receipt

        if allowed.rules and request.headers.get(RULES_HEADER, "") != allowed.rules:
            raise OutdatedRulesError
        keys = _counted(allowed)
        for key, (whose, rate) in keys.items():
            wait = self._credit.wait_for(key, self._clock(), rate)
            if wait:
                much = Busy(f"{whose} has sent too much in a short time", f"wait {wait} seconds")
                return problem_response(much, HTTPStatus.TOO_MANY_REQUESTS, {"retry-after": str(wait)})
        is_small = _told_length(request) <= SMALL
        if self._running[is_small] >= (MAX_SMALL_AT_ONCE if is_small else MAX_AT_ONCE):
            raise Busy("many devices are sending right now", "try again in a moment")
        self._running[is_small] += 1
        try:
            data = await _body(request, SMALL if is_small else LARGEST_OBJECT)
            if data is None:
                error = UsageError("the object is too large", f"send at most {LARGEST_OBJECT:,} bytes")
                return problem_response(error, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            for key, (_, rate) in keys.items():
                self._credit.spend(key, len(data), self._clock(), rate)
            try:
                allowed.check(len(data))
            except OverQuotaError:  # what takes the place of as much, for instance to forget something, always may
                if not await run_in_threadpool(own.replaces, request.path_params["name"], len(data)):
                    raise
            receipt = await run_in_threadpool(store, request.path_params["name"], data)
        finally:
            self._running[is_small] -= 1
        return JSONResponse(receipt._asdict(), HTTPStatus.CREATED)


def _endpoint(answer: Endpoint) -> Endpoint:
    """An endpoint that turns errors into responses."""

    async def endpoint(request: Request) -> Response:
        try:
            return await answer(request)
        except BackscrollError as error:
            return problem_response(error, _status(error), _headers(error))

    return endpoint


def _counted(allowed: Allowance) -> dict[str, tuple[str, float | None]]:
    """By what an upload is counted: the key, whose it is, and its rate."""
    found: dict[str, tuple[str, float | None]] = {allowed.device: ("this device", None)}
    if allowed.person:
        found[allowed.person] = (allowed.person, allowed.person_rate)
        found[allowed.org] = ("your organisation", allowed.org_rate)
    return found


def bearer_of(request: Request) -> str:
    """The credential in a request; empty if there is none."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" else ""


def _told_length(request: Request) -> int:
    """How long a body is, as its sender says; of one that does not say it, as long as one can be."""
    told = request.headers.get("content-length", "")
    return int(told) if told.isdecimal() else LARGEST_OBJECT


async def _body(request: Request, longest: int) -> bytes | None:
    """The whole body; None if it is too long."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > longest:
            return None
        parts.append(part)
    return b"".join(parts)


def _status(error: BackscrollError) -> HTTPStatus:
    for kind, status in STATUS.items():
        if isinstance(error, kind):
            return status
    return HTTPStatus.INTERNAL_SERVER_ERROR


def _headers(error: BackscrollError) -> dict[str, str]:
    return {"retry-after": str(RETRY_SECONDS[type(error)])} if type(error) in RETRY_SECONDS else {}


STATUS: Final[dict[type[BackscrollError], HTTPStatus]] = {
    UnknownDeviceError: HTTPStatus.UNAUTHORIZED,
    OutdatedRulesError: HTTPStatus.PRECONDITION_FAILED,
    NothingFound: HTTPStatus.NOT_FOUND,
    ConflictError: HTTPStatus.CONFLICT,
    DamagedBundleError: HTTPStatus.UNPROCESSABLE_ENTITY,
    Busy: HTTPStatus.SERVICE_UNAVAILABLE,
    DiskFull: HTTPStatus.SERVICE_UNAVAILABLE,
    OverQuotaError: HTTPStatus.INSUFFICIENT_STORAGE,
    UsageError: HTTPStatus.BAD_REQUEST,
}
RETRY_SECONDS: Final[dict[type[BackscrollError], int]] = {Busy: 1, DiskFull: 60, OverQuotaError: 3600}
