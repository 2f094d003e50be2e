"""Secrets: how they are made, and what is stored of them.

A secret that we made has 256 random bits: its SHA-256 is enough to know it again. A password is chosen by a person, so
that its hash must be slow: argon2id.
"""

import hashlib
import hmac
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from backscroll.errors import BackscrollError, Busy, UsageError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST_PASSWORD: Final = 12
LONGEST_PASSWORD: Final = 256
ITERATIONS: Final = 2
LANES: Final = 1
MEMORY_KIB: Final = 19 * 1024
"""What OWASP recommends for argon2id; it takes 30 ms of a core."""
MAX_AT_ONCE: Final = 4
"""How many passwords a process hashes at the same time: each takes as much memory as `MEMORY_KIB` says."""
WAIT_SECONDS: Final = 1.0
LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""Of a code that a person types: no vowels, so that no words come about, and nothing that looks like a digit."""


def new_secret(kind: str) -> str:
    """A new secret. `kind` begins it, so that scanners and people see what it is."""
    return f"bs{kind}_{secrets.token_urlsafe(32)}"


def digest(secret: str) -> bytes:
    """What is stored of a secret that we made."""
    return hashlib.sha256(secret.encode(errors="replace")).digest()


def new_code() -> str:
    """A code that a person compares and types: 34 bits, valid for a few minutes."""
    letters = "".join(secrets.choice(LETTERS) for _ in range(8))
    return f"{letters[:4]}-{letters[4:]}"


def typed_code(text: str) -> str:
    """A code as it was made, however it was typed."""
    letters = re.sub("[^A-Z]", "", text.upper())
    return f"{letters[:4]}-{letters[4:8]}"


def is_long_enough(password: str) -> bool:
    """Whether it is as long as a password must be, and not longer than one may be."""
    return SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD


def hash_password(password: str) -> str:
    """What is stored of a password: argon2's own encoding."""
    if not is_long_enough(password):
        raise UsageError(f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters", "choose another one")
    with _turn():
        return _hasher().hash(password.encode(errors="replace"))


def is_password(password: str, stored: str | None) -> bool:
    """Whether it is the password. Takes as long if there is none, so that the time does not tell who has one."""
    from argon2.exceptions import InvalidHashError, VerificationError

    tried = password[:LONGEST_PASSWORD].encode(errors="replace")
    with _turn():
        if stored is not None and stored.startswith(OLD):
            return _is_old_password(tried, stored)
        try:
            _hasher().verify(stored or NO_PASSWORD, tried)
        except (VerificationError, InvalidHashError):
            return False
    return stored is not None


def is_outdated(stored: str) -> bool:
    """Whether a password should be hashed again once it is known: the way to do so has changed since."""
    return stored.startswith(OLD) or _hasher().check_needs_rehash(stored)


def _is_old_password(password: bytes, stored: str) -> bool:
    """What earlier versions stored: the same function, written in a way of our own."""
    from argon2.low_level import Type, hash_secret_raw

    _, iterations, lanes, memory, salt, key = stored.split("$")
    tried = hash_secret_raw(
        password, bytes.fromhex(salt), int(iterations), int(memory), int(lanes), len(key) // 2, Type.ID
    )
    return hmac.compare_digest(tried.hex(), key)


def _hasher() -> "PasswordHasher":
    try:
        from argon2 import PasswordHasher
    except ImportError as error:
        hint = "install it with: pip install 'backscroll[server]'"
        raise BackscrollError("passwords need the argon2-cffi package", hint) from error
    return PasswordHasher(ITERATIONS, MEMORY_KIB, LANES)


@contextmanager
def _turn() -> Iterator[None]:
    if not TURNS.acquire(timeout=WAIT_SECONDS):
        raise Busy("many people are signing in right now", "try again in a moment")
    try:
        yield
    finally:
        TURNS.release()


TURNS: Final = threading.BoundedSemaphore(MAX_AT_ONCE)
OLD: Final = "argon2id$"
NO_PASSWORD: Final = f"$argon2id$v=19$m={MEMORY_KIB},t={ITERATIONS},p={LANES}${'A' * 22}${'A' * 43}"
"""What a password is compared with where there is none."""
