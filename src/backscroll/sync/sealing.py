"""Encryption for remotes that are not trusted: a passphrase, and a key made of it.

Every index and every segment is sealed by itself with AES-256-GCM under a random nonce, together with what it belongs
to, so that no part can be put in another's place. The key is made of the passphrase with Argon2id; its salt and its
costs lie in one small object, with a sealed word that tells a wrong passphrase at once. Device names are replaced by
keyed hashes. What a stranger sees: how many machines, bundles and bytes there are, and when they were written.
docs/reference/sync-format.md describes the bytes.
"""

import hashlib
import hmac
import secrets
from typing import Final

import msgspec
from msgspec import Struct

from backscroll.errors import NothingFound, NotInstalled, UsageError
from backscroll.sync.bundles import DamagedBundleError, Seal
from backscroll.sync.objects import ROOT
from backscroll.sync.remotes import Remote

KEY_OBJECT: Final = f"{ROOT}key.json"
WORD: Final = b"backscroll"
NONCE: Final = 12
KEY_BYTES: Final = 32
MAX_MEMORY: Final = 1 << 21
"""KiB that a key object may ask for: more could come only from a stranger."""


class KeyFacts(Struct, frozen=True):
    """How the key is made of the passphrase, and a word sealed with it. Bytes are hexadecimal."""

    salt: str
    word: str
    iterations: int = 3
    lanes: int = 4
    memory_kib: int = 1 << 16


def make_key(passphrase: str) -> tuple[bytes, KeyFacts]:
    """A new key for a remote."""
    facts = KeyFacts(secrets.token_hex(16), "")
    key = _derive(passphrase, facts)
    return key, msgspec.structs.replace(facts, word=seal_with(key).close(WORD, b"word").hex())


def open_key(passphrase: str, facts: KeyFacts) -> bytes:
    """The key of a remote; an error if the passphrase is wrong."""
    if not (0 < facts.memory_kib <= MAX_MEMORY and 0 < facts.iterations <= 100 and 0 < facts.lanes <= 64):
        raise DamagedBundleError("its key object asks for what cannot be")
    key = _derive(passphrase, facts)
    try:
        seal_with(key).open(bytes.fromhex(facts.word), b"word")
    except DamagedBundleError as error:
        raise UsageError("the passphrase is wrong", "give the one that this remote was created with") from error
    return key


def key_of(remote: Remote, passphrase: str | None) -> bytes | None:
    """The key for a remote. A new remote gets one if there is a passphrase; None if the remote is not encrypted."""
    facts = _read_facts(remote)
    if facts is None:
        if passphrase is None:
            return None
        if any(True for _ in remote.list(ROOT)):
            hint = "use an empty folder or another prefix for an encrypted one"
            raise UsageError("this remote is in use without encryption", hint)
        key, facts = make_key(passphrase)
        if remote.put(KEY_OBJECT, msgspec.json.encode(facts)):
            return key
        facts = _read_facts(remote)  # another machine was faster
    if facts is None or passphrase is None:
        raise UsageError("this remote is encrypted", "give its passphrase in BACKSCROLL_PASSPHRASE")
    return open_key(passphrase, facts)


def seal_with(key: bytes) -> Seal:
    """Seals with this key."""
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise NotInstalled("cryptography") from error
    aead = AESGCM(key)

    def close(data: bytes, about: bytes) -> bytes:
        nonce = secrets.token_bytes(NONCE)
        return nonce + aead.encrypt(nonce, data, about)

    def open_(data: bytes, about: bytes) -> bytes:
        try:
            return aead.decrypt(data[:NONCE], data[NONCE:], about)
        except (InvalidTag, ValueError) as error:
            raise DamagedBundleError("it was not sealed with this passphrase, or was changed") from error

    return Seal(close, open_)


def hidden_device(key: bytes, device: str) -> str:
    """The name under which a device writes to an encrypted remote."""
    return hmac.new(key, device.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]


def _read_facts(remote: Remote) -> KeyFacts | None:
    try:
        return msgspec.json.decode(remote.get(KEY_OBJECT), type=KeyFacts)
    except NothingFound:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedBundleError(f"its key object cannot be read ({error})") from error


def _derive(passphrase: str, facts: KeyFacts) -> bytes:
    try:
        from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
    except ImportError as error:
        raise NotInstalled("cryptography") from error
    kdf = Argon2id(
        salt=bytes.fromhex(facts.salt), length=KEY_BYTES, iterations=facts.iterations, lanes=facts.lanes,
        memory_cost=facts.memory_kib,
    )  # fmt: skip
    return kdf.derive(passphrase.encode())
