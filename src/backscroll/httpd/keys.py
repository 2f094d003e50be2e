"""Keys: the token that programs send, the code in a link, and the cookie that a browser gets for it.

A link carries a code that works once. The browser that brings it gets a cookie, which holds something else, so a link
in a history, a chat window or a screenshot opens nothing. Programs send the token itself, as `Authorization: Bearer
TOKEN`. Everything but the token is made from one secret by HMAC, each kind under its own name: another process of the
same user that knows the secret can make links, and can tell our server from another one on its port.
"""

import hmac
import os
import secrets
import stat
import threading
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from backscroll.errors import UsageError, storage_error

VARIABLE: Final = "BACKSCROLL_TOKEN"
OTHER_WAYS: Final = f"set {VARIABLE}, or write the token to a file and name it with --token-file"

SHORTEST: Final = 16
LONGEST: Final = 256
"""Of a token that the user chose, in characters."""
NONCE: Final = 22
"""How long the random part of a code is, in characters: 128 bits."""


class AccessKeys:
    """The secret of one server, and what is made from it."""

    def __init__(self, token: str | None = None, secret: str | None = None) -> None:
        """`token` is what the user chose for programs; without one it is random."""
        if token is not None:
            check_token(token)
        self.secret = secret or secrets.token_urlsafe(32)
        self.token = token or secrets.token_urlsafe(32)
        self.is_chosen = token is not None
        self.cookie = self._made("cookie", "")
        """What the cookie holds."""
        self._used: set[str] = set()
        self._lock = threading.Lock()

    def new_code(self) -> str:
        """A code for one more link."""
        nonce = secrets.token_urlsafe(16)
        return nonce + self._made("link", nonce)

    def is_code(self, code: str) -> bool:
        """Whether a code was made here, used or not."""
        nonce = code[:NONCE]
        return _same(code, nonce + self._made("link", nonce))

    def take(self, code: str) -> bool:
        """Whether a code is good; from now on it is not."""
        if not self.is_code(code):
            return False
        with self._lock:
            if code in self._used:
                return False
            self._used.add(code)  # only codes of ours get here, so nobody else can fill it
        return True

    def is_cookie(self, value: str) -> bool:
        """Whether a cookie is ours."""
        return _same(value, self.cookie)

    def is_token(self, value: str) -> bool:
        """Whether a program knows the token."""
        return _same(value, self.token)

    def fingerprint(self, token: str) -> str:
        """What tells one token from another without giving it away."""
        return self._made("token", token)

    def proof(self, challenge: str) -> str:
        """What only somebody who knows the secret can answer."""
        return self._made("proof", challenge)

    def _made(self, kind: str, text: str) -> str:
        return hmac.new(self.secret.encode(), f"{kind}:{text}".encode(errors="replace"), sha256).hexdigest()


def chosen_token(file: Path | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The token in the file, else in the environment; None if there is none.

    Never from the command line: every user of the machine can read the arguments of a running program.
    """
    token = _read(file) if file is not None else environment.get(VARIABLE) or None
    if token is not None:
        check_token(token)
    return token


def check_token(token: str) -> None:
    """A token must fit into a header, and be hard to guess."""
    if not SHORTEST <= len(token) <= LONGEST or not all("!" <= character <= "~" for character in token):
        raise UsageError(
            f"a token is {SHORTEST} to {LONGEST} ASCII characters without spaces",
            "choose another, or leave it out to get a random one",
        )


def _read(file: Path) -> str:
    """The first line of a file that only its owner can read."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe must not keep us waiting
        with os.fdopen(descriptor, "rb") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{file} is not a regular file", OTHER_WAYS)
            if stat.S_IMODE(status.st_mode) & 0o077:
                raise UsageError(f"other users can read {file}", f"run chmod 600 {file}, and choose a new token")
            if status.st_uid not in (os.geteuid(), 0):
                raise UsageError(f"{file} belongs to another user", "use a file of your own")
            line = opened.readline(LONGEST + 2)
    except OSError as error:
        raise storage_error(error, "cannot read the token") from error
    return line.decode("utf-8", "replace").strip()


def _same(one: str, other: str) -> bool:
    """Compared in a time that tells nothing of where they differ."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))
