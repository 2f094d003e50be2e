"""Merge one archive into another: for backups, restoring them, and repairs.

Everything is checked before it is copied, and the target never loses anything: a chunk is copied only if its SHA-256 is
right, a version only grows, and a file is removed only if the user forgot it. Whatever was refused is reported. The
target is written like any archive, bytes first and then lines, so that it is intact at any moment.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from backscroll.archive.archive import Archive, DamagedError, ForgottenError
from backscroll.archive.catalogue import AddedBytes, Chunk
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.archive.packing import Packed
from backscroll.archive.rewriting import Writer
from backscroll.archive.writer import now
from backscroll.errors import BackscrollError, StorageError


class RefusedFile(NamedTuple):
    """A file that was not copied completely, and why."""

    file: KeptFile
    what: str


@dataclass
class Merged:
    """What was added to the target."""

    files: int = 0
    size: int = 0
    """Bytes written to packs."""
    mended: int = 0
    """Damaged chunks of the target that were replaced."""
    forgotten: int = 0
    refused: list[RefusedFile] = field(default_factory=list)
    only_in_target: list[KeptFile] = field(default_factory=list)
    """Files of the source's machines that are longer in the target, although they were not forgotten."""


def merge(source: Archive, target: Writer) -> Merged:
    """Merge the source into the target, and forget in the target what the source forgot."""
    if source.lost_end is not None:
        hint = "run backscroll archive repair first"
        raise BackscrollError(f"the end of the catalogue of {source.folder} is lost: {source.lost_end}", hint)
    done = Merged()
    if target.is_complete:  # first, so that what remains of a database in both is the same
        _forget(source, target, done)
    pairs = _Pairs(target, source)
    met: set[int] = set()
    for file in source.files.values():
        if target.is_forgotten(file.home, file.path, file.machine):
            continue
        twin = pairs.twin_of(file)
        if twin is None:
            twin = target.new_file(file.machine, file.home, file.path, file.type)
        met.add(twin.number)
        before = done.size, len(twin.versions)
        _bring(source, file, target, twin, done)
        done.files += before != (done.size, len(twin.versions))
        if _has_more(twin, file):
            done.only_in_target.append(twin)
    for (machine, home), at in source.captured.items():
        if target.captured.get((machine, home), "") < at:
            target.captured_all(machine, home, at)
    target.commit()
    _forget(source, target, done)
    rest = (file for file in target.files.values() if file.number not in met and file.versions)
    done.only_in_target += [file for file in rest if file.machine in source.machines]
    return done


def _forget(source: Archive, target: Writer, done: Merged) -> None:
    """Forget in the target what the source forgot."""
    forgotten = [file for file in target.files.values() if source.is_forgotten(file.home, file.path, file.machine)]
    if forgotten or source.forgotten - target.forgotten:
        target.forget(forgotten, source.forgotten)
        done.forgotten += len(forgotten)


def mend(source: Archive, target: Writer) -> int:
    """Replace damaged chunks of the target by intact ones of the source; return how many.

    Reads everything in the target. A damaged catalogue is rewritten; the old one is left next to it.
    """
    bad = {chunk.id for chunk in target.chunks.values() if not target.is_sound(chunk)}
    found = [chunk for name, chunk in source.chunks.items() if name in bad and source.is_sound(chunk)]
    packed = (Packed(chunk.id, source.read_packed(chunk), chunk.size) for chunk in found)
    if found or target.bad_lines:
        target.replace_chunks(packed, still_bad=bad - {chunk.id for chunk in found})
    return len(found)


def _bring(source: Archive, file: KeptFile, target: Writer, twin: KeptFile, done: Merged) -> None:
    """Add to the target's file what only the source has of it."""
    written = False
    for index, version in enumerate(file.versions):
        has = twin.versions[index] if index < len(twin.versions) else None
        new = version.chunks[len(has.chunks) if has else 0 :]
        if has is not None and not new:
            continue
        chunks: list[Chunk] = []
        for packed in _sound(source, file, new, target, done):
            chunk, size = target.put(packed)
            chunks.append(chunk)
            done.size += size
        if chunks or has is None:
            _add(target, twin, index, has, version, chunks)
            written = True
    is_level = [len(version.chunks) for version in twin.versions] == [len(version.chunks) for version in file.versions]
    if written and is_level and file.bookmark is not None and twin.latest is not None and file.latest is not None:
        _add(target, twin, len(twin.versions) - 1, twin.latest, file.latest, [], list(file.bookmark))
    if file.path != twin.path:
        target.moved(twin, file.path)
    if file.gone_since and not twin.gone_since:
        target.gone(twin)


def _add(
    target: Writer,
    twin: KeptFile,
    index: int,
    has: Version | None,
    version: Version,
    chunks: list[Chunk],
    bookmark: list[int] | None = None,
) -> None:
    size = (has.size if has else 0) + sum(chunk.size for chunk in chunks)
    line = AddedBytes(
        at=version.since if has is None else now(),
        file=twin.number,
        version=index,
        size=size,
        modified_ns=version.modified_ns,
        chunks=chunks,
        bookmark=bookmark or [],
    )
    target.add_chunks(line)


def _sound(source: Archive, file: KeptFile, chunks: list[Chunk], target: Writer, done: Merged) -> Iterator[Packed]:
    """The chunks in order, up to the first that neither archive has."""
    for chunk in chunks:
        try:
            source.unpack(chunk)
            yield Packed(chunk.id, source.read_packed(chunk), chunk.size)
        except ForgottenError:
            return  # meanwhile; the next merge forgets it in the target too
        except (DamagedError, StorageError) as error:
            own = target.chunks.get(chunk.id)
            if own is None or not target.is_sound(own):
                done.refused.append(RefusedFile(file, error.message))
                return
            yield Packed(chunk.id, target.read_packed(own), chunk.size)


def _has_more(twin: KeptFile, file: KeptFile) -> bool:
    if len(twin.versions) > len(file.versions):
        return True
    return any(has.size > version.size for has, version in zip(twin.versions, file.versions, strict=False))


class _Pairs:
    """Finds the target's counterpart of a file of the source."""

    def __init__(self, target: Archive, source: Archive) -> None:
        self._by_path: dict[tuple[str, str, str], list[KeptFile]] = {}
        self._by_content: dict[tuple[str, str, str], list[KeptFile]] = {}
        self._taken: set[int] = set()
        named = {(file.machine, file.home, file.path) for file in source.files.values()}
        for file in target.files.values():
            key = (file.machine, file.home, file.path)
            self._by_path.setdefault(key, []).append(file)
            if key not in named and (first := _first_chunk(file)):
                self._by_content.setdefault((file.machine, file.home, first), []).append(file)

    def twin_of(self, file: KeptFile) -> KeptFile | None:
        """The file with the same path, otherwise one with another path that starts with the same bytes."""
        candidates = self._by_path.get((file.machine, file.home, file.path), [])
        if first := _first_chunk(file):
            candidates = [*candidates, *self._by_content.get((file.machine, file.home, first), [])]
        for candidate in candidates:
            if candidate.number not in self._taken and _is_same(candidate, file):
                self._taken.add(candidate.number)
                return candidate
        return None


def _is_same(one: KeptFile, other: KeptFile) -> bool:
    """Whether each version of one file continues that of the other, or the other way round."""
    for mine, theirs in zip(one.versions, other.versions, strict=False):
        if any(a.id != b.id for a, b in zip(mine.chunks, theirs.chunks, strict=False)):
            return False
    return True


def _first_chunk(file: KeptFile) -> str | None:
    return next((chunk.id for version in file.versions for chunk in version.chunks), None)
