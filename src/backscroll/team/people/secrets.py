"""Make secrets and codes, and hash them and passwords for storage.

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
"""Settings that OWASP recommends for argon2id; a hash takes 30 ms of a core."""
MAX_AT_ONCE: Final = 4
"""Passwords that a process hashes at the same time: each takes `MEMORY_KIB` of memory."""
WAIT_SECONDS: Final = 1.0
LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""Letters of a code that people type: no vowels, which would make words, and none that look like digits."""


def new_secret(kind: str) -> str:
    """Make a secret that begins with its `kind`, so that scanners and people recognise it."""
    return f"bs{kind}_{secrets.token_urlsafe(32)}"


def digest(secret: str) -> bytes:
    """Hash a secret that we made, for storage."""
    return hashlib.sha256(secret.encode(errors="replace")).digest()


def new_code() -> str:
    """Make a code that a person compares and types: 34 bits, valid for a few minutes."""
    letters = "".join(secrets.choice(LETTERS) for _ in range(8))
    return f"{letters[:4]}-{letters[4:]}"


def typed_code(text: str) -> str:
    """Normalise a typed code to the form in which it was made."""
    letters = re.sub("[^A-Z]", "", text.upper())
    return f"{letters[:4]}-{letters[4:8]}"


def is_long_enough(password: str) -> bool:
    """Whether a password has an allowed length."""
    return SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD


def hash_password(password: str) -> str:
    """Hash a password, for storage, in argon2's own encoding."""
    if not is_long_enough(password):
        raise UsageError(f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters", "choose another one")
    with _hashing_slot():
        return _hasher().hash(password.encode(errors="replace"))


def is_password(password: str, stored: str | None) -> bool:
    """Whether a password matches its hash. Takes as long without a hash, so that the time does not tell who has one."""
    from argon2.exceptions import InvalidHashError, VerificationError

    tried = password[:LONGEST_PASSWORD].encode(errors="replace")
    with _hashing_slot():
        if stored is not None and stored.startswith(OLD):
            return _is_old_password(tried, stored)
        try:
            _hasher().verify(stored or NO_PASSWORD, tried)
        except (VerificationError, InvalidHashError):
            return False
    return stored is not None


def is_outdated(stored: str) -> bool:
    """Whether the hash of a password was made with older settings, and should be made again."""
    return stored.startswith(OLD) or _hasher().check_needs_rehash(stored)


def _is_old_password(password: bytes, stored: str) -> bool:
    """Whether a password matches a hash of earlier versions: the same function in an encoding of our own."""
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
def _hashing_slot() -> Iterator[None]:
    if not HASHING_SLOTS.acquire(timeout=WAIT_SECONDS):
        raise Busy("many people are signing in right now", "try again in a moment")
    try:
        yield
    finally:
        HASHING_SLOTS.release()


HASHING_SLOTS: Final = threading.BoundedSemaphore(MAX_AT_ONCE)
OLD: Final = "argon2id$"
NO_PASSWORD: Final = f"$argon2id$v=19$m={MEMORY_KIB},t={ITERATIONS},p={LANES}${'A' * 22}${'A' * 43}"
"""The hash that a password is compared with where there is none."""
