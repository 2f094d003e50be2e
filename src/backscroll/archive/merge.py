"""Merge one archive into another: for backups, restoring them, and repairs.

Everything is checked before it is copied, and the target never loses anything: a chunk is copied only if its SHA-256 is
right, a version only grows, and a file is removed only if the user forgot it. Refused files are reported. The target is
written like any archive, bytes first and then lines, so that it is intact at any moment.

Files of both archives at one path are one file of the target. If the archives read it at different times, so that their
chunks differ, the bytes are compared, and the file gets the versions that it does not have.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import AddedBytes, Chunk
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.archive.packing import Packed
from backscroll.archive.packs import DamagedError, ForgottenError
from backscroll.archive.rewriting import Writer
from backscroll.archive.writer import now
from backscroll.errors import BackscrollError, StorageError


class RefusedFile(NamedTuple):
    """A file that was not copied completely, and the reason."""

    file: KeptFile
    what: str
    may_pass: bool = False
    """Whether the system could not read the file: another time it may."""


@dataclass
class Merged:
    """The additions to the target."""

    files: int = 0
    size: int = 0
    """Bytes written to packs."""
    mended: int = 0
    """Damaged chunks of the target that were replaced."""
    unmarked: int = 0
    """Files of the target that were marked as damaged, and are intact."""
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
    if target.is_complete:  # first, so that the rest of a database is equal in both
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
    """Replace damaged chunks of the target by intact ones of the source; return their number.

    Reads everything in the target. A damaged catalogue is rewritten; the old one is left next to it.
    """
    bad = {chunk.id for chunk in target.chunks.values() if not target.is_sound(chunk)}
    replacements = [chunk for name, chunk in source.chunks.items() if name in bad and source.is_sound(chunk)]
    packed = (Packed(chunk.id, source.read_packed(chunk), chunk.size) for chunk in replacements)
    if replacements or target.bad_lines:
        target.replace_chunks(packed, still_bad=bad - {chunk.id for chunk in replacements})
    return len(replacements)


def _bring(source: Archive, file: KeptFile, target: Writer, twin: KeptFile, done: Merged) -> None:
    """Add the bytes to the target's file that only the source has."""
    mark, last, gone_since = twin.bookmark, twin.latest, twin.gone_since
    if _is_same(twin, file):
        _continue(source, file, target, twin, done)
    else:
        has_latest = _add_versions(source, file, target, twin, done)
        is_newer = not has_latest or (file.latest is not None and last is not None and _is_newer(last, file.latest))
        if last is not None and twin.latest is not last and is_newer:
            # The version at the path now comes last: new bytes continue it.
            _add(target, twin, len(twin.versions), None, last, last.chunks, list(mark or ()))
    if last is not None and twin.latest is last and twin.bookmark is None and mark and mark.offset == last.size:
        _add(target, twin, last.number - 1, last, last, [], list(mark))
    if file.path != twin.path:
        twin = target.moved(twin, file.path)
    if gone_since and not twin.gone_since and (twin.latest is last or file.gone_since):
        target.gone(twin, gone_since)
    elif file.gone_since and not twin.gone_since:
        target.gone(twin)


def _continue(source: Archive, file: KeptFile, target: Writer, twin: KeptFile, done: Merged) -> None:
    """Add the chunks that follow those of the target's file, version by version."""
    written = False
    for index, version in enumerate(file.versions):
        has = twin.versions[index] if index < len(twin.versions) else None
        new = version.chunks[len(has.chunks) if has else 0 :]
        if has is not None and not new:
            continue
        chunks = _put(source, file, new, target, done)
        if chunks or has is None:
            _add(target, twin, index, has, version, chunks)
            written = True
    is_level = [len(version.chunks) for version in twin.versions] == [len(version.chunks) for version in file.versions]
    if written and is_level and file.bookmark is not None and twin.latest is not None and file.latest is not None:
        _add(target, twin, len(twin.versions) - 1, twin.latest, file.latest, [], list(file.bookmark))


def _is_newer(version: Version, other: Version) -> bool:
    return version.modified_ns > other.modified_ns


def _add_versions(source: Archive, file: KeptFile, target: Writer, twin: KeptFile, done: Merged) -> bool:
    """Add the versions that the target's file does not have, or has less of, after its own.

    Return whether the latest version of the source's file was among them.
    """
    has_latest, last = False, twin.latest
    for version in file.versions:
        if not version.size or any(_has(target, own, source, version) for own in twin.versions):
            continue
        # The version at the path now may only grow into the one that is there now in the source.
        may_grow = [own for own in twin.versions if own is not last or (own is twin.latest and version is file.latest)]
        grown = next((own for own in reversed(may_grow) if own.chunks and _begins_with(version, own)), None)
        chunks = _put(source, file, version.chunks[len(grown.chunks) if grown else 0 :], target, done)
        if not chunks:
            continue
        size = (grown.size if grown else 0) + sum(chunk.size for chunk in chunks)
        part = Version(0, version.since, [*(grown.chunks if grown else ()), *chunks], size)
        if size < version.size and any(_has(target, own, target, part) for own in twin.versions):
            continue  # nothing else is left of it
        is_latest = version is file.latest and size == version.size and file.bookmark is not None
        index = len(twin.versions) if grown is None else grown.number - 1
        is_last = index >= len(twin.versions) - 1
        _add(target, twin, index, grown, version, chunks, list(file.bookmark or ()) if is_latest and is_last else None)
        has_latest = version is file.latest
    return has_latest


def _has(target: Archive, own: Version, source: Archive, version: Version) -> bool:
    """Whether a version of the target begins with all bytes of one of the source."""
    if own.size < version.size:
        return False
    if _begins_with(own, version):
        return True
    at = 0
    try:
        for chunk in version.chunks:
            data = source.chunk_bytes(chunk)
            if target.read(own, at, at + len(data)) != data:
                return False
            at += len(data)
    except BackscrollError:
        return False
    return True


def _begins_with(version: Version, other: Version) -> bool:
    """Whether a version begins with the chunks of another one."""
    if len(other.chunks) > len(version.chunks):
        return False
    return all(mine.id == theirs.id for mine, theirs in zip(version.chunks, other.chunks, strict=False))


def _put(source: Archive, file: KeptFile, chunks: list[Chunk], target: Writer, done: Merged) -> list[Chunk]:
    """Write chunks of the source, up to the first that neither archive has; return their places in the target."""
    written = []
    for packed in _sound(source, file, chunks, target, done):
        chunk, size = target.put(packed)
        written.append(chunk)
        done.size += size
    return written


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
    """Yield the chunks in order, up to the first that neither archive has."""
    for chunk in chunks:
        try:
            source.unpack(chunk)
            yield Packed(chunk.id, source.read_packed(chunk), chunk.size)
        except ForgottenError:
            return  # forgotten meanwhile; the next merge forgets it in the target too
        except (DamagedError, StorageError) as error:
            own = target.chunks.get(chunk.id)
            if own is None or not target.is_sound(own):
                done.refused.append(RefusedFile(file, error.message, not isinstance(error, DamagedError)))
                return
            yield Packed(chunk.id, target.read_packed(own), chunk.size)


def _has_more(twin: KeptFile, file: KeptFile) -> bool:
    if not _is_same(twin, file):
        return (twin.fullest.size if twin.fullest else 0) > (file.fullest.size if file.fullest else 0)
    if len(twin.versions) > len(file.versions):
        return True
    return any(has.size > version.size for has, version in zip(twin.versions, file.versions, strict=False))


class _Pairs:
    """Finds the target's counterpart of a file of the source."""

    def __init__(self, target: Archive, source: Archive) -> None:
        self._target = target
        self._by_content: dict[tuple[str, str, str], list[KeptFile]] = {}
        self._taken: set[int] = set()
        for file in target.files.values():
            if file.key not in source.sources and (first := _first_chunk(file)):
                self._by_content.setdefault((file.machine, file.home, first), []).append(file)

    def twin_of(self, file: KeptFile) -> KeptFile | None:
        """Return the file with the same path, otherwise one with another path that starts with the same bytes."""
        there = self._target.sources.get(file.key)
        if there is not None:
            return there
        for candidate in self._by_content.get((file.machine, file.home, _first_chunk(file) or ""), []):
            if candidate.number not in self._taken and _is_same(candidate, file):
                self._taken.add(candidate.number)
                return candidate
        return None


def _is_same(one: KeptFile, other: KeptFile) -> bool:
    """Whether each version of one file continues that of the other, in either direction."""
    for mine, theirs in zip(one.versions, other.versions, strict=False):
        if any(a.id != b.id for a, b in zip(mine.chunks, theirs.chunks, strict=False)):
            return False
    return True


def _first_chunk(file: KeptFile) -> str | None:
    return next((chunk.id for version in file.versions for chunk in version.chunks), None)
