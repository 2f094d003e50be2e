"""An independent reader of archives, written from docs/reference/archive-format.md alone, reads what backscroll wrote.

`backscroll.archive` is imported only to make archives. Should the reader have to learn something new to pass, the
document has to say it first.
"""

import hashlib
import json
import re
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard

from backscroll.archive.capture import capture
from backscroll.archive.forgetting import forget_key
from backscroll.archive.rewriting import Writer
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.files.reading import CLOCK_TICK_NS
from tests.support.homes import EVERYTHING, write_home

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "archive-format.md"
FIELDS = {
    "archive": {"format", "hash", "compression"},
    "file": {"file", "machine", "home", "path", "type"},
    "bytes": {"file", "version", "size", "modified_ns", "chunks", "bookmark"},
    "moved": {"file", "path"},
    "gone": {"file"},
    "suspect": {"file"},
    "captured": {"machine", "home"},
    "verified": {"damaged", "quick"},
    "forgotten": {"key"},
}
PERHAPS = {"first_pack", "home_hex", "path_hex", "withdrawn", "unrelated"}
MACHINE = "box"
PLAN = "plans/plan.md"
OTHER = "plans/other.md"


class WrongError(Exception):
    """The archive is not as the document says."""


class FormatReader:
    """All that an archive holds, by path: every version of every file, and what else its catalogue says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[dict[str, Any]] = []
        self.versions: dict[int, list[bytes]] = {}
        self.paths: dict[int, str] = {}
        self.types: dict[int, str] = {}
        self.gone: set[int] = set()
        self.forgotten: set[str] = set()
        bookmarks: dict[int, list[int]] = {}
        for line in checked_lines((folder / "catalogue.jsonl").read_bytes()):
            self.lines.append(line)
            self._take(line)
            if line["kind"] == "bytes":
                bookmarks[line["file"]] = line["bookmark"]
        for number, bookmark in bookmarks.items():
            if bookmark:
                check_bookmark(bookmark, self.versions[number][-1], is_copy=self.types[number] == "database")

    @property
    def files(self) -> dict[str, bytes]:
        """The latest version of each file."""
        return {self.paths[number]: versions[-1] for number, versions in self.versions.items() if versions}

    def versions_of(self, path: str) -> list[bytes]:
        return next(self.versions[number] for number, name in self.paths.items() if name == path)

    def _take(self, line: dict[str, Any]) -> None:
        kind = line["kind"]
        if kind == "file":
            if line["file"] in self.paths:
                raise WrongError("a number was given twice")
            self.paths[line["file"]] = line["path"]
            self.types[line["file"]] = line["type"]
            self.versions[line["file"]] = []
        elif kind == "bytes":
            self.gone.discard(line["file"])
            versions = self.versions[line["file"]]
            while len(versions) <= line["version"]:
                versions.append(b"")
            versions[line["version"]] += b"".join(map(self._chunk, line["chunks"]))
            if len(versions[line["version"]]) != line["size"]:
                raise WrongError("the sizes do not add up")
        elif kind == "moved":
            self.paths[line["file"]] = line["path"]
        elif kind == "gone":
            self.gone.add(line["file"])
        elif kind == "forgotten":
            self.forgotten.add(line["key"])

    def _chunk(self, chunk: list[Any]) -> bytes:
        name, pack, offset, length, size = chunk
        with (self.folder / "packs" / f"{pack:06}.pack").open("rb") as file:
            file.seek(offset)
            frame = file.read(length)
        try:
            data = zstandard.ZstdDecompressor().decompressobj().decompress(frame)
        except zstandard.ZstdError as error:
            raise WrongError("no frame") from error
        if len(data) != size or hashlib.sha256(data).hexdigest() != name:
            raise WrongError("a chunk is not what was kept")
        return data


def checked_lines(catalogue: bytes) -> list[dict[str, Any]]:
    """The lines of a catalogue whose sums are all right; one without its newline is left out."""
    lines: list[dict[str, Any]] = []
    before = b"backscroll archive"
    for text in catalogue.split(b"\n")[:-1]:
        found = re.fullmatch(rb'(.*),"sum":"([0-9a-f]{32})"\}', text, re.DOTALL)
        body = found[1] + b"}" if found else b""
        halves = [hashlib.sha256(data).hexdigest()[:16] for data in (body, before + body)]
        if not found or "".join(halves).encode() != found[2]:
            raise WrongError("a line is not what was written")
        before = found[2]
        line = json.loads(text.decode("utf-8"))
        check_names(line, is_first=not lines)
        lines.append(line)
    return lines


def check_names(line: dict[str, Any], *, is_first: bool) -> None:
    """A line has the names that the document lists, and the first one has its values."""
    assert set(line) - PERHAPS == {"kind", "at", "sum"} | FIELDS[line["kind"]]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["at"])
    assert (line["kind"] == "archive") == is_first
    if is_first:
        assert (line["format"], line["hash"], line["compression"]) == (1, "sha256", "zstd")


def check_bookmark(bookmark: list[int], data: bytes, *, is_copy: bool) -> None:
    offset, device, inode, _size, _modified, changed, head, edge, whole = bookmark
    if not any((device, inode, changed, head, edge, whole)):
        return  # it has no checksum
    ends = (zlib.crc32(data[:4096]), zlib.crc32(data[-4096:]))
    if (len(data), zlib.crc32(data)) != (offset, whole) or (not is_copy and ends != (head, edge)):
        raise WrongError("a file is not what its source was")


def keep(home: Path, archive: Path) -> None:
    """Keep the home as it is now, once its files are older than a tick of the file system's clock."""
    newest = max((path.lstat().st_ctime_ns for path in home.rglob("*")), default=0)
    while time.time_ns() < newest + 2 * CLOCK_TICK_NS:
        time.sleep(0.001)
    with Writer(archive) as writer:
        assert capture(writer, Home(home), MACHINE).unreadable == []


def kept(tmp_path: Path, *homes: Mapping[str, bytes | None]) -> FormatReader:
    """Read the archive of a home that was changed and kept again and again; None takes a file away."""
    home, archive = tmp_path / "home", tmp_path / "archive"
    for files in homes:
        write_home(home, {path: data for path, data in files.items() if data is not None})
        for path in (path for path, data in files.items() if data is None):
            (home / path).unlink()
        keep(home, archive)
    return FormatReader(archive)


def test_every_file_of_every_home_is_there_byte_for_byte(tmp_path: Path) -> None:
    reader = kept(tmp_path, EVERYTHING)
    expected = {file.relative for file in discover(Home(tmp_path / "home")).files}
    assert len(expected) > 50
    assert reader.files == {path: EVERYTHING[path] for path in expected}


def test_a_file_that_grew_is_one_version(tmp_path: Path) -> None:
    reader = kept(tmp_path, {PLAN: b"one\n"}, {PLAN: b"one\ntwo\n"}, {PLAN: b"one\ntwo\nthree"})
    assert reader.versions_of(PLAN) == [b"one\ntwo\nthree"]


def test_a_file_that_was_rewritten_has_a_version_for_each(tmp_path: Path) -> None:
    reader = kept(tmp_path, {PLAN: b"one\n"}, {PLAN: b"another\n"}, {PLAN: b""}, {PLAN: b"one\n"})
    assert reader.versions_of(PLAN)[0] == b"one\n"
    assert reader.versions_of(PLAN)[1] == b"another\n"
    assert reader.files == {PLAN: b"one\n"}


def test_a_file_of_many_chunks_is_whole(tmp_path: Path) -> None:
    data = b"".join(hashlib.sha256(b"%d" % number).digest() * 40 for number in range(10_000))
    reader = kept(tmp_path, {PLAN: data})
    assert reader.files[PLAN] == data
    assert max(len(line["chunks"]) for line in reader.lines if line["kind"] == "bytes") > 2


def test_a_file_is_gone_and_comes_back(tmp_path: Path) -> None:
    without = kept(tmp_path, {PLAN: b"one\n", OTHER: b"x"}, {PLAN: None})
    assert {without.paths[number] for number in without.gone} == {PLAN}
    assert without.files[PLAN] == b"one\n"
    assert kept(tmp_path, {PLAN: b"one\n"}).gone == set()


def test_a_file_that_moved_has_its_new_path(tmp_path: Path) -> None:
    kept(tmp_path, {PLAN: b"one\n"})
    (tmp_path / "home" / PLAN).rename(tmp_path / "home" / OTHER)
    assert kept(tmp_path, {}).files == {OTHER: b"one\n"}


def test_a_forgotten_file_leaves_a_key_and_nothing_else(tmp_path: Path) -> None:
    files = {PLAN: b"nobody may know\n" * 9, OTHER: b"all may know\n" * 9, "plans/third.md": b"all may know\n" * 9}
    kept(tmp_path, files)
    home, archive = tmp_path / "home", tmp_path / "archive"
    with Writer(archive) as writer:
        gone = [file for file in writer.files.values() if file.path == PLAN]
        writer.forget(gone, [forget_key(MACHINE, str(home), PLAN)])
    keep(home, archive)
    reader = FormatReader(archive)
    assert reader.files == {OTHER: files[OTHER], "plans/third.md": files[OTHER]}
    assert reader.forgotten == {hashlib.sha256(f"{MACHINE}\0{home}\0{PLAN}".encode()).hexdigest()}
    assert unpacked(archive) == files[OTHER]
    assert b"nobody" not in (archive / "catalogue.jsonl").read_bytes()


def test_a_torn_line_and_bytes_that_nothing_speaks_of_are_passed_over(tmp_path: Path) -> None:
    kept(tmp_path, {PLAN: b"one\n"})
    archive = tmp_path / "archive"
    with (archive / "catalogue.jsonl").open("ab") as catalogue:
        catalogue.write(b'{"kind":"bytes","at":"2026-')
    with packs(archive)[0].open("ab") as pack:
        pack.write(b"\x28\xb5\x2f\xfd half a frame")
    assert FormatReader(archive).files == {PLAN: b"one\n"}
    assert kept(tmp_path, {OTHER: b"two\n"}).files == {PLAN: b"one\n", OTHER: b"two\n"}


@pytest.mark.parametrize("place", ["catalogue.jsonl", "packs/000001.pack"])
def test_every_changed_byte_is_noticed(tmp_path: Path, place: str) -> None:
    lines = kept(tmp_path, {PLAN: b"one\n", OTHER: b"two\n"}).lines
    path = tmp_path / "archive" / place
    whole = path.read_bytes()
    chunks = [chunk for line in lines for chunk in line.get("chunks", [])]
    in_chunks = [at for _, _, offset, length, _ in chunks for at in range(offset, offset + length)]
    last = len(whole) - whole.endswith(b"}\n")  # a last newline that was changed makes a torn line
    for at in range(last) if place == "catalogue.jsonl" else in_chunks:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(WrongError):
            FormatReader(tmp_path / "archive")


def test_only_the_owner_may_look(tmp_path: Path) -> None:
    kept(tmp_path, {PLAN: b"one\n"})
    archive = tmp_path / "archive"
    modes = {path.relative_to(archive).as_posix(): path.stat().st_mode & 0o777 for path in archive.rglob("*")}
    names = {"lock", "catalogue.jsonl", "catalogue.end", "packs/000001.pack"}
    assert modes == {"packs": 0o700, **dict.fromkeys(names, 0o600)}
    assert archive.stat().st_mode & 0o777 == 0o700
    assert (archive / "lock").read_bytes() == b""


def test_the_example_in_the_document_can_be_read(tmp_path: Path) -> None:
    page = DOCUMENT.read_text(encoding="utf-8")
    (tmp_path / "packs").mkdir()
    (tmp_path / "catalogue.jsonl").write_text(blocks(page, "jsonl"), encoding="utf-8")
    (tmp_path / "packs" / "000001.pack").write_bytes(bytes.fromhex(blocks(page, "hex")))
    assert FormatReader(tmp_path).files == {"plans/größe.md": b"# Plan\n1. Go\n"}


def test_the_document_lists_every_kind_and_every_name() -> None:
    page = DOCUMENT.read_text(encoding="utf-8")
    assert [kind for kind in FIELDS if not re.search(rf"^###? .*`{kind}`", page, re.MULTILINE)] == []
    names = {name for fields in FIELDS.values() for name in fields} | PERHAPS
    assert [name for name in sorted(names) if not re.search(rf"^\|.*`{name}`.*\|", page, re.MULTILINE)] == []


def packs(archive: Path) -> list[Path]:
    return sorted((archive / "packs").iterdir())


def unpacked(archive: Path) -> bytes:
    """All frames of all packs, whatever the catalogue says."""
    unpacker = zstandard.ZstdDecompressor()
    return b"".join(
        unpacker.stream_reader(pack.read_bytes(), read_across_frames=True).read() for pack in packs(archive)
    )


def blocks(page: str, language: str) -> str:
    return "".join(re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
