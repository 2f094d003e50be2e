"""A home with its archive, as the tests of the archive draw them."""

import io
import shutil
from pathlib import Path

import zstandard

from backscroll.archive.archive import Archive
from backscroll.archive.capture import Capture, capture
from backscroll.archive.forgetting import forget_key
from backscroll.archive.kept_file import KeptFile
from backscroll.archive.line_copies import DICTIONARY
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import Verification, verify
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from tests.support.homes import SHOP, session_path, write_home

MACHINE = "ada-laptop"


class KeptHome:
    """A home, its archive, and what one does with them."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.folder = root / "archive"
        (self.home / SHOP).mkdir(parents=True, exist_ok=True)

    def session(self, name: str) -> Path:
        """Where a session of that name lies in the home."""
        return self.home / session_path(name)

    def write(self, **sessions: bytes) -> "KeptHome":
        """Write sessions with these bytes, over what is there."""
        write_home(self.home, {session_path(name): data for name, data in sessions.items()})
        return self

    def append(self, name: str, data: bytes) -> None:
        with self.session(name).open("ab") as file:
            file.write(data)

    def capture(self) -> Capture:
        with Writer(self.folder) as writer:
            return capture(writer, Home(self.home), MACHINE)

    def forget(self, *names: str) -> None:
        with Writer(self.folder) as writer:
            files = [file for file in writer.files.values() if file.path in map(session_path, names)]
            writer.forget(files, [forget_key(MACHINE, str(self.home), session_path(name)) for name in names])

    @property
    def archive(self) -> Archive:
        """The archive as it lies on disk now."""
        return Archive(self.folder)

    def file(self, name: str, archive: Archive | None = None) -> KeptFile:
        """What is kept of a session that is there once."""
        (file,) = [file for file in (archive or self.archive).files.values() if file.path == session_path(name)]
        return file

    def versions(self, name: str) -> list[bytes]:
        """The bytes of all versions of a session, the oldest first."""
        archive = self.archive
        return contents(archive, self.file(name, archive))

    def verify(self, *, quick: bool = False) -> Verification:
        return verify(self.archive, quick=quick)

    def check_whole(self) -> None:
        """What is in the home is kept, byte for byte and once, and nothing is damaged."""
        archive = self.archive
        assert verify(archive).damages == []
        there = [file for file in archive.files.values() if file.gone_since is None]
        live = {file.relative: file.path.read_bytes() for file in discover(Home(self.home)).files}
        assert sorted(file.path for file in there) == sorted(live)
        assert {file.path: contents(archive, file)[-1] for file in there} == live

    @property
    def packs(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted((self.folder / "packs").iterdir())}

    def copy(self, name: str) -> "KeptHome":
        """The same archive in another place, of the same home."""
        other = KeptHome.__new__(KeptHome)
        other.home, other.folder = self.home, self.folder.with_name(name)
        shutil.rmtree(other.folder, ignore_errors=True)
        shutil.copytree(self.folder, other.folder)
        return other

    def everything(self) -> bytes:
        """All that can be got out of the archive's folder: the files, and every frame that begins anywhere in them."""
        found = []
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                data = path.read_bytes()
                found.append(data)
                for at in _frames(data):
                    found += [_unpacked(data[at:]), _unpacked(data[at:], DICTIONARY)]
        return b"\n".join(found)


def contents(archive: Archive, file: KeptFile) -> list[bytes]:
    return [b"".join(archive.content(version)) for version in file.versions]


def _frames(data: bytes) -> list[int]:
    found, at = [], data.find(zstandard.FRAME_HEADER)
    while at >= 0:
        found.append(at)
        at = data.find(zstandard.FRAME_HEADER, at + 1)
    return found


def _unpacked(data: bytes, dictionary: zstandard.ZstdCompressionDict | None = None) -> bytes:
    try:
        return zstandard.ZstdDecompressor(dict_data=dictionary).stream_reader(io.BytesIO(data)).read()
    except zstandard.ZstdError:
        return b""
