"""HTTP routes for the objects of devices: `/sync/v1/objects`.

The order makes a crash harmless: the object is durable, then a job is added, then the device gets its receipt. A
device without its receipt sends the same object again, and gets the same receipt.

An upload waits on the disk until it is all there, so that a slow line takes no memory. Then its
unpacked size is counted, and decides how many are checked at the same time.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import IO, Final, Protocol, TypeVar

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from backscroll.errors import BackscrollError, Busy, DiskFull, NothingFound, UsageError, storage_error
from backscroll.sync.bundles import DamagedBundleError
from backscroll.sync.http_remote import RULES_HEADER, ToldProject
from backscroll.sync.policy import OrgRules
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.team.arrival.device_objects import (
    LARGEST_INDEX,
    ConflictError,
    DeviceObjects,
    LongIndexError,
    Receipt,
    with_first_read,
)
from backscroll.team.arrival.project_rules import OutdatedRulesError
from backscroll.team.arrival.upload_limits import ByteBudget, UploadSlots
from backscroll.team.people.limits import Allowance, OverQuotaError
from backscroll.team.people.rates import TooMuchError
from backscroll.web.api.errors import problem_response

LARGEST_OBJECT: Final = 256 << 20
LARGEST_LIST: Final = 4 << 20
SMALL: Final = 1 << 20
"""Bytes of an upload that waits in memory, as appends do; and of an index that is read without waiting for others."""
SMALL_UNPACKED: Final = 16 << 20
SMALL_CHECKS: Final = 4
"""Small objects that are checked at the same time in this process."""
BYTES_OF_LARGE: Final = 96 << 20
"""Memory that all larger objects may take together while they are checked and stored."""
BYTES_OF_ONE: Final = 16 << 20
"""Memory that each of them takes at least: a window and some pieces."""
NAMES_AT_ONCE: Final = 1000

Answer = TypeVar("Answer")
Endpoint = Callable[[Request], Awaitable[Response]]
DeviceOf = Callable[[str], Allowance | None]
"""Returns the allowance of the device with a credential; None if there is none, or it was revoked."""
Stored = Callable[[str, int, int], object]
"""Called when an object is stored or removed, with the device, the bytes it sent, and how many they unpack to."""
Spend = Callable[[Allowance, int], object]
"""Called with the unpacked size of an object, before it is unpacked; TooMuchError if that is too much for now."""


class UnknownDeviceError(UsageError):
    """A request without a valid credential."""

    def __init__(self) -> None:
        super().__init__("the credential is unknown, or was revoked", "run backscroll connect on this machine")


class DeviceRules(Protocol):
    """The rules of organisations about what devices send."""

    def rules(self, device: str) -> OrgRules:
        """The rules for a device."""
        ...

    def note_projects(self, device: str, projects: Sequence[ToldProject]) -> None:
        """Note the projects that a device sends."""
        ...


class NoRules:
    """The rules where there is no organisation: none."""

    def rules(self, _: str) -> OrgRules:
        """No rules."""
        return OrgRules()

    def note_projects(self, _: str, __: Sequence[ToldProject]) -> None:
        """Ignore the projects."""


class DeviceRoutes:
    """The routes for devices."""

    def __init__(
        self,
        objects: Remote,
        device_of: DeviceOf,
        stored: Stored = lambda _, __, ___: None,
        spend: Spend = lambda _, __: None,
        rules: DeviceRules | None = None,
        temporary: str | None = None,
    ) -> None:
        """`temporary` is a folder for uploads that are not all there yet, if not the system's."""
        self._objects, self._device_of, self._stored, self._spend = objects, device_of, stored, spend
        self._rules = rules or NoRules()
        self._temporary = temporary
        self._slots = UploadSlots()
        self._small = CapacityLimiter(SMALL_CHECKS)
        self._lists = CapacityLimiter(1)
        self._large = ByteBudget(BYTES_OF_LARGE)
        self.routes = [
            Route("/rules", self._for_device(self._get_rules)),
            Route("/projects", self._with_body(self._note_projects), methods=["PUT"]),
            Route("/objects", self._for_device(self._list)),
            Route("/objects/{name:path}", self._for_device(self._get), methods=["GET"]),
            Route("/objects/{name:path}", self._with_body(self._put), methods=["PUT"]),
            Route("/objects/{name:path}", self._for_device(self._delete), methods=["DELETE"]),
        ]

    def _for_device(self, answer: Callable[[Request, Allowance, DeviceObjects], Response]) -> Endpoint:
        """Make an endpoint that finds the device of a request and answers, in one thread."""

        def answered(request: Request) -> Response:
            allowed = self._allowed(request)
            return answer(request, allowed, DeviceObjects(self._objects, allowed.device, self._temporary))

        return _endpoint(lambda request: run_in_threadpool(answered, request))

    def _with_body(self, answer: Callable[[Request, Allowance, DeviceObjects], Awaitable[Response]]) -> Endpoint:
        """Make an endpoint for a request with a body, which is read outside of threads."""

        async def answered(request: Request) -> Response:
            allowed = await run_in_threadpool(self._allowed, request)
            return await answer(request, allowed, DeviceObjects(self._objects, allowed.device, self._temporary))

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
            projects = msgspec.json.decode(body, type=list[ToldProject])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError("this is not a list of projects", 'send [{"path": "…", "remote": "…"}]') from error
        await to_thread.run_sync(self._rules.note_projects, allowed.device, projects, limiter=self._lists)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    def _list(self, request: Request, allowed: Allowance, own: DeviceObjects) -> Response:
        objects = own.list(request.query_params.get("prefix", ""))
        return StreamingResponse(with_first_read(_listing(objects, allowed.rules)), media_type="application/json")

    def _get(self, request: Request, _: Allowance, own: DeviceObjects) -> Response:
        pieces = own.pieces(request.path_params["name"])
        return StreamingResponse(pieces, media_type="application/octet-stream")

    def _delete(self, request: Request, allowed: Allowance, own: DeviceObjects) -> Response:
        own.delete(request.path_params["name"])
        self._stored(allowed.device, 0, 0)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def _put(self, request: Request, allowed: Allowance, own: DeviceObjects) -> Response:
        if allowed.rules and request.headers.get(RULES_HEADER, "") != allowed.rules:
            raise OutdatedRulesError
        allowed.check_credit()
        is_small = _declared_length(request) <= SMALL
        async with self._slots.slot(allowed.person or allowed.device, is_small=is_small):
            with SpooledTemporaryFile(SMALL, dir=self._temporary) as file:
                size = await _receive(request, file, SMALL if is_small else LARGEST_OBJECT)
                if size is None:
                    error = UsageError("the object is too large", f"send at most {LARGEST_OBJECT:,} bytes")
                    return problem_response(error, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
                receipt = await self._take(request.path_params["name"], file, size, allowed, own)
        return JSONResponse(receipt._asdict(), HTTPStatus.CREATED)

    async def _take(self, name: str, file: IO[bytes], size: int, allowed: Allowance, own: DeviceObjects) -> Receipt:
        """Judge an upload, count it, check and store it."""
        index = SMALL
        try:
            unpacked = await self._small_check(partial(own.judge, name, file, SMALL))
        except LongIndexError:
            index = LARGEST_INDEX
            async with self._large.taking(BYTES_OF_ONE + 5 * LARGEST_INDEX):
                unpacked = await run_in_threadpool(own.judge, name, file)
        counted = max(size, unpacked)
        await run_in_threadpool(self._spend, allowed, counted)
        try:
            allowed.check(counted)
        except OverQuotaError:  # what takes the place of as much, for instance to forget something, always may
            if not await run_in_threadpool(own.replaces, name, counted):
                raise

        def store() -> Receipt:
            receipt, is_new = own.put(name, file)
            self._stored(allowed.device, *((size, counted) if is_new else (0, 0)))
            return receipt

        if index == SMALL and size <= SMALL and unpacked <= SMALL_UNPACKED:
            return await self._small_check(store)
        async with self._large.taking(BYTES_OF_ONE + size + 5 * (index if index > SMALL else 0)):
            return await run_in_threadpool(store)

    async def _small_check(self, check: Callable[[], Answer]) -> Answer:
        return await to_thread.run_sync(check, limiter=self._small)


def _endpoint(answer: Endpoint) -> Endpoint:
    """Make an endpoint that turns errors into responses."""

    async def endpoint(request: Request) -> Response:
        try:
            return await answer(request)
        except BackscrollError as error:
            return problem_response(error, _status(error), _headers(error))

    return endpoint


def bearer_of(request: Request) -> str:
    """The credential in a request; empty if there is none."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" else ""


def _declared_length(request: Request) -> int:
    """Return the length of a body from its header; without one, the greatest length that is allowed."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() else LARGEST_OBJECT


async def _body(request: Request, longest: int) -> bytes | None:
    """The whole body; None if it is too long."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > longest:
            return None
        parts.append(part)
    return b"".join(parts)


async def _receive(request: Request, file: SpooledTemporaryFile[bytes], longest: int) -> int | None:
    """Write the body into a file; return its size, or None if it is too long."""
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > longest:
            return None
        if size <= SMALL:
            file.write(part)
        else:  # on the disk, which may be slow
            await run_in_threadpool(_write, file, part)
    return size


def _write(file: IO[bytes], data: bytes) -> None:
    try:
        file.write(data)
    except OSError as error:
        raise storage_error(error, "cannot keep the upload") from error


def _listing(objects: Iterator[RemoteObject], rules: str) -> Iterator[bytes]:
    """The answer to a list, piece by piece: a device may have very many objects."""
    before = b'{"objects":['
    while page := [*islice(objects, NAMES_AT_ONCE)]:
        yield before + b",".join(msgspec.json.encode(listed._asdict()) for listed in page)
        before = b","
    yield (b"" if before == b"," else before) + b'],"rules":' + msgspec.json.encode(rules) + b"}"


def _status(error: BackscrollError) -> HTTPStatus:
    for kind, status in STATUS.items():
        if isinstance(error, kind):
            return status
    return HTTPStatus.INTERNAL_SERVER_ERROR


def _headers(error: BackscrollError) -> dict[str, str]:
    if isinstance(error, TooMuchError):
        return {"retry-after": str(error.seconds)}
    return {"retry-after": str(RETRY_SECONDS[type(error)])} if type(error) in RETRY_SECONDS else {}


STATUS: Final[dict[type[BackscrollError], HTTPStatus]] = {
    UnknownDeviceError: HTTPStatus.UNAUTHORIZED,
    OutdatedRulesError: HTTPStatus.PRECONDITION_FAILED,
    NothingFound: HTTPStatus.NOT_FOUND,
    ConflictError: HTTPStatus.CONFLICT,
    DamagedBundleError: HTTPStatus.UNPROCESSABLE_ENTITY,
    TooMuchError: HTTPStatus.TOO_MANY_REQUESTS,
    Busy: HTTPStatus.SERVICE_UNAVAILABLE,
    DiskFull: HTTPStatus.SERVICE_UNAVAILABLE,
    OverQuotaError: HTTPStatus.INSUFFICIENT_STORAGE,
    UsageError: HTTPStatus.BAD_REQUEST,
}
RETRY_SECONDS: Final[dict[type[BackscrollError], int]] = {Busy: 1, DiskFull: 60, OverQuotaError: 3600}
