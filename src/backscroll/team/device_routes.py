"""What devices send to the server, over HTTP: `/sync/v1/objects`.

The order makes a crash harmless: the object is durable, then the worker is told, then the device gets its receipt.
A device without its receipt sends the same again, and gets the same receipt.

An upload waits on the disk until it is all there, so that a slow line takes no memory. Then it is judged by what it
unpacks to: that is counted, and that decides how many are checked at the same time.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
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
from backscroll.team.byte_budget import ByteBudget
from backscroll.team.device_objects import LARGEST_INDEX, ConflictError, DeviceObjects, LongIndexError, Receipt, begun
from backscroll.team.limits import Allowance, OverQuotaError
from backscroll.team.project_rules import OutdatedRulesError
from backscroll.team.rates import TooMuchError
from backscroll.web.api.errors import problem_response

LARGEST_OBJECT: Final = 256 << 20
LARGEST_LIST: Final = 4 << 20
SMALL: Final = 1 << 20
"""Bytes of an upload that waits in memory, as appends do; and of an index that is read without waiting for others."""
SMALL_UNPACKED: Final = 16 << 20
SMALL_CHECKS: Final = 4
"""How many small objects are checked at the same time in this process."""
BYTES_OF_LARGE: Final = 96 << 20
"""What all larger objects may take together in memory while they are checked and stored."""
BYTES_OF_ONE: Final = 16 << 20
"""What one takes at least: a window and some pieces."""
MAX_AT_ONCE: Final = {True: 64, False: 16}
MAX_OF_PERSON: Final = {True: 24, False: 4}
"""Uploads that are under way at the same time in this process, in all and of one person, by whether they are small."""
NAMES_AT_ONCE: Final = 1000

Answer = TypeVar("Answer")
Endpoint = Callable[[Request], Awaitable[Response]]
DeviceOf = Callable[[str], Allowance | None]
"""What the device with this credential may send now; None if there is none, or it was revoked."""
Stored = Callable[[str, int, int], object]
"""Called with the device, how many bytes it sent, and how many they unpack to, when something of it is stored or
removed."""
Spend = Callable[[Allowance, int], object]
"""Called with how many bytes an object unpacks to, before it is unpacked; TooMuchError if that is too much for now."""


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
        self._running: Counter[tuple[str, bool]] = Counter()
        """The uploads that are under way, by person and whether they are small; without a person, of everyone."""
        self._small = CapacityLimiter(SMALL_CHECKS)
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
        """The endpoint that finds the device of a request and answers, in one thread."""

        def answered(request: Request) -> Response:
            allowed = self._allowed(request)
            return answer(request, allowed, DeviceObjects(self._objects, allowed.device, self._temporary))

        return _endpoint(lambda request: run_in_threadpool(answered, request))

    def _with_body(self, answer: Callable[[Request, Allowance, DeviceObjects], Awaitable[Response]]) -> Endpoint:
        """The same for a request with a body, which is waited for outside of threads."""

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
            told = msgspec.json.decode(body, type=list[ToldProject])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError("this is not a list of projects", 'send [{"path": "…", "remote": "…"}]') from error
        await run_in_threadpool(self._rules.note_projects, allowed.device, told)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    def _list(self, request: Request, allowed: Allowance, own: DeviceObjects) -> Response:
        objects = own.list(request.query_params.get("prefix", ""))
        return StreamingResponse(begun(_listing(objects, allowed.rules)), media_type="application/json")

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
        is_small = _told_length(request) <= SMALL
        async with self._slot(allowed, is_small=is_small):
            with SpooledTemporaryFile(SMALL, dir=self._temporary) as file:
                size = await _receive(request, file, SMALL if is_small else LARGEST_OBJECT)
                if size is None:
                    error = UsageError("the object is too large", f"send at most {LARGEST_OBJECT:,} bytes")
                    return problem_response(error, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
                receipt = await self._take(request.path_params["name"], file, size, allowed, own)
        return JSONResponse(receipt._asdict(), HTTPStatus.CREATED)

    @asynccontextmanager
    async def _slot(self, allowed: Allowance, *, is_small: bool) -> AsyncIterator[None]:
        """Count an upload while it is under way; Busy if there are too many."""
        own, every = (allowed.person or allowed.device, is_small), ("", is_small)
        if self._running[own] >= MAX_OF_PERSON[is_small] or self._running[every] >= MAX_AT_ONCE[is_small]:
            raise Busy("many devices are sending right now", "try again in a moment")
        self._running.update((own, every))
        try:
            yield
        finally:
            self._running.subtract((own, every))
            if not self._running[own]:
                del self._running[own]

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
    """An endpoint that turns errors into responses."""

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
    while some := [*islice(objects, NAMES_AT_ONCE)]:
        yield before + b",".join(msgspec.json.encode(one._asdict()) for one in some)
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
