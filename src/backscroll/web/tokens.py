"""Keys: who may come in where the server can be reached from elsewhere.

A link carries a code that is good once. Whoever brings it gets a cookie, which holds something else, so that what
stands in a history, a chat window or a picture of the screen opens nothing. Programs send the token itself, as
`Authorization: Bearer TOKEN`. Everything but the token is made from one secret by HMAC, each kind with its own name:
another process of the same user that knows the secret can make links, and can tell our server from a stranger's.
"""

import hmac
import secrets
import threading
from hashlib import sha256
from typing import Final

from backscroll.errors import UsageError

SHORTEST: Final = 16
LONGEST: Final = 256
"""Of a token that the user chose, in characters."""
NONCE: Final = 22
"""How long the random part of a code is, in characters: 128 bits."""


class Keys:
    """The secret of one server, and what is made from it."""

    def __init__(self, token: str | None = None, secret: str | None = None) -> None:
        """`token` is what the user chose for programs, and may also be used once in a link."""
        if token is not None:
            check_token(token)
        self.secret = secret or secrets.token_urlsafe(32)
        self.token = token or secrets.token_urlsafe(32)
        self.cookie = self._made("cookie", "")
        """What the cookie holds."""
        self._chosen = token
        self._used: set[str] = set()
        self._lock = threading.Lock()

    def new_code(self) -> str:
        """A code for one more link."""
        nonce = secrets.token_urlsafe(16)
        return nonce + self._made("link", nonce)

    def first_code(self) -> str:
        """The code of the first link: what the user chose, if anything."""
        return self._chosen or self.new_code()

    def take(self, code: str) -> bool:
        """Whether a code is good; from now on it is not."""
        nonce = code[:NONCE]
        is_made = _same(code, nonce + self._made("link", nonce))
        is_chosen = _same(code, self._chosen or "") and self._chosen is not None
        if not (is_made or is_chosen):
            return False
        with self._lock:
            if code in self._used:
                return False
            self._used.add(code)  # only good ones get here, so strangers cannot fill it
        return True

    def is_cookie(self, value: str) -> bool:
        """Whether a cookie is ours."""
        return _same(value, self.cookie)

    def is_token(self, value: str) -> bool:
        """Whether a program knows the token."""
        return _same(value, self.token)

    def proof(self, challenge: str) -> str:
        """What only somebody who knows the secret can answer."""
        return self._made("proof", challenge)

    def _made(self, kind: str, text: str) -> str:
        return hmac.new(self.secret.encode(), f"{kind}:{text}".encode(errors="replace"), sha256).hexdigest()


def check_token(token: str) -> None:
    """A token must fit into a header and an address, and be hard to guess."""
    if not SHORTEST <= len(token) <= LONGEST or not all("!" <= character <= "~" for character in token):
        raise UsageError(
            f"a token has {SHORTEST} to {LONGEST} characters of ASCII, without spaces",
            "leave --token out to have one made",
        )


def _same(one: str, other: str) -> bool:
    """Compared in a time that tells nothing of where they differ."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))
