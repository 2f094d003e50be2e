"""A catalogue whose end is lost is put together again from the packs, wherever it was cut."""

import shutil
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.line_copies import NAME as COPY
from backscroll.archive.rewriting import Writer
from backscroll.archive.stamp import END_NOTE
from backscroll.archive.verify import verify
from backscroll.errors import BackscrollError
from tests.archive.support import KeptHome, contents

State = dict[int, tuple[str, list[bytes], bool]]


def state(folder: Path) -> State:
    archive = Archive(folder)
    return {
        file.number: (file.path, contents(archive, file), file.gone_since is None) for file in archive.files.values()
    }


@pytest.fixture
def several(kept: KeptHome) -> KeptHome:
    """Growth, a rewriting, the same bytes twice, a file that moved, an empty one: and then all of it is gone."""
    kept.write(a=b"one\n", b=b"first\n", c=b"not for long\n").capture()
    kept.append("a", b"two\n")
    kept.session("c").unlink()
    kept.capture()
    kept.capture()  # a line that says only that nothing is new
    kept.write(b=b"another\n", d=b"one\ntwo\n", e=b"").capture()
    kept.write(b=b"first\n", f=b"not for long\n").capture()
    moved = kept.home / "projects" / "-elsewhere" / kept.session("d").name
    moved.parent.mkdir()
    kept.session("d").rename(moved)
    kept.capture()
    with moved.open("ab") as file:
        file.write(b"three\n")
    kept.capture()
    shutil.rmtree(kept.home / "projects")
    (kept.home / "projects").mkdir()
    return kept


def without_copies(kept: KeptHome) -> None:
    """As an earlier version wrote it."""
    for path in (kept.folder / "packs").iterdir():
        path.write_bytes(path.read_bytes().replace(COPY, b"nothing!"))
    note = kept.folder / END_NOTE
    data = note.read_bytes()
    note.write_bytes(data.replace(b'"copied"', b'"others"'))


@pytest.mark.parametrize("has_note", [True, False], ids=["note", "no note"])
@pytest.mark.parametrize("zeros", [False, True], ids=["cut", "zeros"])
def test_a_lost_end_is_recovered_wherever_it_begins(several: KeptHome, zeros: bool, has_note: bool) -> None:
    expected = state(several.folder)
    data = several.archive.catalogue.read_bytes()
    ends = [0, *(at + 1 for at, byte in enumerate(data) if byte == 0x0A)]
    for at in [*ends[:-1], *(end - 40 for end in ends[1:])]:
        copy = several.copy("cut")
        copy.archive.catalogue.write_bytes(data[:at] + (bytes(len(data) - at) if zeros else b""))
        if not has_note:
            (copy.folder / END_NOTE).unlink()
        assert not copy.archive.is_complete, f"cut at byte {at} of {len(data)}"
        for _ in range(2):
            with Writer(copy.folder, accepts_loss=True):
                pass
            assert state(copy.folder) == expected, f"cut at byte {at} of {len(data)}"
            assert verify(copy.archive).damages == []
            assert copy.archive.is_complete


def test_a_lost_end_is_recovered_before_anything_is_appended(several: KeptHome) -> None:
    expected = state(several.folder)
    lines = several.archive.catalogue.read_bytes().splitlines(keepends=True)
    several.archive.catalogue.write_bytes(b"".join(lines[:4]))
    several.write(g=b"new\n").capture()
    found = state(several.folder)
    assert {number: found[number][:2] for number in expected} == {number: kept[:2] for number, kept in expected.items()}
    several.check_whole()


def test_a_damaged_line_in_the_middle_is_recovered(several: KeptHome) -> None:
    expected = state(several.folder)
    data = several.archive.catalogue.read_bytes()
    for line in range(1, data.count(b"\n") - 1):
        copy = several.copy("changed")
        at = [at for at, byte in enumerate(data) if byte == 0x0A][line] - 60
        copy.archive.catalogue.write_bytes(data[:at] + b"?" + data[at + 1 :])
        with Writer(copy.folder):
            pass
        assert state(copy.folder) == expected
        assert copy.verify().damages == []


def test_a_commit_that_was_cut_off_before_the_catalogue_is_completed(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    note, catalogue = (kept.folder / END_NOTE).read_bytes(), kept.archive.catalogue.read_bytes()
    kept.write(b=b"two\n").capture()
    kept.archive.catalogue.write_bytes(catalogue)
    (kept.folder / END_NOTE).write_bytes(note)
    assert kept.archive.is_complete
    kept.session("b").unlink()
    kept.capture()
    assert kept.versions("b") == [b"two\n"]
    assert kept.verify().damages == []


def test_a_commit_whose_bytes_did_not_reach_the_disk_is_not_completed(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    note, catalogue = (kept.folder / END_NOTE).read_bytes(), kept.archive.catalogue.read_bytes()
    size = len(kept.packs["000001.pack"])
    kept.write(b=b"two\n").capture()
    kept.archive.catalogue.write_bytes(catalogue)
    (kept.folder / END_NOTE).write_bytes(note)
    with kept.archive.pack(1).open("r+b") as pack:
        pack.seek(size)
        pack.write(bytes(15))
    kept.capture()
    kept.check_whole()


def test_nothing_forgotten_comes_back(several: KeptHome) -> None:
    several.write(s=b"nobody may know\n" * 9).capture()
    several.append("s", b"and not this\n")
    several.capture()
    name = several.session("s").name.encode()
    assert name in several.everything()
    several.forget("s")
    several.write(a=b"later\n").capture()
    left = several.everything()
    assert name not in left
    assert b"nobody may know" not in left
    expected = state(several.folder)
    data = several.archive.catalogue.read_bytes()
    for at in [0, *(at + 1 for at, byte in enumerate(data) if byte == 0x0A)]:
        copy = several.copy("cut")
        copy.archive.catalogue.write_bytes(data[:at])
        (copy.folder / END_NOTE).unlink()
        with Writer(copy.folder, accepts_loss=True) as writer:
            assert writer.forgotten == several.archive.forgotten
        assert state(copy.folder) == expected


def test_an_archive_without_copies_is_read_and_gets_them_with_the_next_change(several: KeptHome) -> None:
    without_copies(several)
    expected = state(several.folder)
    assert several.verify().damages == []
    lines = several.archive.catalogue.read_bytes().splitlines(keepends=True)
    old = several.copy("old")
    old.archive.catalogue.write_bytes(b"".join(lines[:-3]))
    with pytest.raises(BackscrollError, match="the end of the catalogue is lost"):
        Writer(old.folder)
    with Writer(old.folder, accepts_loss=True) as writer:
        assert writer.recovered.missing == 3
    several.write(g=b"new\n").capture()
    several.archive.catalogue.write_bytes(lines[0])
    with Writer(several.folder):
        pass
    found = state(several.folder)
    assert {number: found[number][:2] for number in expected} == {number: kept[:2] for number, kept in expected.items()}
    several.check_whole()


def test_a_damaged_copy_is_found_and_rewritten(several: KeptHome) -> None:
    pack = several.folder / "packs" / "000001.pack"
    pack.write_bytes(pack.read_bytes().replace(COPY, b"damaged!", 1))
    (damage,) = several.verify().damages
    assert "archive repair" in damage.what
    with Writer(several.folder) as writer:
        writer.renew_copies()
    assert several.verify().damages == []
