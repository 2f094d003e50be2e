"""Archives made by hand, with plain `json` and the format's document: what no program of ours would write.

Shares no code with the program, so that a line may say anything.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import zstandard

Line = dict[str, Any]
AT: Final = "2026-01-05T10:00:00Z"
DESK: Final = "desk-0a1b2c3d"
"""Another machine."""


class CraftedArchive:
    """Lines and a pack, to be laid out as an archive."""

    def __init__(self) -> None:
        self.lines: list[Line] = [header()]
        self._pack = b""
        self._files = 0

    def chunk(self, data: bytes) -> list[Any]:
        """Pack some bytes; return what a line says of them."""
        frame = zstandard.ZstdCompressor(write_checksum=True).compress(data)
        offset = len(self._pack)
        self._pack += frame
        return [hashlib.sha256(data).hexdigest(), 1, offset, len(frame), len(data)]

    def keep(
        self, path: str, data: bytes, *, of: Mapping[str, Any] | None = None, bytes_of: Mapping[str, Any] | None = None
    ) -> Line:
        """Keep a file of another machine; `of` and `bytes_of` replace what its two lines say. Returns the second."""
        self._files += 1
        self.lines.append(kept_file(self._files, path) | dict(of or {}))
        line = kept_bytes(self.lines[-1]["file"], len(data), self.chunk(data)) | dict(bytes_of or {})
        self.lines.append(line)
        return line

    def lay(self, folder: Path) -> Path:
        """Write it; nothing may be there yet."""
        (folder / "packs").mkdir(parents=True)
        (folder / "catalogue.jsonl").write_bytes(catalogue_of(self.lines))
        (folder / "packs" / "000001.pack").write_bytes(self._pack)
        return folder


def header() -> Line:
    return {"kind": "archive", "at": AT, "format": 1, "hash": "sha256", "compression": "zstd"}


def kept_file(number: int, path: str) -> Line:
    home = "/home/grace/.claude"
    return {"kind": "file", "at": AT, "file": number, "machine": DESK, "home": home, "path": path, "type": "session"}


def kept_bytes(number: int, size: int, *chunks: list[Any]) -> Line:
    time = 1_767_607_200_000_000_000
    return {
        "kind": "bytes", "at": AT, "file": number, "version": 0, "size": size, "modified_ns": time,
        "chunks": list(chunks), "bookmark": [size, 0, 0, size, time, 0, 0, 0, 0],
    }  # fmt: skip


def catalogue_of(lines: Iterable[Line]) -> bytes:
    """The lines with the sums that belong to them."""
    before, texts = b"backscroll archive", []
    for line in lines:
        body = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        before = "".join(hashlib.sha256(data).hexdigest()[:16] for data in (body, before + body)).encode()
        texts.append(b'%s,"sum":"%s"}\n' % (body[:-1], before))
    return b"".join(texts)
