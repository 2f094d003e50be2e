"""An encrypted remote: only the passphrase opens it, and it tells a stranger nothing."""

import hashlib
import hmac
import json
from pathlib import Path

import pytest
import zstandard
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from backscroll.errors import UsageError
from backscroll.sync.bundles import DamagedBundleError
from backscroll.sync.key_object import key_of
from backscroll.sync.remotes import Folder
from backscroll.sync.sealing import KEY_OBJECT, hidden_device, seal_with
from tests.sync.support import SESSION, Device

TEXT = b'{"type":"user","cwd":"/work/marzipan","message":{"content":"the word is marzipan"}}\n'


def sealed_device(tmp_path: Path, name: str, key: bytes) -> Device:
    device = Device(tmp_path, name, seal=seal_with(key))
    device.device_of = lambda machine: hidden_device(key, machine)
    return device


@pytest.fixture
def remote(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "remote")


def test_devices_with_the_passphrase_read_one_another(remote: Folder, tmp_path: Path) -> None:
    key = key_of(remote, "correct horse")
    assert key is not None
    assert key_of(remote, "correct horse") == key
    laptop, desktop = (sealed_device(tmp_path, name, key) for name in ("laptop", "desktop"))
    laptop.write(SESSION.format(1), TEXT)
    laptop.keep()
    laptop.push(remote)
    assert desktop.pull(remote).problems == []
    assert desktop.contents("laptop") == {SESSION.format(1): [TEXT]}
    assert laptop.verify(remote, deep=True).is_whole


def test_a_wrong_passphrase_is_told_at_once(remote: Folder) -> None:
    key_of(remote, "correct horse")
    with pytest.raises(UsageError, match="the passphrase is wrong"):
        key_of(remote, "battery staple")
    with pytest.raises(UsageError, match="this remote is encrypted"):
        key_of(remote, None)


def test_a_remote_in_use_is_not_encrypted_afterwards(remote: Folder, tmp_path: Path) -> None:
    laptop = Device(tmp_path, "laptop")
    laptop.write(SESSION.format(1), TEXT)
    laptop.keep()
    laptop.push(remote)
    with pytest.raises(UsageError, match="without encryption"):
        key_of(remote, "correct horse")


def test_a_stranger_sees_no_name_and_no_text(remote: Folder, tmp_path: Path) -> None:
    key = key_of(remote, "correct horse")
    assert key is not None
    laptop = sealed_device(tmp_path, "laptop", key)
    laptop.write(SESSION.format(1), TEXT)
    laptop.keep()
    laptop.push(remote)
    for one in remote.list():
        data = remote.get(one.name)
        for word in (b"laptop", b"marzipan", b"work", b"11111111"):
            assert word not in one.name.encode()
            assert word not in data


def test_a_changed_byte_is_noticed(remote: Folder, tmp_path: Path) -> None:
    key = key_of(remote, "correct horse")
    assert key is not None
    laptop = sealed_device(tmp_path, "laptop", key)
    laptop.write(SESSION.format(1), TEXT)
    laptop.keep()
    laptop.push(remote)
    name = next(one.name for one in remote.list() if one.name != KEY_OBJECT)
    data = bytearray(remote.get(name))
    data[-1] ^= 1
    remote.delete(name)
    remote.put(name, bytes(data))
    assert not laptop.verify(remote, deep=True).is_whole
    with pytest.raises(DamagedBundleError):
        seal_with(key).open(b"", b"index")


def test_an_independent_reader_reads_what_the_reference_describes(remote: Folder, tmp_path: Path) -> None:
    """Written from docs/reference/sync-format.md, without any of our code."""
    key = key_of(remote, "correct horse")
    assert key is not None
    laptop = sealed_device(tmp_path, "laptop", key)
    laptop.write(SESSION.format(1), TEXT)
    laptop.keep()
    laptop.push(remote)

    facts = json.loads((remote.root / "backscroll/1/key.json").read_bytes())
    derived = Argon2id(
        salt=bytes.fromhex(facts["salt"]), length=32, iterations=facts["iterations"], lanes=facts["lanes"],
        memory_cost=facts["memory_kib"],
    ).derive(b"correct horse")  # fmt: skip
    aead = AESGCM(derived)
    folder = remote.root / "backscroll/1" / hmac.new(derived, b"laptop", hashlib.sha256).hexdigest()[:32]
    (path,) = folder.rglob("*.0")
    data = path.read_bytes()
    assert data[:7] == b"BSYNC1\n"
    length = int.from_bytes(data[7:11], "big")
    sealed = data[11 : 11 + length]
    index = json.loads(zstandard.decompress(aead.decrypt(sealed[:12], sealed[12:], b"index")))
    (entry,) = index["entries"]
    start = 11 + length + entry.get("offset", 0)
    frame = data[start : start + entry["packed"]]
    about = f"{index['number']} {entry['stream']} {entry['number']}".encode()
    content = zstandard.decompress(aead.decrypt(frame[:12], frame[12:], about))
    assert content == TEXT
    assert index["machine"] == "laptop"
    told = f"{entry['stream']} 0 1 {len(TEXT)} {hashlib.sha256(TEXT).hexdigest()}"
    assert hashlib.sha256(told.encode()).hexdigest() == entry["head"]


def test_a_long_line_is_decrypted_piece_by_piece_and_a_changed_one_is_refused(remote: Folder, tmp_path: Path) -> None:
    key = key_of(remote, "correct horse")
    assert key is not None
    laptop, desktop, other = (sealed_device(tmp_path, name, key) for name in ("laptop", "desktop", "other"))
    line = b'{"type":"user","text":"' + b"".join(
        hashlib.sha256(b"%d" % n).digest().hex().encode() for n in range(60_000)
    )
    line += b'"}\n'
    laptop.write(SESSION.format(1), line)
    laptop.keep()
    laptop.push(remote)
    assert desktop.pull(remote).problems == []
    assert desktop.contents("laptop") == {SESSION.format(1): [line]}
    (one,) = [one for one in remote.list() if one.name != KEY_OBJECT]
    path = remote.root / one.name
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    assert "not sealed with this passphrase" in "".join(other.pull(remote).problems)
    assert other.contents("laptop") == {}
