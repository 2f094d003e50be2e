"""A lost end of the catalogue is detected, wherever it was cut, and nothing is appended as if it were complete."""

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.end_note import read_note
from backscroll.archive.stamp import END_NOTE
from tests.archive.support import KeptHome
from tests.support.samples import some


@pytest.fixture
def several(kept: KeptHome) -> KeptHome:
    """Several captures: growth, a rewriting, a file that is gone."""
    kept.write(a=b"one\n", b=b"first\n", c=b"not for long\n").capture()
    kept.append("a", b"two\n")
    kept.session("c").unlink()
    kept.capture()
    kept.write(b=b"another\n", d=b"four\n").capture()
    assert kept.archive.is_complete
    return kept


def ends(data: bytes) -> list[int]:
    """Where lines end, after the first: without that there is no catalogue at all."""
    return [at + 1 for at, byte in enumerate(data) if byte == 0x0A]


@pytest.mark.slow
@pytest.mark.parametrize("zeros", [False, True], ids=["cut", "zeros"])
def test_a_lost_end_is_noticed_wherever_it_begins(several: KeptHome, zeros: bool) -> None:
    data = several.archive.catalogue.read_bytes()
    for at in some(range(len(data) - 1), case=zeros):
        several.archive.catalogue.write_bytes(data[:at] + (bytes(len(data) - at) if zeros else b""))
        archive = several.archive
        assert archive.is_complete == (at >= len(data) - 1), f"cut at byte {at} of {len(data)}"
        assert several.verify().damages, f"cut at byte {at} of {len(data)}"


def test_a_line_that_was_never_acknowledged_is_no_loss(several: KeptHome) -> None:
    with several.archive.catalogue.open("ab") as catalogue:
        catalogue.write(b'{"kind":"bytes","at":"2026-')
    assert several.archive.is_complete
    several.append("a", b"three\n")
    several.capture()
    several.check_whole()


def test_an_outdated_or_unreadable_note_is_not_reported_as_a_loss(several: KeptHome) -> None:
    note = several.folder / END_NOTE
    before = note.read_bytes()
    several.append("a", b"three\n")
    several.capture()
    for data in (before, b"", bytes(len(before)), before[:100], b"\xff" * 40):
        note.write_bytes(data)
        assert several.archive.is_complete
        assert several.verify().damages == []
    several.capture()
    found = read_note(several.folder)
    assert found
    assert found.lines == several.archive.catalogue.read_bytes().count(b"\n")


def test_a_note_about_the_catalogue_before_a_forgetting_says_nothing(several: KeptHome) -> None:
    note = (several.folder / END_NOTE).read_bytes()
    several.forget("a", "b", "c")
    assert several.archive.is_complete
    (several.folder / END_NOTE).write_bytes(note)  # as after a power cut between the two
    assert several.archive.is_complete


def test_a_file_is_forgotten_only_if_the_catalogue_says_so(several: KeptHome) -> None:
    several.forget("b")
    data = several.archive.catalogue.read_bytes()
    home, b = str(several.home), several.session("b").relative_to(several.home).as_posix()
    for at in ends(data):
        several.archive.catalogue.write_bytes(data[:at])
        archive = Archive(several.folder)
        missing = {"a", "c", "d"} - {file.path for file in archive.files.values()}
        paths = [several.session(name).relative_to(several.home).as_posix() for name in missing]
        assert not any(archive.is_forgotten(home, path) for path in paths)
    assert archive.is_forgotten(home, b)
