"""Archives as commit a0625f77 left them, laid out for any home and machine (tests/fixtures/archives)."""

import hashlib
import json
import re
import tarfile
from pathlib import Path
from typing import Any, Final

PACKED: Final = Path(__file__).parent.parent / "fixtures" / "archives" / "a0625f77.tar.xz"
STORIES: Final = ("moved_onto", "moved_on", "replaced", "repaired")


def lay_out(story: str, folder: Path, home: Path, machine: str) -> None:
    """Put the archive of a story into a folder, as if it were of this home and machine."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(PACKED) as packed:
        for name in ("catalogue.jsonl", "packs/000001.pack"):
            member = packed.extractfile(f"{story}/{name}")
            assert member is not None
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(member.read())
    entries = lines_of(folder)
    for entry in entries:
        if "home" in entry:
            entry |= {"home": str(home), "machine": machine}
    (folder / "catalogue.jsonl").write_bytes(with_sums(entries))


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """The lines of a catalogue, without their sums."""
    lines = [json.loads(line) for line in (folder / "catalogue.jsonl").read_bytes().splitlines()]
    return [{name: value for name, value in line.items() if name != "sum"} for line in lines]


def with_sums(entries: list[dict[str, Any]]) -> bytes:
    """A catalogue of these lines."""
    before, lines = b"backscroll archive", []
    for entry in entries:
        body = json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode()
        sums = [hashlib.sha256(data).hexdigest()[:16] for data in (body, before + body)]
        before = "".join(sums).encode()
        lines.append(b'%s,"sum":"%s"}\n' % (re.sub(rb"\}$", b"", body), before))
    return b"".join(lines)


def paths_of(folder: Path) -> list[str]:
    """The path of each file in a catalogue, as its lines leave them."""
    paths: dict[int, str] = {}
    for line in lines_of(folder):
        if line["kind"] in ("file", "moved"):
            paths[line["file"]] = line["path"]
    return list(paths.values())
