"""Find a viewer that is already running, and make sure that it is ours."""

import hmac
import json
import os
import secrets
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote

import msgspec

from backscroll import __version__
from backscroll.disk import private_folder, write_private
from backscroll.httpd.guard import CHALLENGE, PROOF, Access
from backscroll.httpd.keys import AccessKeys
from backscroll.settings import Settings
from backscroll.web.state import ViewerState

FILE: Final = "server.json"
PATIENCE: Final = 2.0
"""How long to wait for an answer, in seconds."""


class RunningServer(msgspec.Struct, frozen=True, kw_only=True):
    """What a server writes about itself, readable by the same user only."""

    url: str
    host: str
    """The `--host` that it was started with."""
    port: int
    pid: int
    secret: str
    needs_key: bool
    token: str | None
    """A fingerprint of the user's own token; None for a random one."""
    version: str
    homes: list[str]

    def __repr__(self) -> str:
        """Leave out the secret."""
        return f"Running({self.url}, process {self.pid})"

    @classmethod
    def of(cls, state: ViewerState, url: str, host: str, port: int, access: Access) -> Self:
        """Describe this process."""
        return cls(
            url=url,
            host=host,
            port=port,
            pid=os.getpid(),
            secret=access.keys.secret,
            needs_key=access.needs_key,
            token=access.keys.fingerprint(access.keys.token) if access.keys.is_chosen else None,
            version=__version__,
            homes=_homes(state),
        )

    def link(self, path: str = "/") -> str:
        """A URL to open, with a one-time code if a key is required."""
        return link_to(self.url, path, AccessKeys(secret=self.secret).new_code() if self.needs_key else None)

    def write(self, settings: Settings) -> None:
        """Write it where other processes look for it."""
        write_private(private_folder(settings.library) / FILE, msgspec.json.encode(self))

    def forget(self, settings: Settings) -> None:
        """Remove it, unless another server has taken its place."""
        if _read(settings) == self:
            with suppress(OSError):
                (settings.library / FILE).unlink()

    def answers(self) -> bool:
        """Whether it responds and knows its secret: another program may use the port by now."""
        challenge = secrets.token_urlsafe(16)
        request = urllib.request.Request(f"{self.url}/api/v1/status", headers={CHALLENGE: challenge})  # noqa: S310
        try:
            with OPENER.open(request, timeout=PATIENCE) as answer:
                proof = answer.headers.get(PROOF, "")
        except urllib.error.HTTPError as refused:  # it requires a key; it still proves itself
            with refused:
                proof = refused.headers.get(PROOF, "")
        except OSError:
            return False
        return hmac.compare_digest(proof.encode(), AccessKeys(secret=self.secret).proof(challenge).encode())


def find_running_server(
    state: ViewerState,
    host: str | None = None,
    port: int | None = None,
    token: str | None = None,
    *,
    needs_key: bool = False,
) -> RunningServer | None:
    """A running server of this version for these homes and this library that matches the options, if any."""
    found = _read(state.settings)
    if found is None or found.version != __version__ or found.homes != _homes(state):
        return None
    if (host or found.host, port or found.port) != (found.host, found.port) or (needs_key and not found.needs_key):
        return None
    if token is not None and found.token != AccessKeys(secret=found.secret).fingerprint(token):
        return None
    return found if found.url.startswith("http://") and found.answers() else None


def link_to(url: str, path: str, code: str | None) -> str:
    """A URL, with a code if there is one."""
    return f"{url}{path}" + (f"{'&' if '?' in path else '?'}token={quote(code, safe='')}" if code else "")


def _read(settings: Settings) -> RunningServer | None:
    file: Path = settings.library / FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=RunningServer)
    except (OSError, json.JSONDecodeError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _homes(state: ViewerState) -> list[str]:
    return sorted(os.fsencode(home.path).decode(errors="replace") for home in state.homes)


OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Never through a proxy: the server is on this machine."""
