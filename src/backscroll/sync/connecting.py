"""Ask a team server to let this machine in, and wait until a person approves it."""

import json
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request

from backscroll.errors import BackscrollError, Busy, UsageError
from backscroll.sync.http_remote import check_address, message_of, opener

PATH: Final = "/sync/v1/connect"
RECOVERY: Final = "/sync/v1/recovery"
POLL_SECONDS: Final = 2.0
TIMEOUT: Final = 30.0


class Invitation(NamedTuple):
    """The code and address that a person needs to approve this machine."""

    secret: str
    code: str
    address: str
    seconds: int


class Connected(NamedTuple):
    """The credential and names of an approved machine."""

    credential: str
    device: str
    """The name of this machine on the server."""
    person: str
    org: str


def ask_to_connect(url: str, machine: str) -> Invitation:
    """Ask a server to let this machine in; the answer has the code that a person compares."""
    check_address(url)
    answer = _ask(url, json.dumps({"machine": machine}).encode())
    try:
        return Invitation(str(answer["secret"]), str(answer["code"]), str(answer["address"]), int(answer["seconds"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _not_a_server(url) from error


def wait_to_connect(url: str, asked: Invitation, sleep: Callable[[float], object] = time.sleep) -> Connected:
    """Wait until a person lets this machine in; UsageError if they refuse, or the time is up."""
    for _ in range(round(asked.seconds / POLL_SECONDS)):
        answer = _ask(url, None, asked.secret)
        if answer:
            try:
                return Connected(*(str(answer[name]) for name in ("secret", "device", "person", "org")))
            except KeyError as error:
                raise _not_a_server(url) from error
        sleep(POLL_SECONDS)
    raise UsageError("this machine was not approved in time", f"run backscroll connect {url} again")


class WaitingRecovery(NamedTuple):
    """A sign-in to the account of this machine's person that has to be confirmed."""

    person: str
    made_by: str
    """Name of the person who made the link that the sign-in began with."""
    opened: str


def waiting_recovery(url: str, credential: str, code: str) -> WaitingRecovery:
    """Return the recovery that waits with a code that a page shows; UsageError if there is none."""
    check_address(url)
    answer = _ask(url, None, credential, f"{RECOVERY}?{urlencode({'code': code})}")
    try:
        return WaitingRecovery(*(str(answer[name]) for name in WaitingRecovery._fields))
    except KeyError as error:
        raise _not_a_server(url) from error


def answer_recovery(url: str, credential: str, code: str, *, is_mine: bool) -> None:
    """Confirm or refuse the recovery with this code."""
    _ask(url, json.dumps({"code": code, "is_mine": is_mine}).encode(), credential, RECOVERY)


def _ask(url: str, data: bytes | None, secret: str = "", path: str = PATH) -> dict[str, Any]:
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {secret}"} if secret else {})}
    request = Request(f"{url.rstrip('/')}{path}", data, headers)  # noqa: S310 - check_address allows http(s) only
    try:
        with opener().open(request, timeout=TIMEOUT) as answer:
            reply = json.loads(answer.read(100_000) or b"{}")
    except HTTPError as error:
        message = message_of(error)
        if not message:
            raise _not_a_server(url) from error
        hint = f"run backscroll connect {url} again" if path == PATH else "compare the code with the page"
        raise UsageError(message, hint) from error
    except (URLError, TimeoutError, ConnectionError) as error:
        hint = "check the address, and try again"
        raise Busy(f"cannot reach {url}: {getattr(error, 'reason', error)}", hint) from error
    except ValueError as error:
        raise _not_a_server(url) from error
    return reply if isinstance(reply, dict) else {}


def _not_a_server(url: str) -> BackscrollError:
    return BackscrollError(f"{url} is not a backscroll server", "check the address")
