import errno
import os
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.archive.archive import Archive
from backscroll.archive.line_copies import NAME as COPY
from backscroll.archive.stamp import END_NOTE
from backscroll.archive.verify import verify
from backscroll.errors import BackscrollError
from tests.archive.support import KeptHome, contents
from tests.support.homes import EVERYTHING, write_home
from tests.support.samples import SHARE, some

FLIPS = (0xFF, 0x01, 0x10, 0x20)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> KeptHome:
    """Three files: one that grew, one that was rewritten, one that is gone."""
    kept = KeptHome(tmp_path_factory.mktemp("small"))
    kept.write(a=b"one\n", b=b"first text\n", c=b"not for long\n").capture()
    kept.append("a", b"two\n")
    kept.write(b=b"second text\n")
    kept.session("c").unlink()
    kept.capture()
    assert kept.verify().damages == []
    return kept


def test_an_archive_that_is_started_while_it_is_verified_is_not_damaged(tmp_path: Path) -> None:
    kept = KeptHome(tmp_path)
    empty = Archive(kept.folder)
    kept.write(a=b"one\n").capture()
    assert verify(empty).damages == []


def whole(archive: Archive) -> dict[int, list[bytes]]:
    """What can be read, by the number of the file; nothing of a file that cannot be read entirely."""
    found = {}
    for file in archive.files.values():
        try:
            found[file.number] = contents(archive, file)
        except BackscrollError:
            continue
    return found


def damaged_copy(small: KeptHome, path: str, at: int, flip: int) -> Archive:
    folder = small.folder.with_name("flipped")
    (folder / "packs").mkdir(parents=True, exist_ok=True)
    for name in ("catalogue.jsonl", "packs/000001.pack"):
        data = bytearray((small.folder / name).read_bytes())
        if name == path:
            data[at] ^= flip
        (folder / name).write_bytes(data)
    return Archive(folder)


def check_found(small: KeptHome, path: str, at: int, flip: int) -> None:
    assert verify(damaged_copy(small, path, at, flip)).damages, f"byte {at} of {path} ^ {flip:#x} was not found"


def check_named(small: KeptHome, path: str, at: int, flip: int) -> None:
    """Every file that is not what it was is among those that the damage touches."""
    archive = damaged_copy(small, path, at, flip)
    left, expected = whole(archive), whole(small.archive)
    lost = {number for number, versions in expected.items() if left.get(number) != versions}
    lost |= {
        number
        for number, file in small.archive.files.items()
        if number in archive.files and archive.files[number].path != file.path
    }
    touched = [file for damage in verify(archive).damages for file in damage.files]
    paths = {file.path for file in touched}
    named = {file.number for file in touched}
    named |= {number for number, file in small.archive.files.items() if file.path in paths}
    assert lost <= named, f"byte {at} of {path} ^ {flip:#x} costs {lost}, and {named} are named"


def positions(small: KeptHome, path: str) -> range:
    return range((small.folder / path).stat().st_size)


def test_a_healthy_archive_has_no_damage(kept: KeptHome) -> None:
    write_home(kept.home, EVERYTHING)
    kept.capture()
    report, quick = kept.verify(), kept.verify(quick=True)
    assert report.damages == quick.damages == []
    assert report.files == quick.files == len(kept.archive.files)
    assert report.size == quick.size == sum(chunk.size for chunk in kept.archive.chunks.values())


def test_an_archive_that_is_not_there_is_whole(kept: KeptHome) -> None:
    assert kept.verify().damages == []


@pytest.mark.slow
@pytest.mark.parametrize("flip", FLIPS)
def test_every_flipped_byte_of_the_catalogue_is_found(small: KeptHome, flip: int) -> None:
    for at in some(positions(small, "catalogue.jsonl")[:-1], FLIPS.index(flip)):
        check_found(small, "catalogue.jsonl", at, flip)


@pytest.mark.parametrize("flip", FLIPS)
def test_the_last_byte_of_the_catalogue_is_found(small: KeptHome, flip: int) -> None:
    check_found(small, "catalogue.jsonl", positions(small, "catalogue.jsonl")[-1], flip)


@pytest.mark.slow
@pytest.mark.parametrize("flip", FLIPS)
def test_every_flipped_byte_of_a_pack_is_found(small: KeptHome, flip: int) -> None:
    """But for a few bits in the header of a frame that mean nothing: with them the bytes are proven to be the same."""
    missed = []
    for at in some(positions(small, "packs/000001.pack"), FLIPS.index(flip)):
        damaged_copy(small, "packs/000001.pack", at, flip)
        shutil.copy(
            small.folder / END_NOTE, small.folder.with_name("flipped") / END_NOTE
        )  # it knows of the copies of lines
        archive = Archive(small.folder.with_name("flipped"))
        if not verify(archive).damages:
            assert whole(archive) == whole(small.archive)
            missed.append(at)
    headers = {chunk.offset + 4 for chunk in small.archive.chunks.values()}
    assert set(missed) <= headers
    (small.folder.with_name("flipped") / END_NOTE).unlink()


@pytest.mark.slow
@pytest.mark.parametrize("flip", FLIPS)
def test_what_a_flipped_byte_of_a_pack_touches_is_named(small: KeptHome, flip: int) -> None:
    for at in some(positions(small, "packs/000001.pack"), FLIPS.index(flip)):
        check_named(small, "packs/000001.pack", at, flip)


@pytest.mark.slow
@pytest.mark.parametrize("flip", FLIPS)
def test_what_a_flipped_byte_of_the_catalogue_touches_is_named(small: KeptHome, flip: int) -> None:
    """Except for the file number itself: without it, the file of the line is unknown."""
    data = (small.folder / "catalogue.jsonl").read_bytes()
    numbers = {at for found in re.finditer(rb'"file":\d+', data) for at in range(*found.span())}
    for at in some(sorted(set(range(len(data))) - numbers), FLIPS.index(flip), share=2 * SHARE):
        check_named(small, "catalogue.jsonl", at, flip)


@pytest.mark.slow
def test_a_flipped_byte_of_the_catalogue_costs_no_file_but_its_own(small: KeptHome) -> None:
    """The line that a byte stands in is about one file at most; the others are still whole."""
    expected = whole(small.archive)
    data = (small.folder / "catalogue.jsonl").read_bytes()
    lines = data.splitlines(keepends=True)
    begin = 0
    for number, line in enumerate(lines, start=1):
        for at in some(range(begin, begin + len(line) - 1), number):
            left = whole(damaged_copy(small, "catalogue.jsonl", at, 0x01))
            lost = {file for file in expected if left.get(file) != expected[file]}
            assert len(lost) <= 1, f"byte {at - begin} of line {number} costs the files {lost}"
        begin += len(line)


def test_a_lost_line_costs_no_file_but_its_own(small: KeptHome) -> None:
    expected = whole(small.archive)
    lines = (small.folder / "catalogue.jsonl").read_bytes().splitlines(keepends=True)
    for number in range(len(lines) - 1):
        copy = small.copy("damaged")
        copy.archive.catalogue.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
        left = whole(copy.archive)
        lost = {file for file in expected if left.get(file) != expected[file]}
        assert copy.verify().damages
        assert len(lost) <= 1, f"without line {number + 1} ({lines[number][:40]!r}…) the files {lost} are lost"


def test_a_last_line_without_its_newline_is_not_thrown_away(small: KeptHome) -> None:
    """A line that was acknowledged and whose newline was damaged is damage; the next writer must not remove it."""
    copy = small.copy("damaged")
    copy.write(d=b"four\n").capture()
    copy.session("d").unlink()
    data = copy.archive.catalogue.read_bytes()
    end = data.rindex(b'{"kind":"captured"')  # as it is when a capture ends with the bytes of a file
    if data[end:].count(b"\n") > 1:  # the line of bytes comes after it
        end = len(data)
    copy.archive.catalogue.write_bytes(data[: end - 1] + b"\x0b")
    (copy.folder / END_NOTE).unlink()  # else the lines that are cut off here were missed
    copy.capture()
    assert copy.verify().damages or copy.versions("d") == [b"four\n"]


def test_damaged_bytes_are_never_returned(small: KeptHome) -> None:
    archive = damaged_copy(small, "packs/000001.pack", 12, 0xFF)
    file = archive.files[1]
    with pytest.raises(BackscrollError) as failure:
        contents(archive, file)
    assert "pack 1" in failure.value.message
    assert "verify" in failure.value.hint


def test_a_missing_pack_is_found_and_touches_all_that_was_in_it(small: KeptHome) -> None:
    copy = small.copy("damaged")
    (copy.folder / "packs" / "000001.pack").unlink()
    for quick in (True, False):
        damages = copy.verify(quick=quick).damages
        assert {file.number for damage in damages for file in damage.files} == {1, 2, 3}


def test_a_cut_pack_is_found_by_a_quick_look_at_every_length(small: KeptHome) -> None:
    pack = (small.folder / "packs" / "000001.pack").read_bytes()
    for length in some(range(len(pack))):
        copy = small.copy("damaged")
        (copy.folder / "packs" / "000001.pack").write_bytes(pack[:length])
        for quick in (True, False):
            archive = copy.archive
            damages = verify(archive, quick=quick).damages
            named = {file.number for damage in damages for file in damage.files}
            touched = {
                file.number
                for file in archive.files.values()
                for version in file.versions
                for chunk in version.chunks
                if chunk.offset + chunk.length > length
            }
            assert named == touched
            assert damages


def test_a_missing_catalogue_is_no_healthy_archive(small: KeptHome) -> None:
    copy = small.copy("damaged")
    copy.archive.catalogue.unlink()
    assert copy.verify().damages


def test_damage_is_not_covered_up_by_the_next_capture(small: KeptHome) -> None:
    """Losing the line of a deleted file stays reported, although another file might get its number."""
    lines = (small.folder / "catalogue.jsonl").read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines):
        if b'"kind":"file"' in line:
            copy = small.copy("damaged")
            copy.archive.catalogue.write_bytes(
                b"".join([*lines[:number], line.replace(b'"at":"2', b'"at":"3'), *lines[number + 1 :]])
            )
            for pack in (copy.folder / "packs").iterdir():  # with the copy of the line the damage would be mended
                pack.write_bytes(pack.read_bytes().replace(COPY, b"damaged!"))
            copy.write(new=b"a new file\n").capture()
            assert copy.verify().damages
            (new,) = [file for file in copy.archive.files.values() if contents(copy.archive, file) == [b"a new file\n"]]
            assert new.number > 3, "the number of a file whose line is damaged was given to another"
            copy.session("new").unlink()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> KeptHome:
    kept = KeptHome(tmp_path_factory.mktemp("large"))
    write_home(kept.home, EVERYTHING)
    kept.capture()
    return kept


@pytest.mark.slow
@given(st.data())
def test_any_change_of_any_file_of_the_archive_is_found_or_harmless(large: KeptHome, data: st.DataObject) -> None:
    expected = whole(large.archive)
    folder = large.folder.with_name("changed")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(large.folder, folder)
    path = folder / data.draw(st.sampled_from(["catalogue.jsonl", "packs/000001.pack"]))
    content = path.read_bytes()
    start = data.draw(st.integers(0, len(content) - 2))
    end = data.draw(st.integers(start, min(len(content) - 1, start + 20)))
    path.write_bytes(content[:start] + data.draw(st.binary(max_size=20)) + content[end:])
    archive = Archive(folder)
    assert verify(archive).damages or whole(archive) == expected


def test_files_that_are_not_packs_are_left_alone(small: KeptHome) -> None:
    copy = small.copy("damaged")
    stranger = Path(copy.folder / "packs" / "notes.txt")
    stranger.write_text("mine")
    copy.capture()
    assert copy.verify().damages == []
    assert stranger.read_text() == "mine"


@pytest.mark.parametrize("error", [errno.EIO, errno.EACCES, errno.EMFILE, errno.ENOMEM])
@pytest.mark.parametrize("quick", [False, True])
def test_what_the_system_refuses_to_read_is_not_called_damaged(
    small: KeptHome, monkeypatch: pytest.MonkeyPatch, error: int, quick: bool
) -> None:
    archive = small.archive

    def refuse(*_: object, **__: object) -> bytes:
        raise OSError(error, os.strerror(error))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat" if quick else "open", refuse)
        report = verify(archive, quick=quick)
    assert report.damages == []
    (refused,) = report.unreadable
    assert os.strerror(error) in refused.what
    assert {file.number for file in refused.files} == set(archive.files)
