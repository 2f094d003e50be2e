"""The key object of an encrypted remote: check that it belongs to the key, and write it again if not.

Without it a passphrase opens nothing, and anyone who can write to a remote can remove or replace it. So every machine
keeps its contents. A key object that does not belong to the key of this machine is replaced only where something on
the remote opens with that key: otherwise the remote was started anew, by its owner or by someone else.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby, islice
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.sync.bundles import INDEX, MAGIC, DamagedBundleError
from backscroll.sync.folder_objects import RefusedObjectError
from backscroll.sync.objects import ROOT, BundleObject, parse_object
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.sync.sealing import (
    KEY_OBJECT,
    KeyFacts,
    KeyObjectError,
    decode_facts,
    is_proved,
    make_key,
    open_key,
    opens,
    seal_with,
    with_proof,
)

ZSTD: Final = b"\x28\xb5\x2f\xfd"
LONGEST_PACKED_INDEX: Final = 16 << 20
MAX_LOOKS: Final = 3
"""Largest number of objects of a device that are read."""


class KeptKey(Struct, frozen=True):
    """The copy of a remote's key object that a machine keeps."""

    facts: KeyFacts
    seen: str = ""
    """The stamp of the object when it was last found to be right."""


class KeyPlan(NamedTuple):
    """The key facts to keep from now on, and the action that the key object needs."""

    kept: KeptKey | None
    is_missing: bool = False
    is_foreign: bool = False
    must_write: bool = False
    problem: str = ""
    """Problem of the key object that cannot be mended here."""

    @property
    def note(self) -> str:
        """A sentence about the state of the key object; empty if all is well."""
        if self.problem:
            return self.problem
        if self.is_missing:
            return f"{KEY_OBJECT} was missing"
        return f"{KEY_OBJECT} was not that of this remote" if self.is_foreign else ""


class StartedAnewError(KeyObjectError):
    """Nothing on a remote opens with the key of this machine."""

    def __init__(self) -> None:
        super().__init__(
            "this remote was started anew with another passphrase: nothing on it opens with the key of this machine",
            "nothing was changed. If you started it anew, run backscroll sync remove, and add it with its passphrase; "
            "if not, look who can write to it",
        )


def read_facts(remote: Remote) -> KeyFacts | None:
    """Return the contents of the key object of a remote; None without one, KeyObjectError if it cannot be read."""
    try:
        data = remote.get(KEY_OBJECT)
    except NothingFound:
        return None
    except RefusedObjectError as error:
        raise KeyObjectError(error.message, error.hint) from error
    return decode_facts(data)


def key_of(remote: Remote, passphrase: str | None) -> bytes | None:
    """Return the key for a remote, made anew for a new remote with a passphrase; None if it is not encrypted."""
    chosen = choose_key(remote, [*remote.list(ROOT)], passphrase)
    if chosen is None:
        return None
    key, facts = chosen
    if read_facts(remote) is None and not write_facts(remote, facts):  # another machine was faster
        return key_of(remote, passphrase)
    return key


def choose_key(
    remote: Remote, listing: Sequence[RemoteObject], passphrase: str | None
) -> tuple[bytes, KeyFacts] | None:
    """Return the key for a remote and the contents that its key object must have; None if it is not encrypted.

    Writes nothing.
    """
    is_sealed = is_encrypted(remote, listing)
    if is_sealed is False:
        if passphrase is None:
            return None
        hint = "use an empty folder or another prefix for an encrypted one"
        raise UsageError("this remote is in use without encryption", hint)
    facts = read_facts(remote)
    if facts is None and is_sealed:
        hint = "run backscroll sync on a machine that has it, or add it with --recovery and its recovery sheet"
        raise KeyObjectError(f"this remote is encrypted, and its {KEY_OBJECT} is missing", hint)
    if passphrase is None:
        if facts is None:
            return None
        raise UsageError("this remote is encrypted", "give its passphrase in BACKSCROLL_PASSPHRASE")
    if facts is None:
        return make_key(passphrase)
    key = open_key(passphrase, facts)
    return key, with_proof(key, facts)


def is_encrypted(remote: Remote, listing: Iterable[RemoteObject]) -> bool | None:
    """Whether a remote is encrypted; None if it is new.

    One sealed bundle, or a key object, is enough: adding other objects cannot make a machine send without encryption.
    """
    objects = [*listing]
    if any(item.name == KEY_OBJECT for item in objects):
        return True
    are_sealed = {not packed.startswith(ZSTD) for packed in _packed_indexes(remote, objects)}
    return any(are_sealed) if are_sealed else None


def plan_for(remote: Remote, listing: Iterable[RemoteObject], key: bytes, kept: KeptKey | None) -> KeyPlan:
    """Compare the key object with the key of this machine. Reads it only if it may have changed; writes nothing."""
    objects = [*listing]
    stamp = next((item.stamp for item in objects if item.name == KEY_OBJECT), None)
    if kept is not None and stamp and stamp == kept.seen:
        return KeyPlan(kept)
    try:
        facts = read_facts(remote) if stamp is not None else None
    except KeyObjectError:
        facts = None
    if facts is not None and opens(key, facts):
        return _plan_for_ours(facts, key, kept, stamp or "")
    can_open = opens_any(remote, objects, key)
    if can_open is False or (can_open is None and facts is not None):
        raise StartedAnewError
    is_missing = stamp is None
    if kept is None:
        what = "is missing" if is_missing else "is not that of this remote"
        problem = f"{KEY_OBJECT} {what}, and this machine does not have it: run backscroll sync on one that does"
        return KeyPlan(None, is_missing, not is_missing, problem=problem)
    return KeyPlan(kept, is_missing, not is_missing, must_write=True)


def _plan_for_ours(facts: KeyFacts, key: bytes, kept: KeptKey | None, stamp: str) -> KeyPlan:
    """Return the plan for a key object whose word is sealed with our key. Salt and costs may be changed."""
    if is_proved(key, facts):
        return KeyPlan(KeptKey(facts, stamp))
    if kept is None:
        return KeyPlan(KeptKey(facts, stamp))
    is_same = facts.recipe == kept.facts.recipe
    if is_proved(key, kept.facts):
        return KeyPlan(kept, is_foreign=not is_same, must_write=True)  # or for the hash that it lacks
    if is_same:
        return KeyPlan(KeptKey(kept.facts, stamp))
    problem = f"{KEY_OBJECT} has changed, and only the passphrase tells which is right: run backscroll sync recovery"
    return KeyPlan(kept, problem=problem)


def carry_out(remote: Remote, plan: KeyPlan) -> KeptKey | None:
    """Write the key object again if a plan says so; return the key to keep. KeyObjectError if that is impossible."""
    if not plan.must_write or plan.kept is None:
        return plan.kept
    if not plan.is_missing:
        remote.delete(KEY_OBJECT)
    if not write_facts(remote, plan.kept.facts):
        with suppress(BackscrollError):  # a listing leaves out a link or a FIFO that has its name
            remote.delete(KEY_OBJECT)
        if not write_facts(remote, plan.kept.facts):
            hint = "look who can write to this remote, and remove what is there"
            raise KeyObjectError(f"{KEY_OBJECT} cannot be written: something else has its name", hint)
    return KeptKey(plan.kept.facts)


def write_facts(remote: Remote, facts: KeyFacts) -> bool:
    """Store the key object; False if there is one."""
    return remote.put(KEY_OBJECT, msgspec.json.encode(facts))


def opens_any(remote: Remote, listing: Iterable[RemoteObject], key: bytes) -> bool | None:
    """Whether some bundle of a remote opens with this key; None if it has none."""
    seal = seal_with(key)
    is_opened = None
    for packed in _packed_indexes(remote, listing):
        try:
            seal.open(packed, INDEX)
        except DamagedBundleError:
            is_opened = False
        else:
            return True
    return is_opened


def _packed_indexes(remote: Remote, listing: Iterable[RemoteObject]) -> Iterator[bytes]:
    """Yield the packed index of the first readable objects of each device. Other files than bundles are skipped."""
    for _, objects in groupby(_bundles(listing), key=lambda bundle_object: bundle_object.device):
        for bundle_object in islice(objects, MAX_LOOKS):
            if packed := _packed_index(remote, bundle_object.name):
                yield packed


def _bundles(listing: Iterable[RemoteObject]) -> list[BundleObject]:
    bundle_objects = [parsed for item in listing if (parsed := parse_object(item)) is not None]
    return sorted(bundle_objects, key=lambda bundle: bundle.device)


def _packed_index(remote: Remote, name: str) -> bytes:
    """Return the packed index of the first bundle of an object; empty if there is none."""
    data, wanted = b"", len(MAGIC) + 4
    try:
        for piece in remote.pieces(name):
            data += piece
            if not data.startswith(MAGIC[: len(data)]):
                return b""
            if len(data) >= len(MAGIC) + 4:
                length = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4], "big")
                wanted = len(MAGIC) + 4 + length
                if length > LONGEST_PACKED_INDEX:
                    return b""
            if len(data) >= wanted:
                break
    except (NothingFound, RefusedObjectError):
        return b""
    return data[len(MAGIC) + 4 : wanted] if len(data) >= wanted > len(MAGIC) + 4 else b""
