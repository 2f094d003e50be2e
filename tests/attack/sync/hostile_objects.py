"""Objects of a remote as an attacker writes them: of docs/reference/sync-format.md, JSON, zstd and hashes alone."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import zstandard
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Fields = dict[str, Any]
Segment = tuple[Fields, bytes]
NO_BUNDLE: Final = "0" * 64
LOG: Final = "000001-0badc0de"
BLOCK: Final = 1 << 17
"""What a block of zstd unpacks to at most."""


def session_of(number: int) -> str:
    """The path of a session in a home."""
    return f"projects/-home-eve-work/{number:08x}-0000-4000-8000-00000000eeee.jsonl"


def line_of(text: str, number: int = 0) -> bytes:
    """A prompt, as a line of a session."""
    row = {
        "type": "user", "uuid": f"{number:08x}-1111-4000-8000-00000000eeee", "parentUuid": None, "isSidechain": False,
        "sessionId": f"{number:08x}-0000-4000-8000-00000000eeee", "timestamp": "2026-01-05T10:00:00.000Z",
        "message": {"role": "user", "content": text}, "version": "2.1.0", "cwd": "/home/eve/work",
    }  # fmt: skip
    return json.dumps(row).encode() + b"\n"


def segment(data: bytes, path: str, *, frame: bytes | None = None, length: int | None = None, **facts: Any) -> Segment:  # noqa: ANN401
    """The first segment of a file; `frame` and `length` may lie."""
    whole = {
        "home": "/home/eve",
        "path": path,
        "version": 1,
        "generation": 0,
        "type": "session",
        "modified_ns": 1,
        **facts,
    }
    home, name = (_name(whole, field) for field in ("home", "path"))
    stream = hashlib.sha256(
        b"\0".join((home, name, b"%d" % whole["version"], b"%d" % whole["generation"]))
    ).hexdigest()[:32]
    size = len(data) if length is None else length
    packed = zstandard.compress(data) if frame is None else frame
    entry = {
        "stream": stream, "number": 0, "start": 0, "length": size, "before": stream, "source": size, "file": whole,
        "head": head_after(stream, 0, data), "packed": len(packed),
    }  # fmt: skip
    return entry, packed


def head_after(before: str, number: int, data: bytes) -> str:
    """The head of a stream after a segment."""
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    said = f"{before} {number} {lines} {len(data)} {hashlib.sha256(data).hexdigest()}"
    return hashlib.sha256(said.encode()).hexdigest()


def index_of(device: str, entries: Iterable[Fields] = (), /, **fields: Any) -> Fields:  # noqa: ANN401
    """What stands at the beginning of a bundle."""
    return {
        "device": device, "machine": device, "number": 1, "previous": NO_BUNDLE, "at": "2026-01-05T10:00:00+00:00",
        "entries": list(entries), **fields,
    }  # fmt: skip


def bundle(device: str, segments: Iterable[Segment] = (), /, **fields: Any) -> bytes:  # noqa: ANN401
    """A bundle with these segments, one after another, as far as `fields` do not say something else."""
    entries, frames = [], b""
    for entry, frame in segments:
        entries.append({"offset": len(frames), **entry})
        frames += frame
    return encode({**index_of(device, entries, size=len(frames)), **fields}, frames)


def encode(index: Fields | bytes, frames: bytes = b"", *, packed: bytes | None = None) -> bytes:
    """The bytes of a bundle."""
    plain = index if isinstance(index, bytes) else json.dumps(index).encode("utf-8", "surrogatepass")
    packed = zstandard.compress(plain) if packed is None else packed
    return b"BSYNC1\n" + len(packed).to_bytes(4, "big") + packed + frames


def hash_of(index: Fields) -> str:
    """The hash of a bundle."""
    lines = ["{previous} {number} {device} {machine}".format(**index)]
    lines += [f"{one['stream']} {one.get('number', 0)} {one['head']}" for one in index["entries"]]
    return hashlib.sha256("\n".join([*lines, *index.get("forgotten", [])]).encode()).hexdigest()


def indexes_of(data: bytes) -> list[Fields]:
    """The indexes of the bundles in an object."""
    found, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at + 7 : at + 11], "big")
        found.append(json.loads(zstandard.decompress(data[at + 11 : at + 11 + length])))
        at += 11 + length + found[-1].get("size", 0)
    return found


def name_of(device: str, first: int = 1, last: int | None = None, log: str = LOG, revision: int = 0) -> str:
    """The name of an object."""
    return f"backscroll/1/{device}/{log}/{first:010}-{last or first:010}.{revision}"


def lay(remote: Path, name: str, data: bytes) -> Path:
    """Put an object into the folder of a remote."""
    path = remote / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def frame_of_zeros(size: int, *, said: int | None = None) -> bytes:
    """A frame of zstd that unpacks to so many zeros, of 4 bytes for each 128 KiB; `said` is the size in its header."""
    header = b"\x28\xb5\x2f\xfd\xc0\x38" + (size if said is None else said).to_bytes(8, "little")
    blocks = []
    for at in range(0, size, BLOCK):
        now = min(BLOCK, size - at)
        is_last = at + now == size
        blocks.append((is_last | 1 << 1 | now << 3).to_bytes(3, "little") + b"\0")
    return header + b"".join(blocks)


def seal(key: bytes, data: bytes, about: bytes) -> bytes:
    """What a machine with the key of an encrypted remote writes."""
    nonce = os.urandom(12)
    return nonce + AESGCM(key).encrypt(nonce, data, about)


def _name(facts: Fields, field: str) -> bytes:
    try:
        return bytes.fromhex(facts[f"{field}_hex"])
    except (KeyError, ValueError, TypeError):
        return str(facts[field]).encode("utf-8", "surrogatepass")
