"""How much of an archive is looked at to read a record, counted in chunks."""

from collections.abc import Iterator
from typing import SupportsIndex, overload

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import Chunk
from tests.archive.support import KeptHome

APPENDS = 60


class CountedChunks(list[Chunk]):
    """The chunks of a version, which count how often one of them is looked at."""

    looked_at = 0

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in super().__iter__():
            self.looked_at += 1
            yield chunk

    @overload
    def __getitem__(self, at: SupportsIndex) -> Chunk: ...
    @overload
    def __getitem__(self, at: slice) -> list[Chunk]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> Chunk | list[Chunk]:
        found = super().__getitem__(at)
        self.looked_at += len(found) if isinstance(at, slice) and isinstance(found, list) else 1
        return found


def test_a_record_is_read_without_adding_up_all_chunks(kept: KeptHome) -> None:
    lines = [b'{"line":%d}\n' % number for number in range(APPENDS)]
    kept.write(a=b"").capture()
    for line in lines:
        kept.append("a", line)
        kept.capture()
    archive = kept.archive
    (version,) = kept.file("a", archive).versions
    version.chunks = chunks = CountedChunks(version.chunks)
    starts = [sum(map(len, lines[:number])) for number in range(APPENDS)]
    assert archive.read(version, 0, 1) == b"{"
    chunks.looked_at = 0
    for start, line in zip(starts, lines, strict=True):
        assert archive.read(version, start, start + len(line)) == line
    assert chunks.looked_at == APPENDS, "one for each record"
    assert archive.read(version, 5, starts[-1] + 5) == b"".join(lines)[5 : starts[-1] + 5]
    assert archive.read(version, starts[-1] + 5, 10**6) == lines[-1][5:]
    assert archive.read(version, 10**6, 10**7) == b""


def test_a_copy_of_a_file_knows_its_sums(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    archive = kept.archive
    file = kept.file("a", archive)
    assert file.versions[0].ends == [4]
    copy = file.copy()
    copy.versions[0].chunks.append(file.versions[0].chunks[0])
    assert copy.versions[0].ends == [4, 8]
    assert file.versions[0].ends == [4]


def test_after_a_forgetting_the_catalogue_is_read_once(kept: KeptHome, opened: list[str]) -> None:
    kept.write(a=b"one\n", b=b"two\n", c=b"three\n" * 9).capture()
    before = kept.archive
    kept.forget("a")
    version = kept.file("c", before).versions[0]
    opened.clear()
    reads = count_reads(before)
    for start in range(0, version.size, 6):
        before._cache.clear()
        assert before.read(version, start, start + 6) == b"three\n"
    assert len(reads) == 1


def count_reads(archive: Archive) -> list[None]:
    """One entry for each time that the archive reads its catalogue again from now on."""
    reads: list[None] = []
    read = archive._read_again

    def counted() -> object:
        reads.append(None)
        return read()

    archive._read_again = counted  # type: ignore[assignment, method-assign]
    return reads
