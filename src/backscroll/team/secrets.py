"""Secrets: how they are made, and what is stored of them.

A secret that we made has 256 random bits: its SHA-256 is enough to know it again. A password is chosen by a person, so
that its hash must be slow: argon2id.
"""

import hashlib
import hmac
import re
import secrets
from typing import Final

from backscroll.errors import BackscrollError, UsageError

SHORTEST_PASSWORD: Final = 12
LONGEST_PASSWORD: Final = 256
ITERATIONS: Final = 2
LANES: Final = 1
MEMORY_KIB: Final = 19 * 1024
"""What OWASP recommends for argon2id; it takes 30 ms of a core."""
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
    """What is stored of a password."""
    if not is_long_enough(password):
        raise UsageError(f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters", "choose another one")
    salt = secrets.token_bytes(16)
    key = _derive(password, salt, ITERATIONS, LANES, MEMORY_KIB)
    return f"argon2id${ITERATIONS}${LANES}${MEMORY_KIB}${salt.hex()}${key.hex()}"


def is_password(password: str, stored: str | None) -> bool:
    """Whether it is the password. Takes as long if there is none, so that the time does not tell who has one."""
    _, iterations, lanes, memory, salt, key = (stored or NO_PASSWORD).split("$")
    tried = _derive(password[:LONGEST_PASSWORD], bytes.fromhex(salt), int(iterations), int(lanes), int(memory))
    return hmac.compare_digest(tried.hex(), key) and stored is not None


def _derive(password: str, salt: bytes, iterations: int, lanes: int, memory: int) -> bytes:
    try:
        from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
    except ImportError as error:
        hint = "install it with: pip install 'backscroll[server]'"
        raise BackscrollError("passwords need the cryptography package", hint) from error
    kdf = Argon2id(salt=salt, length=32, iterations=iterations, lanes=lanes, memory_cost=memory)
    return kdf.derive(password.encode(errors="replace"))


NO_PASSWORD: Final = f"argon2id${ITERATIONS}${LANES}${MEMORY_KIB}${'00' * 16}${'00' * 32}"
