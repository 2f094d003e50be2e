"""Files that were taken from other machines: their chunks prove them, and a mark that was a mistake is taken back."""

import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import AddedBytes
from backscroll.archive.kept_file import KeptFile
from backscroll.archive.merge import merge
from backscroll.archive.packing import pack
from backscroll.archive.rewriting import ReplacedVersion, Writer
from backscroll.archive.verify import verify, whole_again
from backscroll.archive.writer import now
from tests.archive.support import KeptHome
from tests.archive_format.test_archive_format import FormatReader
from tests.support.homes import session_path

TEXT = b"taken from another machine\n"
SUM_IS_ZERO = b"\x9d\n\xd9m"
LOCAL = (2049, 131)
"""Device and inode of a file that was read here."""


def take(
    folder: Path,
    data: bytes,
    checksums: Sequence[int] = (0, 0, 0),
    device: tuple[int, int] = (0, 0),
    version: int = 0,
    name: str = "S1",
) -> None:
    """Add bytes of another machine with a bookmark like this, as a pull does."""
    with Writer(folder) as writer:
        files = [file for file in writer.files.values() if file.path == session_path(name)]
        file = files[0] if files else writer.new_file("desk", "/home/ada/.claude", session_path(name), "session")
        has = file.version(version + 1)
        size = (has.size if has else 0) + len(data)
        writer.add_chunks(
            AddedBytes(
                at=now(),
                file=file.number,
                version=version,
                size=size,
                modified_ns=17,
                chunks=[writer.put(pack(data))[0]],
                bookmark=[size, *device, size, 17, 0, *checksums],
            )
        )


def mark(folder: Path) -> None:
    """What a verification of an early version did to a file that was taken."""
    with Writer(folder) as writer:
        for file in list(writer.files.values()):
            writer.suspect(file)


def only_file(folder: Path) -> KeptFile:
    (file,) = Archive(folder).files.values()
    return file


def damages(folder: Path, *, quick: bool = False) -> list[str]:
    return [damage.what for damage in verify(Archive(folder), quick=quick).damages]


def test_a_file_that_was_taken_without_a_checksum_is_proven_by_its_chunks(tmp_path: Path) -> None:
    take(tmp_path, TEXT)
    take(tmp_path, TEXT)
    assert damages(tmp_path) == damages(tmp_path, quick=True) == []
    assert FormatReader(tmp_path).files == {session_path("S1"): 2 * TEXT}
    pack_file = tmp_path / "packs" / "000001.pack"
    data = bytearray(pack_file.read_bytes())
    data[20] ^= 0xFF
    pack_file.write_bytes(data)
    assert damages(tmp_path)


@pytest.mark.parametrize("device", [(0, 0), LOCAL])
def test_a_checksum_is_compared_wherever_there_is_one(tmp_path: Path, device: tuple[int, int]) -> None:
    take(tmp_path / "right", TEXT, [zlib.crc32(TEXT)] * 3, device)
    take(tmp_path / "wrong", TEXT, [zlib.crc32(TEXT) ^ 1] * 3, device)
    assert damages(tmp_path / "right") == []
    assert damages(tmp_path / "wrong") == [f"{session_path('S1')} is not what its source was"]


def test_a_checksum_of_zero_of_a_file_of_this_machine_is_compared(tmp_path: Path) -> None:
    assert zlib.crc32(SUM_IS_ZERO) == 0
    take(tmp_path / "right", SUM_IS_ZERO, (0, 0, 0), LOCAL)
    take(tmp_path / "wrong", TEXT, (0, 0, 0), LOCAL)
    assert damages(tmp_path / "right") == []
    assert damages(tmp_path / "wrong")


def test_a_mark_on_a_whole_file_is_taken_back(tmp_path: Path) -> None:
    take(tmp_path, TEXT)
    mark(tmp_path)
    assert damages(tmp_path, quick=True)  # it cannot know
    report = verify(Archive(tmp_path))
    assert (report.damages, [file.number for file in report.whole_again]) == ([], [1])
    with Writer(tmp_path) as writer:
        for file in whole_again(writer):
            writer.trust(file)
    assert not only_file(tmp_path).is_suspect
    assert damages(tmp_path, quick=True) == []
    assert FormatReader(tmp_path).files == {session_path("S1"): TEXT}


def test_a_mark_on_a_damaged_file_stays(tmp_path: Path) -> None:
    take(tmp_path, TEXT)
    mark(tmp_path)
    pack_file = tmp_path / "packs" / "000001.pack"
    whole = pack_file.read_bytes()
    pack_file.write_bytes(whole.replace(whole[20:30], b"somethings", 1))
    archive = Archive(tmp_path)
    assert (whole_again(archive), verify(archive).whole_again) == ([], [])
    assert verify(archive).damages


def test_a_file_of_which_a_line_is_lost_is_not_whole(tmp_path: Path) -> None:
    for text in (b"one\n", b"two\n", b"three\n"):
        take(tmp_path, text)
    mark(tmp_path)
    catalogue = tmp_path / "catalogue.jsonl"
    lines = catalogue.read_bytes().splitlines(keepends=True)
    catalogue.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    archive = Archive(tmp_path)
    assert (whole_again(archive), verify(archive).whole_again) == ([], [])
    assert verify(archive).damages


def test_a_mark_survives_a_rewritten_catalogue_until_it_is_taken_back(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    take(kept.folder, TEXT)
    mark(kept.folder)
    kept.forget("a")
    assert only_file(kept.folder).is_suspect
    with Writer(kept.folder) as writer:
        writer.trust(writer.files[only_file(kept.folder).number])
    kept.write(b=b"two\n").capture()
    kept.forget("b")
    assert not only_file(kept.folder).is_suspect


def test_a_backup_of_what_was_taken_is_whole_and_so_is_what_is_made_of_it(tmp_path: Path) -> None:
    take(tmp_path / "archive", TEXT)
    mark(tmp_path / "archive")
    for source, target in (("archive", "backup"), ("backup", "restored")):
        with Writer(tmp_path / target) as writer:
            merge(Archive(tmp_path / source), writer)
        assert damages(tmp_path / target) == []
    take(tmp_path / "restored", TEXT)
    assert damages(tmp_path / "restored") == []


@pytest.mark.parametrize("is_between", [False, True])
def test_a_version_that_replaced_another_is_not_compared_with_a_third(tmp_path: Path, is_between: bool) -> None:
    texts = [b"secret\n", b"others\n", b"masked\n"] if is_between else [b"secret\n", b"masked\n"]
    for version, text in enumerate(texts):
        take(tmp_path, text, [zlib.crc32(text)] * 3, version=version)
    with Writer(tmp_path) as writer:
        file = writer.files[1]
        writer.forget((), (), [ReplacedVersion(file, file.versions[0], file.versions[-1])])
    assert damages(tmp_path) == []


def test_a_version_that_is_rewritten_has_the_checksum_of_its_new_bytes(tmp_path: Path) -> None:
    take(tmp_path, b"secret\n", [zlib.crc32(b"secret\n")] * 3)
    with Writer(tmp_path) as writer:
        writer.forget((), (), rewrite=lambda _, __: [b"masked\n"])
    assert damages(tmp_path) == []
    assert only_file(tmp_path).checksum == zlib.crc32(b"masked\n")
