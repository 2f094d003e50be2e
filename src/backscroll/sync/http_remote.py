"""A team server as a remote: objects are sent over HTTP with the credential of this device.

The server lets a device see and write only the objects below its own name. A receipt names the hash of the stored
bytes, and an object counts as stored only with its receipt. While the server is busy or out of reach, requests are
repeated: each of them may arrive twice without harm.
"""

import contextlib
import hashlib
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from http.client import HTTPException
from typing import IO, Any, Final, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

import msgspec
from msgspec import Struct

from backscroll.errors import BackscrollError, Busy, NothingFound, UsageError
from backscroll.sync.policy import OrgRules
from backscroll.sync.remotes import RemoteObject

OBJECTS: Final = "/sync/v1/objects"
RULES: Final = "/sync/v1/rules"
PROJECTS: Final = "/sync/v1/projects"
RULES_HEADER: Final = "x-backscroll-rules"
"""Header with the digest of the organisation's rules that this device follows."""
TRIES: Final = 8
LONGEST_WAIT: Final = 120.0
"""Seconds that one request waits for a busy server, in all."""
TIMEOUT: Final = 120.0
"""Seconds without an answer."""
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
AGAIN: Final = frozenset({429, 502, 503, 504})
MAX_ANSWER_BYTES: Final = 1 << 29


class RulesChangedError(BackscrollError):
    """The organisation has other rules than those that this device follows."""

    def __init__(self) -> None:
        super().__init__("the rules of your organisation have changed", "run backscroll sync again")


class ToldProject(Struct, frozen=True, omit_defaults=True):
    """A project that this device sends, so that an organisation can make rules by git remote."""

    path: str
    remote: str = ""
    """The git remote, without protocol and user."""


class HttpRemote:
    """The objects of one device on a team server."""

    def __init__(
        self,
        url: str,
        credential: str | None,
        *,
        sleep: Callable[[float], object] = time.sleep,
        rules: str = "",
        tries: int = TRIES,
    ) -> None:
        """`rules` is the digest of the organisation's rules that this device follows."""
        check_address(url)
        if not credential:
            hint = f"run backscroll connect {url}"
            raise UsageError(f"this machine is not connected to {url}", hint)
        self._url = url.rstrip("/")
        self._credential = credential
        self._sleep = sleep
        self._rules = rules
        self._tries = tries
        self._opener = opener()

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        """Yield the objects of this device whose names have this prefix; RulesChangedError if other rules hold now."""
        answer = self._ask("GET", f"{OBJECTS}?prefix={quote(prefix, safe='')}", f"list {self._url}")
        reply = self._read_json(answer)
        if reply.get("rules", "") != self._rules:
            raise RulesChangedError
        for item in reply["objects"]:
            yield RemoteObject(str(item["name"]), int(item["size"]))

    def rules(self) -> OrgRules:
        """Return the rules of the organisation, and follow them from now on."""
        try:
            rules = msgspec.json.decode(self._ask("GET", RULES, f"read the rules of {self._url}"), type=OrgRules)
        except NothingFound:  # a server that has none
            rules = OrgRules()
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            hint = "update backscroll: the server may be newer than this machine"
            raise BackscrollError(f"the rules of {self._url} cannot be read: {error}", hint) from error
        self._rules = rules.digest
        return rules

    def tell_projects(self, projects: Iterable[ToldProject]) -> None:
        """Send the projects that this device syncs to the server."""
        with contextlib.suppress(NothingFound):  # a server that does not ask
            self._ask("PUT", PROJECTS, f"write to {self._url}", msgspec.json.encode(list(projects)))

    def get(self, name: str) -> bytes:
        """Return the bytes of an object."""
        return self._ask("GET", _path(name), f"read {name}")

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield an object as one piece: a server may answer with anything, and a part of it is of no use."""
        yield self.get(name)

    def put(self, name: str, data: bytes) -> bool:
        """Store an object, unless other bytes have this name. True only with a receipt for these bytes."""
        digest = hashlib.sha256(data).hexdigest()
        try:
            receipt = self._read_json(self._ask("PUT", _path(name), f"write {name}", data))
        except _ConflictError:
            return False
        if receipt.get("sha256") != digest or receipt.get("name") != name:
            raise BackscrollError(
                f"{self._url} gave no valid receipt for {name}", "ask the administrator of the server"
            )
        return True

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        """Store the bytes of a file as an object."""
        file.seek(0)
        return self.put(name, file.read())

    def delete(self, name: str) -> None:
        """Remove an object."""
        self._ask("DELETE", _path(name), f"remove {name}")

    def _ask(self, method: str, path: str, doing: str, data: bytes | None = None) -> bytes:
        waited, wait = 0.0, 1.0
        for left in reversed(range(self._tries)):
            headers = {"authorization": f"Bearer {self._credential}", "content-type": "application/octet-stream"}
            headers |= {RULES_HEADER: self._rules} if self._rules else {}
            request = Request(f"{self._url}{path}", data, headers, method=method)  # noqa: S310 - http(s) only, see above
            try:
                with self._opener.open(request, timeout=TIMEOUT) as answer:
                    return bytes(answer.read(MAX_ANSWER_BYTES))
            except HTTPError as error:
                if error.code not in AGAIN:
                    self._refused(error, doing)
                retry_after = error.headers.get("retry-after", "")
                seconds = float(retry_after) if retry_after.isdecimal() else wait
                reason: str = message_of(error) or f"{error.code} {error.reason}"
            except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
                seconds, reason = wait, str(getattr(error, "reason", error))
            seconds *= 1 + random.random() / 4  # noqa: S311 - so that a whole team does not retry at once
            if not left or waited + seconds > LONGEST_WAIT:
                break
            self._sleep(seconds)
            waited, wait = waited + seconds, wait * 2
        raise Busy(f"cannot {doing}: {reason}", "nothing is lost: run backscroll sync again later")

    def _refused(self, error: HTTPError, doing: str) -> NoReturn:
        message = message_of(error) or error.reason
        if error.code == HTTPStatus.NOT_FOUND:
            raise NothingFound(f"cannot {doing}: the remote does not have it", "run backscroll sync verify") from error
        if error.code == HTTPStatus.CONFLICT:
            raise _ConflictError from error
        if error.code == HTTPStatus.PRECONDITION_FAILED:
            raise RulesChangedError from error
        if error.code == HTTPStatus.UNAUTHORIZED:
            hint = f"run backscroll connect {self._url} to connect this machine again"
            raise UsageError(f"{self._url} does not accept this machine: {message}", hint) from error
        if error.code == HTTPStatus.INSUFFICIENT_STORAGE:
            hint = "nothing is lost: ask an administrator for more room, then run backscroll sync again"
            raise BackscrollError(f"the server accepts no more: {message}", hint) from error
        raise BackscrollError(f"cannot {doing}: {message}", "ask the administrator of the server") from error

    def _read_json(self, answer: bytes) -> dict[str, Any]:
        try:
            value = json.loads(answer)
        except ValueError as error:
            hint = "check the address: it is not that of a backscroll server"
            raise BackscrollError(f"{self._url} gave an answer that is not JSON", hint) from error
        return value if isinstance(value, dict) else {}


class _ConflictError(Exception):
    """Other bytes are already stored under this name."""


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects: they would hand the credential to another server."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Return None, so that the answer becomes an error."""


def opener() -> OpenerDirector:
    """Return an opener that follows no redirect."""
    return build_opener(_NoRedirects)


def check_address(url: str) -> None:
    """Raise if a credential must not be sent to this address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise UsageError(f"{url} is not the address of a server", "give one like https://team.example.org")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        hint = "use https://: put a proxy with a certificate in front of the server"
        raise UsageError(f"{url} would carry the credential of this machine in the clear", hint)


def _path(name: str) -> str:
    return f"{OBJECTS}/{quote(name, safe='/')}"


def message_of(error: HTTPError) -> str:
    """Return the message of the server, in one line."""
    try:
        reply = json.loads(error.read(10_000))
    except (ValueError, OSError):
        return ""
    error_field = reply.get("error") if isinstance(reply, dict) else None
    return str(error_field.get("message", ""))[:300] if isinstance(error_field, dict) else ""
