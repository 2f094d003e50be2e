"""Signed bundles: who wrote an index can be proved, of every field of it, and older readers read on."""

import contextlib
import json
from pathlib import Path

import msgspec
import pytest
import zstandard
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from backscroll.library.syncing.remote_settings import device_of
from backscroll.settings import Settings
from backscroll.sync.bundles import (
    PLAIN,
    Bundle,
    DamagedBundleError,
    Entry,
    Index,
    encode_bundle,
    read_bundles,
    without,
)
from backscroll.sync.remotes import Folder
from backscroll.sync.signing import Signer, WrongSignatureError, fingerprint, sign_index, signed_by
from tests.sync.support import SESSION, Device

LINE = b'{"type":"user","uuid":"u1"}\n'
SIGNER = Signer(b"s" * 32)


class OldIndex(msgspec.Struct):
    """What a version that did not sign reads of an index."""

    device: str
    machine: str
    number: int
    previous: str
    at: str
    entries: list[Entry]
    forgotten: list[str] = []
    size: int = 0


@pytest.fixture
def remote(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "remote")


@pytest.fixture
def laptop(tmp_path: Path) -> Device:
    device = Device(tmp_path, "laptop")
    device.write(SESSION.format(1), LINE)
    device.keep()
    return device


def stored(remote: Folder) -> list[bytes]:
    return [remote.get(one.name) for one in remote.list()]


def indexes(data: bytes) -> list[bytes]:
    """The plain index of each bundle in an object, read as the reference describes."""
    found, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at + 7 : at + 11], "big")
        found.append(zstandard.decompress(data[at + 11 : at + 11 + length]))
        at += 11 + length + json.loads(found[-1]).get("size", 0)
    return found


def index_of(number: int = 1, **fields: object) -> Index:
    values = {"device": "laptop", "machine": "laptop", "previous": "0" * 64, "at": "", "entries": [], **fields}
    return Index(number=number, **values)  # type: ignore[arg-type]


def test_what_a_device_sends_is_signed_as_the_reference_describes(remote: Folder, laptop: Device) -> None:
    laptop.push(remote)
    ((plain,),) = (indexes(data) for data in stored(remote))
    index = json.loads(plain)
    assert plain.startswith(b'{"signature":"')
    assert laptop.signer is not None
    assert index["key"] == laptop.signer.public
    assert index["log"] == next(remote.list()).name.split("/")[3]
    text = b"backscroll bundle\n" + plain.replace(index["signature"].encode(), b"0" * 128)
    Ed25519PublicKey.from_public_bytes(bytes.fromhex(index["key"])).verify(bytes.fromhex(index["signature"]), text)


def test_a_version_that_does_not_sign_reads_what_is_signed(remote: Folder, laptop: Device) -> None:
    laptop.push(remote)
    ((plain,),) = (indexes(data) for data in stored(remote))
    old = msgspec.json.decode(plain, type=OldIndex)
    assert (old.machine, old.number, len(old.entries)) == ("laptop", 1, 1)


def test_a_bundle_without_removed_content_is_signed_again(remote: Folder, laptop: Device) -> None:
    laptop.write(SESSION.format(2), LINE * 2)
    laptop.keep()
    laptop.push(remote)
    laptop.forget(SESSION.format(1))
    laptop.push(remote)
    assert laptop.signer is not None
    for data in stored(remote):
        assert {bundle.signer for bundle in read_bundles(data)} == {laptop.signer.public}


def test_merged_objects_keep_their_signatures() -> None:
    data = b"".join(encode_bundle(index_of(number), [], PLAIN, SIGNER)[1] for number in (1, 2, 3))
    assert [bundle.signer for bundle in read_bundles(data)] == [SIGNER.public] * 3


def test_another_writer_of_a_bundle_drops_its_signature() -> None:
    (bundle,) = read_bundles(encode_bundle(index_of(log="000001-aaaaaaaa"), [], PLAIN, SIGNER)[1])
    (again,) = read_bundles(without(bundle, lambda _: False))
    assert (again.signer, again.index.key, again.index.hash) == (None, "", bundle.index.hash)


def test_an_unsigned_bundle_has_no_signer() -> None:
    index, data = encode_bundle(index_of(), [])
    (bundle,) = read_bundles(data)
    assert (bundle.signer, bundle.index) == (None, index)
    assert b"signature" not in bundle.plain


def test_every_changed_byte_of_an_index_is_noticed() -> None:
    (plain,) = indexes(encode_bundle(index_of(log="000001-aaaaaaaa"), [], PLAIN, SIGNER)[1])
    assert signed_by(plain) == SIGNER.public
    for at in range(len(plain)):
        changed = plain[:at] + bytes([plain[at] ^ 1]) + plain[at + 1 :]
        with contextlib.suppress(WrongSignatureError):
            assert signed_by(changed) != SIGNER.public


@pytest.mark.parametrize("key", ["", "00", "zz" * 32, Signer(b"t" * 32).public])
def test_a_signature_under_another_key_is_wrong(key: str) -> None:
    plain = msgspec.json.encode(index_of(signature="0" * 128, key=key))
    forged = sign_index(plain, SIGNER)
    with pytest.raises(WrongSignatureError):
        signed_by(forged)
    bundle = Bundle(index_of(), file=None, begin=0, plain=forged)  # type: ignore[arg-type]
    with pytest.raises(DamagedBundleError, match="bundle 1: its signature is wrong"):
        _ = bundle.signer


def test_copies_of_a_library_of_a_version_that_did_not_sign_have_one_key(tmp_path: Path) -> None:
    first = device_of(Settings(homes=(), library=tmp_path / "library", file=tmp_path / "settings.toml"))
    copy = Settings(homes=(), library=tmp_path / "copy", file=tmp_path / "settings.toml")
    (copy.library / "sync").mkdir(parents=True)
    (copy.library / "sync" / "device.json").write_text(json.dumps({"name": first.name, "key": first.key}))
    assert device_of(copy).signer.public == first.signer.public
    assert device_of(copy, is_new=True).signer.public != first.signer.public


def test_people_compare_a_short_form_of_a_key() -> None:
    assert fingerprint("0123456789abcdef" * 4) == "0123 4567 89ab cdef 0123 4567 89ab cdef"
