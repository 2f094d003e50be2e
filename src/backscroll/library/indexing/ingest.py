"""Read new records into a store: rows, chats, and the progress, in one transaction per batch.

A file that grew is read from its bookmark on; its chat is loaded from its saved state, and only changes are written.
"""

import gc
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import msgspec

from backscroll.archive.reading import KeptReading
from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.saved import save
from backscroll.conversation.transcripts import Transcript, TranscriptPlace
from backscroll.files.discovery import Unreadable
from backscroll.files.layout import TRANSCRIPTS, FileKind
from backscroll.files.reading import Bookmark, Change
from backscroll.library.indexing.moves import NO_MOVES, Moves
from backscroll.library.indexing.recent_texts import RecentTexts
from backscroll.library.indexing.sources import (
    Item,
    SourceError,
    bookmark_of,
    conversation_place,
    in_pieces,
    lines_in,
    read_from,
    reading_of,
    take_beside,
)
from backscroll.library.indexing.tasks import Task, Work, in_batches
from backscroll.records.decode import Problem
from backscroll.records.record import Record
from backscroll.store.base import Store
from backscroll.store.batches import Batch, ChatKeys, FileColumns, ProblemColumns, microseconds
from backscroll.store.columns import FileFlags, add_record, add_spilled, change_of, title_of
from backscroll.store.reader import IndexedFile

MAX_ROWS: Final = 100_000
"""Number of rows of chats that stay in memory between runs, in case their sessions grow."""
BULK_ROWS: Final = 25_000
"""Number of rows that stay between batches of one run: the next batch needs few, and 1,000 rows take 1 MB."""
MAX_FILES: Final = 4_000
"""Number of files from which chats are released: a chat takes about 10 kB even without rows."""
RECORDS_AT_ONCE: Final = 1000


class Ingest:
    """Fills a store. Keeps its chats in memory, so that following a session only costs the new part."""

    def __init__(
        self, store: Store, on_bytes: Callable[[int], object] = lambda _: None, recent: RecentTexts | None = None,
        moves: Moves = NO_MOVES, is_elsewhere: Callable[[str], bool] = lambda _: False,
    ) -> None:  # fmt: skip
        self.work, self._moves, self._is_elsewhere = Work(), moves, is_elsewhere
        self.recent = recent or RecentTexts()
        """The texts read last, for indexing their words."""
        self._store, self._on_bytes = store, on_bytes
        self._incomplete, self._batch = set[str](), Batch()
        self.rows = self._first_rows = 0  # of chats in memory: now, and after the first batch
        self._forget()

    def go_on(self, store: Store, recent: RecentTexts) -> None:
        """Continue with the same store, opened again, if no other process has changed it since."""
        self._store, self.recent, self.work = store, recent, Work()

    def run(
        self,
        tasks: Iterable[Task],
        removed: Iterable[IndexedFile] = (),
        archived: Iterable[IndexedFile] = (),
        *,
        later: bool = False,
        after_batch: Callable[[], object] = lambda: None,
        is_enough: Callable[[], bool] = lambda: False,
    ) -> None:
        """Read everything, batch by batch, in the order of the tasks; call `after_batch` when a batch is written.

        `archived` are files that only the archive has. If `is_enough` after a batch, the rest is left for the next run.

        With `later`, overviews of chats that only grew are left to `finish`, or to the next run: they cost more the
        longer a chat is, and searches do not need them.
        """
        self._later, gone, kept, most_rows = later, list(removed), list(archived), MAX_ROWS
        for batch in in_batches(tasks):
            self._take(batch, gone, kept)
            self._release(most_rows)
            after_batch()
            if is_enough():
                return
            gone, kept, most_rows = [], [], BULK_ROWS
        if gone or kept or (not later and self._store.noted("overdue")):
            self._take([], gone, kept)
            after_batch()

    def finish(self) -> bool:
        """Write the overviews that `run` left for later; return whether there were any."""
        if is_overdue := self._is_overdue:
            self.run([])
            self._release(MAX_ROWS)  # until now they were needed
        return is_overdue

    def _take(self, tasks: list[Task], removed: list[IndexedFile], archived: list[IndexedFile]) -> None:
        """Read some files and write their records, each file completely or not at all."""
        before = replace(self.work)
        reported = len(self.work.unreadable)
        while True:
            try:
                failed = self._gather(tasks, removed, archived)
                if not any(task.source.id in self._begun for task in failed):
                    ids = self._store.write(self._batch)
                    self._numbers |= {name: ids[at] for name in self._begun if (at := self._numbers[name]) in ids}
                    break
            except BaseException:
                self._forget()  # the chats in memory may be ahead of the store
                raise
            # The records of a file go into many places, and join chats: start again from the written state, without the
            # files that failed. They are read the next time.
            self._forget()
            self.work.files, self.work.lines, self.work.size = before.files, before.lines, before.size
            self.work.records, self.work.chats = before.records, before.chats
            tasks = [task for task in tasks if not any(task is failed_task for failed_task in failed)]
        self.work.unreadable[reported:] = dict.fromkeys(self.work.unreadable[reported:])
        if not self._first_rows:
            self._first_rows = self.rows
        self._batch = Batch()  # after the write, the batch need not stay in memory while its words are indexed

    def _release(self, most_rows: int) -> None:
        """Release the chats if there are many.

        If growing sessions have more rows than that, they are released and loaded again only after as many new rows.
        """
        if most_rows == MAX_ROWS:
            most_rows = max(most_rows, 2 * self._first_rows)
        if (self.rows > most_rows or len(self._numbers) > MAX_FILES) and not self._is_overdue:
            self._forget()
            gc.collect()  # chats have reference cycles, and commands hardly ever run the cycle collector

    def _gather(self, tasks: list[Task], removed: list[IndexedFile], archived: list[IndexedFile]) -> list[Task]:
        """Fill a batch; return the files that could not be read."""
        batch = Batch()
        self._batch = batch
        self._keys = ChatKeys(set(), set(), {})
        self._begun: set[str] = set()
        """Files that may have rows in the batch."""
        self._fresh: set[str] = {known.source for known in removed}  # their saved state must not be loaded
        overdue = msgspec.json.decode(self._store.noted("overdue") or "[]", type=list[int])
        known_files = [*(task.known for task in tasks if task.known is not None), *removed, *archived]
        unseen = (known.id for known in known_files if self._chats.transcript(known.source) is None)
        self._load(self._store.chats_of([*unseen, *overdue]))
        batch.removed += [known.id for known in removed]
        batch.archived += [known.id for known in archived]
        for known in removed:
            self._drop(known.source, known.id)
        for known in archived:
            self._written.pop(known.source, None)
        failed = []
        self.recent.clear()
        for task in tasks:
            try:
                self._take_file(task)
            except SourceError as error:
                failed.append(task)
                self._incomplete.add(task.source.name.rpartition("/")[0])  # where it is a session inside a file
                self._report(error)
        self._load(self._store.related_chats(self._keys))
        self._chats.entitle_rows(self._still_given(self._store.titles_of(self._keys.rows)))
        self._gather_chats(later=self._later)
        return failed

    def _report(self, error: SourceError) -> None:
        if not error.is_gone:
            self.work.unreadable.append(Unreadable(error.path, error.reason))

    def _take_file(self, task: Task) -> None:
        """Read the new part of a file."""
        if task.source.kind in TRANSCRIPTS:
            self._take_transcript(task)
        elif task.source.kind is FileKind.TOOL_RESULT:
            self._take_spilled(task)
        elif task.source.name not in self._incomplete:  # otherwise it is opened again the next time
            self._note(task)

    def _take_transcript(self, task: Task) -> None:
        source, flags = task.source, FileFlags()
        place = conversation_place(source)
        before = self._chats.transcript(place.file)
        linked = set(before.linked) if before is not None else ()
        bookmark = Bookmark(*task.known.bookmark) if task.known and task.known.bookmark else None
        if task.only_beside and task.known:
            number, lines = task.known.id, task.known.lines
            self._numbers[place.file] = number
        else:
            number, lines, bookmark = self._read(task, place, bookmark, flags)
        for error in take_beside(self._chats, place, task.beside, before):
            self._report(error)
        transcript = self._transcript(place)
        self._batch.withdrawn += [(number, uuid) for uuid in transcript.withdrawn]
        transcript.withdrawn.clear()
        fresh = [name for name in transcript.linked if name not in linked or place.file in self._fresh]
        self._keys.sessions.update(fresh)
        self._batch.links += [(f"session {name}", number) for name in fresh]
        mark = msgspec.json.encode(list(bookmark)).decode() if bookmark else None
        columns = FileColumns(
            number, place.file, source.machine, source.home, source.name, str(source.kind), transcript.session_id,
            place.agent_id, self._moves.now(transcript.project), transcript.first_typed, microseconds(transcript.first),
            microseconds(transcript.last), bookmark.size if bookmark else source.size, source.is_archived, mark,
            save(transcript), lines, bookmark.modified_ns if bookmark else source.modified_ns,
            flags.image, flags.thinking, flags.diff,
        )  # fmt: skip
        self._batch.files.append(columns)
        self.work.add_file(None if source.is_kept else transcript.project)

    def _number(self, task: Task, *, starts_over: bool) -> int:
        """Return the file's id. If the file is read from the start, all of its rows are dropped."""
        source = task.source.id
        if task.known is None:
            number = self._batch.new_file()
        else:
            number = task.known.id
            if starts_over:
                self._batch.emptied.append(number)
                self._fresh.add(source)
                self._drop(source, number)
        self._numbers[source] = number
        self._begun.add(source)
        return number

    def _read(
        self, task: Task, place: TranscriptPlace, bookmark: Bookmark | None, flags: FileFlags
    ) -> tuple[int, int, Bookmark | None]:
        """Read the new part of a transcript; return its id, its number of lines, and the bookmark to continue from."""
        with reading_of(task.source):
            opened = task.source.open(bookmark)
        with opened as reading:
            goes_on = isinstance(reading, KeptReading) and reading.change is Change.GROWN
            starts_over = bookmark is None or reading.change.starts_over or (task.source.is_kept and not goes_on)
            number = self._number(task, starts_over=starts_over)
            line_number = 0 if starts_over or task.known is None else task.known.lines
            chunk: list[tuple[Record, int, int]] = []
            for line, items, is_complete in read_from(task.source, lines_in(reading)):
                self.work.lines += 1
                if is_complete:  # otherwise it counts as a line only with its newline
                    line_number += 1
                    self._on_bytes(line.end - line.start)
                    self.work.size += line.end - line.start
                self._take_line(items, chunk, number, line_number)
                if len(chunk) >= RECORDS_AT_ONCE:
                    self._add(place, chunk, number, flags)
                    chunk = []
            self._add(place, chunk, number, flags)
            with reading_of(task.source):
                return number, line_number, reading.bookmark

    def _take_line(self, items: Iterable[Item], chunk: list[tuple[Record, int, int]], number: int, line: int) -> None:
        for item, start, length in items:
            if not isinstance(item, Problem):
                chunk.append((item, start, length))
            elif item.kind != "blank":
                self._batch.problems.append(ProblemColumns(number, line, start, item.kind, item.detail))

    def _add(self, place: TranscriptPlace, chunk: list[tuple[Record, int, int]], number: int, flags: FileFlags) -> None:
        transcript = self._transcript(place)
        first, had_begun = transcript.position, bool(transcript.first_typed)
        rows = self._chats.add(place, [record for record, _, _ in chunk])
        uuids = self._uuids.setdefault(place.file, set())
        repeated = {row.position: row for row in transcript.repeated}
        for position, ((record, start, length), row) in enumerate(zip(chunk, rows, strict=True), first):
            passages = add_record(self._batch, flags, number, position, start, length, record, row)
            if repetition := repeated.get(position):  # a row of an agent
                passages = add_record(
                    self._batch, flags, number, position, start, length, repetition.record, repetition.row
                )
            for passage in passages if self.recent.is_open(length) else ():
                self.recent.add(place.file, start, length, passage.number, passage.text())
            if title := title_of(record):
                self._batch.titles.append((title[0], number, title[1]))
                self._keys.rows.add(title[0])
            if row is not None:
                if row.uuid in uuids:  # written again, perhaps while an answer streamed in
                    self._batch.replaced.append((number, row.uuid, position))
                uuids.add(row.uuid)
            if row is None or row.is_sidechain or place.agent_id is not None:
                continue
            self._keys.rows.add(row.uuid)
            if row.message_id:
                self._keys.messages.setdefault(transcript.first_typed, set()).add(row.message_id)
            if row.parent and row.parent not in uuids:
                self._keys.rows.add(row.parent)
                self._batch.links.append((row.parent, number))
        if not had_begun and transcript.first_typed:
            known = self._keys.messages.setdefault(transcript.first_typed, set())
            known.update(row.message_id for row in transcript.rows if row.message_id)
        self.rows += len(chunk)
        self.work.records += len(chunk)

    def _take_spilled(self, task: Task) -> None:
        """Read a spilled tool result, in pieces that end with a line."""
        number = self._number(task, starts_over=True)
        when = task.source.modified_ns // 1000
        start = 0
        for piece in read_from(task.source, in_pieces(task.source)):
            if start == 0 and b"\0" in piece[:8192]:
                break  # a picture or the like
            add_spilled(self._batch, number, start, len(piece), when, task.source.path.stem)
            start += len(piece)
            self._on_bytes(len(piece))
        self._note(task, number)

    def _note(self, task: Task, number: int | None = None) -> None:
        """Record a file that is not a transcript."""
        source = task.source
        number = self._number(task, starts_over=False) if number is None else number
        with reading_of(source):
            bookmark = bookmark_of(source)
        mark = msgspec.json.encode(list(bookmark)).decode() if bookmark else None
        self._batch.files.append(FileColumns(
            number, source.id, source.machine, source.home, source.name, str(source.kind), source.place.session_id,
            source.place.agent_id, project=None, first_typed="", started=None, last_active=None, size=source.size,
            archived=source.is_archived, bookmark=mark, state=None, modified=source.modified_ns,
        ))  # fmt: skip

    def _gather_chats(self, *, later: bool) -> None:
        """Write every chat that changed; with `later`, not those that only grew."""
        changed = [chat for chat in self._chats.chats() if self._is_other(chat)]
        waiting = [chat for chat in changed if later and self._has_same_files(chat)]
        self._batch.overdue = [self._numbers[chat.transcripts[0].place.file] for chat in waiting]
        self._is_overdue = bool(waiting)
        files: set[int] = set()
        for chat in changed:
            if chat in waiting:
                continue
            files.update(self._numbers[transcript.place.file] for transcript in chat.transcripts)
            self._batch.chats.append(self._moves.applied(change_of(chat, self._numbers)))
            for transcript in chat.transcripts:
                self._written[transcript.place.file] = chat
            self.work.chats += 1
        self._batch.stale_chats |= self._store.chats_of([*files, *self._batch.removed])

    def _has_same_files(self, chat: Chat) -> bool:
        """Whether a chat is already written with the same files: its rows are then searchable without it."""
        before = self._written.get(chat.transcripts[0].place.file)
        known = {transcript.place.file for transcript in before.transcripts} if before is not None else set()
        return known == {transcript.place.file for transcript in chat.transcripts}

    def _is_other(self, chat: Chat) -> bool:
        return any(self._written.get(transcript.place.file) is not chat for transcript in chat.transcripts)

    def _load(self, chats: Iterable[int]) -> None:
        """Load saved chats, unless they are already in memory."""
        wanted = [chat for chat in chats if chat not in self._loaded]
        self._loaded.update(wanted)
        loaded = self._store.load_transcripts(wanted)
        loaded = [
            (number, transcript)
            for number, transcript in loaded
            if transcript.place.file not in self._fresh and self._chats.transcript(transcript.place.file) is None
        ]
        if not loaded:
            return
        titles = self._still_given(self._store.titles(number for number, _ in loaded))
        for number, transcript in loaded:
            self._numbers[transcript.place.file] = number
            self._uuids[transcript.place.file] = {row.uuid for row in transcript.rows}
            self._chats.take(transcript, titles)
            self.rows += len(transcript.rows)

    def _still_given(self, titles: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """Return the titles without those of files that are read again: their current titles are known."""
        left = {
            row: {source: title for source, title in by_source.items() if source not in self._fresh}
            for row, by_source in titles.items()
        }
        return {row: by_source for row, by_source in left.items() if by_source}

    def _drop(self, source: str, number: int) -> None:
        self._load(self._store.chats_titled_by(number))
        self._chats.remove(source)
        self._uuids.pop(source, None)
        self._written.pop(source, None)

    def _transcript(self, place: TranscriptPlace) -> Transcript:
        if self._chats.transcript(place.file) is None:
            self._chats.add(place, ())
        transcript = self._chats.transcript(place.file)
        assert transcript is not None  # noqa: S101 - it was just added
        return transcript

    def _forget(self) -> None:
        """Release the chats; they are loaded again when they grow."""
        self._chats = ChatBuilder(is_elsewhere=self._is_elsewhere)
        self._numbers: dict[str, int] = {}
        self._uuids: dict[str, set[str]] = {}
        self._loaded: set[int] = set()
        self._written: dict[str, Chat] = {}
        self.rows = self._first_rows = 0
        self._later = self._is_overdue = False
