"""Signatures of bundles: proof that an index was written by the device whose key it names.

A device signs the exact bytes of each index with Ed25519; the digits of the signature count as zeros. So the signature
covers every field, those of later versions too, and with them the hashes of all contents. Receivers decide which keys
they trust; nothing of that lives here.
"""

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from backscroll.errors import BackscrollError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SEED_BYTES: Final = 32
UNSIGNED: Final = "0" * 128
"""Stands in an index where its signature belongs, while the signature is made and checked."""
CONTEXT: Final = b"backscroll bundle\n"
"""Prefix of all signed bytes, so that a signature means nothing anywhere else."""
BEGINNING: Final = b'{"signature":"'
SIGNED: Final = re.compile(BEGINNING + rb'([0-9a-f]{128})"')
KEY: Final = re.compile("[0-9a-f]{64}")


class WrongSignatureError(BackscrollError):
    """An index has a signature that its key did not make."""

    def __init__(self) -> None:
        super().__init__("its signature is wrong", "run backscroll sync verify --deep on the machine that wrote it")


class Signer:
    """The signing key of a device. It never leaves the device."""

    def __init__(self, seed: bytes) -> None:
        """`seed` is 32 secret bytes."""
        if len(seed) != SEED_BYTES:
            raise ValueError(f"a seed has {SEED_BYTES} bytes")
        self._seed = seed

    @cached_property
    def public(self) -> str:
        """The public key, in hexadecimal."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, data: bytes) -> str:
        """Return the signature of these bytes, in hexadecimal."""
        return self._key.sign(CONTEXT + data).hex()

    @cached_property
    def _key(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self._seed)


class _Key(Struct):
    """The only field that is read to check a signature."""

    key: str = ""


def sign_index(plain: bytes, signer: Signer) -> bytes:
    """Put the signature into an index, which names the signer's key and has `UNSIGNED` in its first field."""
    at = len(BEGINNING)
    if not plain.startswith(BEGINNING + UNSIGNED.encode()):
        raise ValueError("an index that is signed begins with room for its signature")
    return plain[:at] + signer.sign(plain).encode() + plain[at + len(UNSIGNED) :]


def signed_by(plain: bytes) -> str | None:
    """Return the public key that signed an index; None if it is unsigned, WrongSignatureError if it is wrong."""
    match = SIGNED.match(plain)
    if match is None:
        return None
    try:
        key = msgspec.json.decode(plain, type=_Key).key
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WrongSignatureError from error
    if not KEY.fullmatch(key):
        raise WrongSignatureError
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    data = b"".join([CONTEXT, plain[: match.start(1)], UNSIGNED.encode(), plain[match.end(1) :]])
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(match[1].decode()), data)
    except (InvalidSignature, ValueError) as error:
        raise WrongSignatureError from error
    return key


def fingerprint(key: str) -> str:
    """Return a public key as people compare it: its first 32 digits in groups of four."""
    return " ".join(key[at : at + 4] for at in range(0, 32, 4))
