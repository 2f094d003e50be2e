"""Encryption for remotes that are not trusted: a passphrase, and a key made of it.

Every index and every segment is sealed by itself with AES-256-GCM under a random nonce, bound to its place, so that no
part can be put in another's place. The key is made of the passphrase with Argon2id; its salt and its costs lie in one
small object, with a sealed word that tells a wrong passphrase at once. Device names are replaced by keyed hashes. A
stranger sees how many machines, bundles and bytes there are, and when they were written. docs/reference/sync-format.md
describes the bytes. `key_object` checks and mends the small object.
"""

import hashlib
import hmac
import secrets
from tempfile import TemporaryFile
from typing import IO, Final

import msgspec
from msgspec import Struct

from backscroll.errors import BackscrollError, UsageError
from backscroll.sync.bundles import DamagedBundleError, Seal
from backscroll.sync.frames import PIECE
from backscroll.sync.objects import ROOT

KEY_OBJECT: Final = f"{ROOT}key.json"
WORD: Final = b"backscroll"
NONCE: Final = 12
TAG: Final = 16
NOT_OURS: Final = "it was not sealed with this passphrase, or was changed"
KEY_BYTES: Final = 32
CHECK_BYTES: Final = 16
MAX_MEMORY_KIB: Final = 1 << 18
MAX_WORK: Final = 4 * 3 << 16
"""Largest cost in a key object, in KiB times iterations: four times what we write. More could come only from a
stranger, and would keep a machine busy in silence."""
MAX_LANES: Final = 16
MAX_ITERATIONS: Final = 255
SALT_BYTES: Final = range(8, 65)


class KeyFacts(Struct, frozen=True):
    """Salt and costs for making the key from the passphrase, and a word sealed with it. Bytes are hexadecimal."""

    salt: str
    word: str
    iterations: int = 3
    lanes: int = 4
    memory_kib: int = 1 << 16
    check: str = ""
    """A keyed hash of salt and costs, which only a machine with the key can make; earlier versions wrote none."""

    @property
    def recipe(self) -> tuple[str, int, int, int]:
        """Inputs of the key derivation, besides the passphrase."""
        return self.salt, self.iterations, self.lanes, self.memory_kib


class KeyObjectError(BackscrollError):
    """A key object that cannot be used."""


class WrongPassphraseError(UsageError):
    """The passphrase is not the one that the remote was created with."""

    def __init__(self) -> None:
        super().__init__("the passphrase is wrong", "give the one that this remote was created with")


def make_key(passphrase: str) -> tuple[bytes, KeyFacts]:
    """Return a new key for a remote, and its facts."""
    facts = KeyFacts(secrets.token_hex(16), "")
    key = derive(passphrase, facts)
    return key, with_proof(key, facts)


def with_proof(key: bytes, facts: KeyFacts) -> KeyFacts:
    """Return the facts with proof that they belong to this key: a word sealed with it, and a hash of salt and costs."""
    word = facts.word if opens(key, facts) else seal_with(key).close(WORD, b"word").hex()
    return msgspec.structs.replace(facts, word=word, check=check_of(key, facts).hex())


def open_key(passphrase: str, facts: KeyFacts) -> bytes:
    """Return the key of a remote; WrongPassphraseError if the passphrase is wrong."""
    key = derive(passphrase, facts)
    if not opens(key, facts):
        raise WrongPassphraseError
    return key


def opens(key: bytes, facts: KeyFacts) -> bool:
    """Whether the word is sealed with this key. Salt and costs may still be changed: see `is_proved`."""
    try:
        return seal_with(key).open(bytes.fromhex(facts.word), b"word") == WORD
    except (DamagedBundleError, ValueError):
        return False


def is_proved(key: bytes, facts: KeyFacts) -> bool:
    """Whether a machine with this key wrote salt and costs."""
    try:
        return hmac.compare_digest(bytes.fromhex(facts.check), check_of(key, facts))
    except ValueError:
        return False


def check_of(key: bytes, facts: KeyFacts) -> bytes:
    """Return the keyed hash of salt and costs."""
    statement = "backscroll key {} {} {} {}".format(*facts.recipe)
    return hmac.new(key, statement.encode(), hashlib.sha256).digest()[:CHECK_BYTES]


def decode_facts(data: bytes) -> KeyFacts:
    """Decode the contents of a key object; KeyObjectError if they cannot be read."""
    try:
        return msgspec.json.decode(data, type=KeyFacts)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise KeyObjectError(f"{KEY_OBJECT} cannot be read ({error})", MEND) from error


def seal_with(key: bytes) -> Seal:
    """Return a Seal that encrypts and decrypts with this key."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import GCM

    aead = AESGCM(key)

    def close(data: bytes, about: bytes) -> bytes:
        nonce = secrets.token_bytes(NONCE)
        return nonce + aead.encrypt(nonce, data, about)

    def open_(data: bytes, about: bytes) -> bytes:
        try:
            return aead.decrypt(data[:NONCE], data[NONCE:], about)
        except (InvalidTag, ValueError) as error:
            raise DamagedBundleError(NOT_OURS) from error

    def open_file(data: IO[bytes], about: bytes) -> IO[bytes]:
        nonce = data.read(NONCE)
        decryptor = Cipher(AES256(key), GCM(nonce)).decryptor() if len(nonce) == NONCE else None
        plain, last = TemporaryFile(), b""  # noqa: SIM115 - removed when nothing refers to it any more
        try:
            if decryptor is None:
                raise ValueError("it is too short")
            decryptor.authenticate_additional_data(about)
            while piece := data.read(PIECE):
                last += piece
                plain.write(decryptor.update(last[:-TAG]))
                last = last[-TAG:]
            plain.write(decryptor.finalize_with_tag(last))
        except (InvalidTag, ValueError) as error:
            plain.close()
            raise DamagedBundleError(NOT_OURS) from error
        plain.seek(0)
        return plain

    return Seal(close, open_, open_file)


def hidden_device(key: bytes, device: str) -> str:
    """Return the name under which a device writes to an encrypted remote."""
    return hmac.new(key, device.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]


def derive(passphrase: str, facts: KeyFacts) -> bytes:
    """Derive the key from a passphrase; KeyObjectError for a salt or costs that no version of this program writes."""
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    try:
        salt = bytes.fromhex(facts.salt)
    except ValueError:
        salt = b""
    is_sane = (
        0 < facts.lanes <= MAX_LANES
        and 0 < facts.iterations <= MAX_ITERATIONS
        and 8 * facts.lanes <= facts.memory_kib <= MAX_MEMORY_KIB
        and facts.memory_kib * facts.iterations <= MAX_WORK
        and len(salt) in SALT_BYTES
    )
    if not is_sane:
        asks = f"{facts.memory_kib:,} KiB of memory, {facts.iterations:,} times, in {facts.lanes:,} lanes"
        raise KeyObjectError(f"{KEY_OBJECT} asks for what backscroll never does to make a key: {asks}", MEND)
    kdf = Argon2id(
        salt=salt, length=KEY_BYTES, iterations=facts.iterations, lanes=facts.lanes, memory_cost=facts.memory_kib
    )
    return kdf.derive(passphrase.encode("utf-8", "surrogateescape"))


MEND: Final = "run backscroll sync on a machine that has this remote: it writes the right one again"
