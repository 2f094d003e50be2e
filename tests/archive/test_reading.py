import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.archive.archive import Archive
from backscroll.archive.reading import KeptReading
from backscroll.archive.rewriting import Writer
from backscroll.files import reading
from backscroll.files.reading import Change, Line, Reading
from tests.archive.support import KeptHome
from tests.support.homes import EVERYTHING, write_home

contents = st.lists(
    st.one_of(st.binary(max_size=40), st.sampled_from([b"\n", b"\n\n", b"x" * 30, "grü\n".encode(), b"\r\n", b"\0"]))
).map(b"".join)


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


def lines_of(pass_over: Reading | KeptReading) -> tuple[list[tuple[Line, bytes | None]], Line | None]:
    lines = [(line, b"".join(pass_over.pieces(line)) if line.data is None else None) for line in pass_over]
    return lines, pass_over.tail


def check(archive: Archive, path: Path) -> None:
    (file,) = [file for file in archive.files.values() if file.source == path]
    assert file.latest
    with Reading(path) as live:
        assert lines_of(KeptReading(archive, file.latest)) == lines_of(live)


@given(contents, st.integers(1, 20), st.integers(1, 20), st.integers(5, 60), st.lists(st.integers(0, 200), max_size=3))
def test_the_lines_are_those_of_the_source(
    scratch: Path, content: bytes, chunk: int, piece: int, longest: int, visits: list[int]
) -> None:
    """However it was cut into chunks, whenever it was captured, whatever is taken into memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("backscroll.archive.packing.CHUNK", chunk)
        patch.setattr(reading, "PIECE", piece)
        patch.setattr(reading, "LONGEST_LINE", longest)
        path = scratch / "source.jsonl"
        folder = scratch / os.urandom(8).hex()
        with Writer(folder) as writer:
            file = writer.new_file("m", str(scratch), path.name, "session")
            bookmark = None
            for end in [*sorted(visits), len(content)]:
                path.write_bytes(content[:end])
                with Reading(path, bookmark) as source:
                    writer.add(file, source.rest(), lambda source=source: source.bookmark, new_version=False)  # type: ignore[misc]
                writer.commit()
                bookmark = file.bookmark
        check(Archive(folder), path)


def test_every_transcript_reads_as_it_does_in_the_home(kept: KeptHome) -> None:
    write_home(kept.home, EVERYTHING)
    kept.capture()
    archive = kept.archive
    for file in archive.files.values():
        check(archive, file.source)


def test_an_older_version_can_be_read(kept: KeptHome) -> None:
    kept.write(a=b"one\ntwo\nthr").capture()
    kept.write(a=b"1\n").capture()
    archive = kept.archive
    old = KeptReading(archive, kept.file("a", archive).versions[0])
    assert [line.data for line in old] == [b"one", b"two"]
    assert old.tail == Line(8, 11, b"thr")


@given(st.binary(min_size=1, max_size=100), st.integers(0, 120), st.integers(0, 120))
def test_any_part_can_be_read(scratch: Path, content: bytes, start: int, end: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("backscroll.archive.packing.CHUNK", 7)
        patch.setattr(reading, "PIECE", 3)
        path = scratch / "part.jsonl"
        path.write_bytes(content)
        with Writer(scratch / os.urandom(8).hex()) as writer, Reading(path) as source:
            file = writer.new_file("m", str(scratch), path.name, "session")
            writer.add(file, source.rest(), lambda: source.bookmark, new_version=False)
            writer.commit()
            assert writer.read(file.versions[0], start, end) == content[start:end]


def test_a_version_that_grew_is_read_from_its_bookmark(kept: KeptHome) -> None:
    kept.write(a=b"one\ntwo\nthr").capture()
    first = KeptReading(kept.archive, kept.file("a", kept.archive).versions[0])
    assert [line.data for line in first] == [b"one", b"two"]
    kept.write(a=b"one\ntwo\nthree\nfour\n").capture()
    archive = kept.archive
    (version,) = kept.file("a", archive).versions
    grown = KeptReading(archive, version, first.bookmark)
    assert grown.change is Change.GROWN
    assert list(grown) == [Line(8, 14, b"three"), Line(14, 19, b"four")]
    again = KeptReading(archive, version, grown.bookmark)
    assert list(again) == []


def test_a_bookmark_of_other_bytes_counts_for_nothing(kept: KeptHome) -> None:
    kept.write(a=b"one\ntwo\n", b=b"one\nsix\nten\n").capture()
    archive = kept.archive
    one, other = kept.file("a", archive).versions[0], kept.file("b", archive).versions[0]
    read = KeptReading(archive, one)
    list(read)
    for mark in (read.bookmark, read.bookmark._replace(device=5), read.bookmark._replace(size=4)):
        again = KeptReading(archive, other, mark)
        assert again.change.starts_over
        assert [line.data for line in again] == [b"one", b"six", b"ten"]
    assert KeptReading(archive, one, read.bookmark._replace(inode=2)).change.starts_over


def test_a_bookmark_in_kept_bytes_fits_no_live_file(kept: KeptHome) -> None:
    kept.write(a=b"one\ntwo\n").capture()
    archive = kept.archive
    read = KeptReading(archive, kept.file("a", archive).versions[0])
    list(read)
    with Reading(kept.file("a", archive).source, read.bookmark) as live:
        assert live.change.starts_over
