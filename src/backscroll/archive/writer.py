"""Write to an archive. There is one writer at a time, across processes.

Bytes go to the pack first and are flushed; only then does the catalogue name them, and is flushed too. Bytes in a pack
that the catalogue does not name were left by an interrupted writer. They are never removed, only appended to: if the
catalogue is ever damaged, they may be all that is left.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from msgspec.structs import replace

from backscroll.archive.catalogue import (
    BEGINNING,
    AddedBytes,
    CaptureEnd,
    CatalogueEntry,
    Chunk,
    Gone,
    Header,
    Moved,
    Suspect,
    VerificationEnd,
    encode,
    written_name,
)
from backscroll.archive.end_note import EndNote, write_note
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.archive.line_copies import is_worth_a_copy, pack_copy
from backscroll.archive.one_file import begin_differently, is_relation_needed, version_before
from backscroll.archive.pack_writing import PackWriter
from backscroll.archive.packing import Packed, in_chunks, pack
from backscroll.archive.recovery import recover
from backscroll.archive.snapshot import new_file_entry
from backscroll.archive.stamp import stamp_of
from backscroll.disk import FileLock, append, open_own, open_private, private_folder, read_at, sync_folder
from backscroll.errors import BackscrollError
from backscroll.files.reading import Bookmark

COMMIT_AFTER: Final = 64 * 1024 * 1024
"""Commit after this many bytes of a source."""


@dataclass(eq=False)
class _Job:
    """A file whose bytes are being packed."""

    file: KeptFile
    version: int
    size: int
    chunks: list[Chunk] = field(default_factory=list)
    open: int = 0
    """The number of chunks that are not written yet."""
    bookmark: Bookmark | None = None
    """The bookmark of the source, once it has been read to its end."""


class Appender(PackWriter):
    """An archive open for appending; a context manager that holds the lock."""

    def __init__(self, folder: Path, *, accepts_loss: bool = False) -> None:
        """Take the lock and continue after the last write.

        A lost end of the catalogue is recovered from the copies of its lines in the packs. If lines are still missing,
        the archive is refused unless `accepts_loss`: writing after the gap would make the loss permanent.
        """
        private_folder(folder)
        private_folder(folder / "packs")
        self._lock = FileLock(
            folder / "lock", "another backscroll is keeping sessions right now", "wait for it, or try again later"
        )
        self._pending: list[CatalogueEntry] = []
        self._threads = ThreadPoolExecutor(max_workers=os.cpu_count() or 2)
        self._waiting: deque[tuple[Future[Packed], _Job]] = deque()
        self._is_broken = False
        try:
            super().__init__(folder)
            self.recovered = recover(self)
            if self.recovered.is_written:
                super().__init__(folder)
            lost_only_notes = self._note is not None and self._lines < self._note.lines and not self.recovered.missing
            if self.lost_end is not None and not lost_only_notes and not accepts_loss:
                hint = "run backscroll archive repair, with --from and the folder of a backup if there is one"
                raise BackscrollError(f"the end of the catalogue is lost: {self.lost_end}", hint)
            self.lost_end = None
            if self.bad_lines:
                self._copied = (self._lines, self._end, self._sum)  # copies continue after the damage
            # Numbers in damaged lines count too: they must not be given to another file.
            numbers = (number for bad in self.bad_lines for number in bad.files)
            self._next_file = max([0, *self.files, *numbers]) + 1
            self._heal()
            if self._note is None:
                self._note_end(flush=True)
                sync_folder(folder)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.commit()
                self._note_end(flush=True)
        finally:
            self.close()

    def close(self) -> None:
        """Release the lock. Uncommitted data is dropped; the next capture keeps it."""
        try:
            self._threads.shutdown(cancel_futures=True)
            self._close_pack()
        finally:
            self._lock.release()

    def new_file(self, machine: str, home: str, path: str, kind: str) -> KeptFile:
        """Start to keep a file, at a path where none is kept."""
        number = self._next_file
        self._next_file += 1
        self._write(new_file_entry(KeptFile(number, machine, home, path, kind), now()))
        return self.files[number]

    def add(
        self, file: KeptFile, pieces: Iterable[bytes], bookmark_after: Callable[[], Bookmark], *, new_version: bool
    ) -> int:
        """Keep more bytes of a file, or a new version; return the number of bytes.

        `bookmark_after` returns the state of the source once all pieces have been read.
        """
        version = len(file.versions) if new_version or not file.versions else len(file.versions) - 1
        before = file.versions[version].size if version < len(file.versions) else 0
        job = _Job(file, version, before)
        for data in in_chunks(pieces):
            job.size += len(data)
            job.open += 1
            self._waiting.append((self._threads.submit(pack, data), job))
            self._settle(MAX_WAITING)
        job.bookmark = bookmark_after()
        self._finish(job)
        if self._pending_bytes >= COMMIT_AFTER:
            self.commit()
        return job.size - before

    def add_chunks(self, line: AddedBytes) -> None:
        """Record which file these chunks, written before, belong to."""
        self._write(line)
        if self._pending_bytes >= COMMIT_AFTER:
            self.commit()

    def renew_copies(self) -> None:
        """Write a copy of all lines into the packs, because the existing one is damaged."""
        self.commit()
        self._copied = (0, 0, BEGINNING)
        self._copy(self._not_copied(), BEGINNING)
        assert self._pack is not None  # noqa: S101
        os.fsync(self._pack)
        self._sure_of = (self._pack_number, self._pack_end)
        self._copied = (self._lines, self._end, self._sum)
        self._note_end()

    def settle(self) -> None:
        """Write everything that is being packed."""
        self._settle(0)

    def _settle(self, most: int) -> None:
        """Write packed chunks in order until at most this many are being packed."""
        if self._is_broken:
            raise BackscrollError("a write to the disk failed", "check the disk, and try again")
        while len(self._waiting) > most:
            future, job = self._waiting.popleft()
            try:
                job.chunks.append(self._put(future.result()))
            except BaseException:
                self._waiting.clear()  # these files are not recorded; the next capture keeps them
                raise
            job.open -= 1
            self._finish(job)

    def _finish(self, job: "_Job") -> None:
        """Record a file once all of it has been read and written."""
        if job.bookmark is None or job.open:
            return
        is_known = job.version < len(job.file.versions) and job.file.gone_since is None and not job.file.is_suspect
        if is_known and not job.chunks and job.bookmark == job.file.bookmark:
            return  # a visit without new content
        self._write(
            AddedBytes(
                at=now(),
                file=job.file.number,
                version=job.version,
                size=job.size,
                modified_ns=job.bookmark.modified_ns,
                chunks=job.chunks,
                bookmark=list(job.bookmark),
            )
        )

    def moved(self, file: KeptFile, path: str) -> KeptFile:
        """Record that the file moved within its home; return the kept file at its new path.

        No path has two kept files, and content at a path stays kept there. If another file was kept at the new path, it
        gets the moved content as its next version; and if another file had been at the old path, its versions stay
        behind. Either way the old path has a file that is gone.
        """
        there = self.sources.get(file.key.beside(path))
        if file.latest is None or file.bookmark is None or (there is None and file.first_related == 1):
            text, in_hex = written_name(path)
            self._write(Moved(at=now(), file=file.number, path=text, path_hex=in_hex))
            return file
        there = there or self.new_file(file.machine, file.home, path, file.type)
        self._write(
            AddedBytes(
                at=now(),
                file=there.number,
                version=len(there.versions),
                size=file.latest.size,
                modified_ns=file.latest.modified_ns,
                chunks=file.latest.chunks,
                bookmark=list(file.bookmark),
                unrelated=True if there.versions and not is_relation_needed(there) else None,
            )
        )
        self.gone(file)
        return there

    def gone(self, file: KeptFile, at: str | None = None) -> None:
        """Record that the file is gone from its home, now or since `at`."""
        self._write(Gone(at=at or now(), file=file.number))

    def suspect(self, file: KeptFile) -> None:
        """Mark the file as damaged: it is kept again, if it still exists."""
        self._write(Suspect(at=now(), file=file.number))

    def trust(self, file: KeptFile) -> None:
        """Record that the file was marked as damaged, but is intact."""
        self._write(Suspect(at=now(), file=file.number, withdrawn=True))

    def captured_all(self, machine: str, home: str, at: str | None = None) -> None:
        """Record that everything in the home is kept."""
        text, in_hex = written_name(home)
        self._write(CaptureEnd(at=at or now(), machine=machine, home=text, home_hex=in_hex))

    def verified_all(self, damaged: int, *, quick: bool) -> None:
        """Record a verification."""
        self._write(VerificationEnd(at=now(), damaged=damaged, quick=quick))

    def commit(self) -> None:
        """Make everything so far durable."""
        self._settle(0)
        if not self._pending:
            return
        lines, last_sum = encode(self._pending, self._sum)
        if self._needs_newline:
            lines = b"\n" + lines
        has_copy = is_worth_a_copy(self._pending)
        if has_copy:
            self._copy(self._not_copied() + lines, self._copied[2])
        if self._pack is not None:
            self._is_broken = True  # after a failed flush the disk may have lost data without reporting it again
            os.fsync(self._pack)
            self._is_broken = False
        is_new = not self.catalogue.exists()
        self._sure_of = (self._pack_number, self._pack_end)  # from here on the catalogue may name these bytes
        append(self.catalogue, lines, self._end)
        self.stamp = stamp_of(self.folder)
        if is_new:
            sync_folder(self.folder)
        self._needs_newline = False
        self._sum = last_sum
        self._end += len(lines)
        self._lines += len(self._pending)
        self._header_sum = self._header_sum or encode(self._pending[:1], BEGINNING)[1]
        if has_copy:
            self._copied = (self._lines, self._end, self._sum)
        self._pending = []
        self._pending_bytes = 0
        self._note_end()

    def _write(self, entry: CatalogueEntry) -> None:
        self._apply(entry)
        if isinstance(entry, AddedBytes) and entry.unrelated is None and entry.size:
            file = self.files[entry.file]
            version = file.versions[entry.version]
            if version.is_unrelated is None and self._relate(file, version):
                entry = replace(entry, unrelated=version.is_unrelated)
        self._pending.append(entry)

    def _relate(self, file: KeptFile, version: Version) -> bool:
        """Relate a version to the one before; return whether there is one to relate it to."""
        earlier = version_before(file, version.number) if is_relation_needed(file) else None
        if earlier is not None:
            version.is_unrelated = begin_differently(self, earlier, version)
        return earlier is not None

    def _unite(self) -> None:
        """Leave the files as the catalogue has them, since later lines name them; `Writer` rewrites the catalogue."""

    def _note_end(self, *, flush: bool = False) -> None:
        """Record the length of the catalogue outside of it, so that a lost end is noticed."""
        note = EndNote(header=self._header_sum, lines=self._lines, sum=self._sum, copied=self._copied[0])
        write_note(self.folder, note, flush=flush)

    def _not_copied(self) -> bytes:
        """Return the lines of the catalogue that have no copy yet."""
        start = self._copied[1]
        if start >= self._end:
            return b""
        with open_own(self.catalogue) as file:
            return read_at(file.fileno(), start, self._end - start)

    def _copy(self, lines: bytes, before: str) -> None:
        """Write a copy of lines into the pack; the caller flushes it."""
        self._write_to_pack(pack_copy(lines, before))

    def _heal(self) -> None:
        """Continue after the leftovers of an interrupted writer, and tighten permissions."""
        for path in (self.catalogue, *map(self.pack, self.packs_on_disk())):
            if path.exists():
                os.close(open_private(path, os.O_RDONLY))
        used = {chunk.pack for chunk in self.chunks.values()}
        if not self.bad_lines:
            for number in self.packs_on_disk():
                if number < self.first_pack and number not in used:
                    self.pack(number).unlink()  # an interrupted `forget` without its last step
        self._pack_number = max([self.first_pack, *self.packs_on_disk()])
        pack = self.pack(self._pack_number)
        self._pack_end = pack.stat().st_size if pack.exists() else 0
        self._opened_at = self._pack_end
        self._sure_of = (self._pack_number, self._pack_end)
        if self.catalogue.exists() and self.catalogue.stat().st_size > self._end:
            # Half a line was never acknowledged; the next one must start on its own line.
            os.truncate(self.catalogue, self._end)
            self.stamp = stamp_of(self.folder)
        if self._end == 0:
            if any(self.pack(number).stat().st_size for number in self.packs_on_disk()):
                hint = "restore the catalogue from a backup, or move the folder away to start again"
                raise BackscrollError(f"the catalogue of {self.folder} is lost, and its packs are there", hint)
            self._write(Header(at=now()))
            self.commit()  # before any pack exists: packs without a catalogue would count as damage


def now() -> str:
    """Return the current time, in the format of the catalogue."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


MAX_WAITING: Final = 2 * (os.cpu_count() or 2)
"""The number of chunks that are packed at once; this bounds memory."""
