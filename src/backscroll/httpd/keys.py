"""Keys: the token that programs send, the code in a link, and the cookie that a browser gets in return.

A link contains a code that works once. The browser exchanges it for a cookie with another value, so a link in a
history, a chat window or a screenshot is useless. Programs send the token as `Authorization: Bearer TOKEN`. Codes,
cookies and proofs are derived from one secret with HMAC, each kind under its own name. Another process of the same user
that knows the secret can make links, and can tell our server from another program on its port.
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

from backscroll import system
from backscroll.errors import UsageError, storage_error

VARIABLE: Final = "BACKSCROLL_TOKEN"
OTHER_WAYS: Final = f"set {VARIABLE}, or write the token to a file and name it with --token-file"

MIN_TOKEN_LENGTH: Final = 16
MAX_TOKEN_LENGTH: Final = 256
"""Longest token that the user may choose."""
NONCE: Final = 22
"""Length of the random part of a code: 128 bits."""


class AccessKeys:
    """The secret of one server, and the keys derived from it."""

    def __init__(self, token: str | None = None, secret: str | None = None) -> None:
        """Use the user's own `token`; without one, make a random one."""
        if token is not None:
            check_token(token)
        self.secret = secret or secrets.token_urlsafe(32)
        self.token = token or secrets.token_urlsafe(32)
        self.is_chosen = token is not None
        self.cookie = self._sign("cookie", "")
        """Value of the cookie."""
        self._used: set[str] = set()
        self._lock = threading.Lock()

    def new_code(self) -> str:
        """Make a new one-time code."""
        nonce = secrets.token_urlsafe(16)
        return nonce + self._sign("link", nonce)

    def is_code(self, code: str) -> bool:
        """Whether a code is genuine, used or not."""
        nonce = code[:NONCE]
        return _same(code, nonce + self._sign("link", nonce))

    def take(self, code: str) -> bool:
        """Use up a code; False if it is invalid or was used before."""
        if not self.is_code(code):
            return False
        with self._lock:
            if code in self._used:
                return False
            self._used.add(code)  # only genuine codes get here, so clients cannot fill it
        return True

    def is_cookie(self, value: str) -> bool:
        """Whether a cookie is valid."""
        return _same(value, self.cookie)

    def is_token(self, value: str) -> bool:
        """Whether a token is valid."""
        return _same(value, self.token)

    def fingerprint(self, token: str) -> str:
        """Return a value that identifies a token without revealing it."""
        return self._sign("token", token)

    def proof(self, challenge: str) -> str:
        """Return the answer to a challenge, which proves knowledge of the secret."""
        return self._sign("proof", challenge)

    def _sign(self, kind: str, text: str) -> str:
        return hmac.new(self.secret.encode(), f"{kind}:{text}".encode(errors="replace"), sha256).hexdigest()


def chosen_token(file: Path | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the token from the file, or else from the environment; None if there is none.

    Never from the command line: every user of the machine can read the arguments of a process.
    """
    token = _read(file) if file is not None else environment.get(VARIABLE) or None
    if token is not None:
        check_token(token)
    return token


def check_token(token: str) -> None:
    """Check that a token fits into a header and is hard to guess."""
    is_printable = all("!" <= character <= "~" for character in token)
    if not (is_printable and MIN_TOKEN_LENGTH <= len(token) <= MAX_TOKEN_LENGTH):
        raise UsageError(
            f"a token must be {MIN_TOKEN_LENGTH} to {MAX_TOKEN_LENGTH} ASCII characters without spaces",
            "choose another, or leave it out to get a random one",
        )


def _read(file: Path) -> str:
    """Return the first line of a file that only its owner can read."""
    try:
        descriptor = os.open(file, os.O_RDONLY | system.CLOSE_ON_EXEC | system.NO_WAIT)  # a pipe must not block us
        with os.fdopen(descriptor, "rb") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{file} is not a regular file", OTHER_WAYS)
            if system.is_open_to_others(status):
                raise UsageError(f"other users can read {file}", f"run chmod 600 {file}, and choose a new token")
            if not system.is_own(status) and status.st_uid != 0:
                raise UsageError(f"{file} belongs to another user", "use a file of your own")
            line = opened.readline(MAX_TOKEN_LENGTH + 2)
    except OSError as error:
        raise storage_error(error, "cannot read the token") from error
    return line.decode("utf-8", "replace").strip()


def _same(one: str, other: str) -> bool:
    """Compare two texts in constant time."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))
