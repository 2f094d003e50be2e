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
from backscroll.disk import private_folder, read_own, write_private
from backscroll.httpd.guard import CHALLENGE, PROOF, Access
from backscroll.httpd.keys import AccessKeys
from backscroll.settings import Settings
from backscroll.web.state import ViewerState

FILE: Final = "server.json"
PATIENCE: Final = 2.0
"""Seconds to wait for an answer."""


class RunningServer(msgspec.Struct, frozen=True, kw_only=True):
    """The description that a server writes about itself, readable by the same user only."""

    url: str
    host: str
    """The `--host` that the server was started with."""
    port: int
    pid: int
    secret: str
    needs_key: bool
    token: str | None
    """Fingerprint of the user's own token; None for a random one."""
    version: str
    homes: list[str]

    def __repr__(self) -> str:
        """Leave out the secret."""
        return f"Running({self.url}, process {self.pid})"

    @classmethod
    def of(cls, state: ViewerState, url: str, host: str, port: int, access: Access) -> Self:
        """Describe the server of this process."""
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
        """Return a URL to open, with a one-time code if a key is required."""
        return link_to(self.url, path, AccessKeys(secret=self.secret).new_code() if self.needs_key else None)

    def write(self, settings: Settings) -> None:
        """Write the description where other processes look for it."""
        write_private(private_folder(settings.library) / FILE, msgspec.json.encode(self))

    def forget(self, settings: Settings) -> None:
        """Remove the description, unless another server has replaced it."""
        if _read(settings) == self:
            with suppress(OSError):
                (settings.library / FILE).unlink()

    def answers(self) -> bool:
        """Whether the server responds and knows its secret: another program may use the port by now."""
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
    """Find a running server of this version for these homes and this library that matches the options, if any."""
    server = _read(state.settings)
    if server is None or server.version != __version__ or server.homes != _homes(state):
        return None
    if (host or server.host, port or server.port) != (server.host, server.port) or (needs_key and not server.needs_key):
        return None
    if token is not None and server.token != AccessKeys(secret=server.secret).fingerprint(token):
        return None
    return server if server.url.startswith("http://") and server.answers() else None


def link_to(url: str, path: str, code: str | None) -> str:
    """Return a URL, with a code if there is one."""
    return f"{url}{path}" + (f"{'&' if '?' in path else '?'}token={quote(code, safe='')}" if code else "")


def _read(settings: Settings) -> RunningServer | None:
    file: Path = settings.library / FILE
    try:
        return msgspec.json.decode(read_own(file), type=RunningServer)
    except (OSError, json.JSONDecodeError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _homes(state: ViewerState) -> list[str]:
    return sorted(os.fsencode(home.path).decode(errors="replace") for home in state.homes)


OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opener without a proxy: the server is on this machine."""
