"""Writes objects of a remote from the description of the format, as anyone could who can write to it.

Shares no code with the package: JSON, zstd and Ed25519.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import zstandard
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Fields = dict[str, Any]
NO_BUNDLE = "0" * 64


class ForgedKey:
    """A key that an attacker made, or stole."""

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(seed).digest())
        self.public = self._key.public_key().public_bytes_raw().hex()

    def sign(self, index: Fields) -> bytes:
        """The JSON of an index with the key and its signature."""
        plain = json.dumps({"signature": "0" * 128, "key": self.public, **index}, separators=(",", ":")).encode()
        signature = self._key.sign(b"backscroll bundle\n" + plain).hex()
        return plain.replace(b"0" * 128, signature.encode(), 1)


def read_objects(folder: Path, device: str) -> list[tuple[Path, list[Fields]]]:
    """The objects of a device in order, each with the indexes of its bundles."""
    objects = []
    for path in sorted((folder / "backscroll" / "1" / device).glob("*/*")):
        data, at, indexes = path.read_bytes(), 0, []
        while at < len(data):
            length = int.from_bytes(data[at + 7 : at + 11], "big")
            indexes.append(json.loads(zstandard.decompress(data[at + 11 : at + 11 + length])))
            at += 11 + length + indexes[-1].get("size", 0)
        objects.append((path, indexes))
    return objects


def last_index(folder: Path, device: str) -> tuple[Path, Fields]:
    """The last object of a device, and the index of its last bundle."""
    path, indexes = read_objects(folder, device)[-1]
    return path, indexes[-1]


def hash_of(index: Fields) -> str:
    """The hash of a bundle."""
    lines = ["{previous} {number} {device} {machine}".format(**index)]
    lines += ["{} {} {}".format(one["stream"], one.get("number", 0), one["head"]) for one in index["entries"]]
    lines += index.get("forgotten", [])
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def encode(index: Fields, frames: bytes = b"", key: ForgedKey | None = None) -> bytes:
    """A bundle, signed if there is a key."""
    plain = key.sign(index) if key else json.dumps(index).encode()
    packed = zstandard.compress(plain)
    return b"BSYNC1\n" + len(packed).to_bytes(4, "big") + packed + frames


def file_entry(home: str, path: str, data: bytes, **facts: Any) -> tuple[Fields, bytes]:  # noqa: ANN401
    """The first segment of a file, and its frame."""
    facts = {"version": 1, "generation": 0, "type": "session", "modified_ns": 1, **facts}
    told = (home, path, str(facts["version"]), str(facts["generation"]))
    stream = hashlib.sha256("\0".join(told).encode()).hexdigest()[:32]
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    head = f"{stream} 0 {lines} {len(data)} {hashlib.sha256(data).hexdigest()}"
    frame = zstandard.compress(data)
    entry = {
        "stream": stream, "number": 0, "start": 0, "length": len(data), "before": stream,
        "head": hashlib.sha256(head.encode()).hexdigest(), "offset": 0, "packed": len(frame), "source": len(data),
        "file": {"home": home, "path": path, **facts},
    }  # fmt: skip
    return entry, frame


def forge(
    folder: Path, device: str, text: bytes, *, path: str, key: ForgedKey | None = None, log: str | None = None,
    home: str = "/home/forged", **fields: Any,  # noqa: ANN401
) -> Path:  # fmt: skip
    """Put an object into the folder of a device that goes on from its last bundle, or begins a log."""
    entry, frame = file_entry(home, path, text)
    index = {
        "device": device, "machine": device, "number": 1, "previous": NO_BUNDLE, "at": "2026-01-01T00:00:00+00:00",
        "entries": [entry], "size": len(frame),
    }  # fmt: skip
    if log is None:
        last, known = last_index(folder, device)
        log = last.parent.name
        index |= {"number": known["number"] + 1, "previous": hash_of(known)}
    if key is not None:
        index["log"] = log
    index |= fields
    number = f"{int(str(index['number'])):010}"
    target = folder / "backscroll" / "1" / device / log / f"{number}-{number}.0"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(encode(index, frame, key))
    return target
