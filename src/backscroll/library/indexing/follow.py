"""Follow homes as they change: keep, read and index every change as it happens."""

import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, Protocol

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture_changed
from backscroll.archive.rewriting import Writer
from backscroll.files.discovery import Discovery, HomeFile
from backscroll.files.homes import Home
from backscroll.files.layout import CONTAINERS, TRANSCRIPTS, FileKind
from backscroll.files.watching import ChangedFile, watch
from backscroll.library.archives import archive_folder
from backscroll.library.indexing.changes import catalogue_stamp, is_forgotten, is_tracked, without_forgotten
from backscroll.library.indexing.costs import cost_with
from backscroll.library.indexing.ingest import Ingest
from backscroll.library.indexing.plan import plan, tasks_for, transcript_of
from backscroll.library.indexing.prices import load_prices
from backscroll.library.indexing.progress import NoProgress, Progress
from backscroll.library.indexing.shared_writer import SharedWriter
from backscroll.library.indexing.sources import Sources, beside_keys, earlier_versions
from backscroll.library.indexing.words import index_texts
from backscroll.store.reader import IndexedFile

if TYPE_CHECKING:
    from backscroll.library.library import Library

WATCHING: Final = "watching"
"""What to do once everything is up to date."""
RECENT_NS: Final = 60_000_000_000


@dataclass(frozen=True)
class Followed:
    """The result of one round of changes."""

    files: int
    records: int
    passages: int
    lines: int
    size: int
    sources: tuple[str, ...] = ()
    """The files that changed."""


class PresentFiles:
    """The files of some homes as the batches of `watch` have reported them.

    The index is compared with these, never with the disk: what happens meanwhile comes in a later batch. A file that
    came and went between two batches is in none, so an index that had seen it would keep it for good.
    """

    def __init__(self, homes: Sequence[Home]) -> None:
        self.homes = homes
        self._files: dict[str, HomeFile] = {}

    def take(self, batch: Sequence[ChangedFile]) -> None:
        """Remember what a batch reports."""
        for file, gone in batch:
            if gone:
                self._files.pop(file.name, None)
            else:
                self._files[file.name] = file

    def discoveries(self) -> list[Discovery]:
        """The same, as if the homes had just been looked through."""
        found = {str(home.path): Discovery(home) for home in self.homes if home.exists}
        for file in self._files.values():
            if file.home in found:
                found[file.home].add(file)
        return list(found.values())


@dataclass(frozen=True)
class News:
    """What came into the archive from elsewhere."""

    sources: tuple[str, ...] = ()
    """The files that have more in them."""
    has_forgotten: bool = False
    """Whether files were removed from it."""
    has_replaced: bool = False
    """Whether bytes were removed from it that the index may still have."""


class NextStep(Enum):
    """How to go on after a round of following."""

    END = auto()
    UPDATE = auto()
    REBUILD = auto()


class Companion(Protocol):
    """Works beside a `follow`, in a thread of its own, with the same archive: it syncs."""

    def begin(self, shared: SharedWriter) -> None:
        """The archive is open for writing."""
        ...

    def changed(self) -> None:
        """Something was kept."""
        ...

    def news(self) -> News | None:
        """What it has added to the archive since it was last asked."""
        ...

    def end(self) -> None:
        """There is nothing to follow any more. Must not wait for a remote."""
        ...


def follow(
    library: "Library",
    stop: threading.Event | None = None,
    progress: Progress | None = None,
    companion: Companion | None = None,
) -> Iterator[Followed]:
    """Update a library and keep it up to date until `stop` is set; yield every round with something new.

    Keeps the archive and the index open: opening them for each change would cost more the larger they are.
    """
    try:
        while (next_step := (yield from _follow(library, stop, progress, companion))) is not NextStep.END:
            if next_step is NextStep.REBUILD:
                library.rebuild(progress)
    finally:
        if companion is not None:
            companion.end()


def _follow(
    library: "Library", stop: threading.Event | None, progress: Progress | None, companion: Companion | None
) -> Generator[Followed, None, NextStep]:
    """Follow; return how to go on."""
    library.update(progress)
    settings, homes = library.settings, library.homes
    (progress or NoProgress()).begin(WATCHING, 0)
    store = library.store.start_writing()
    try:
        with Writer(archive_folder(settings)) as writer, SharedWriter(writer) as shared:
            prices = load_prices(settings)
            store.use_prices(cost_with(prices), prices.fingerprint)
            ingest = Ingest(store)
            present = PresentFiles(homes)
            if companion is not None:
                companion.begin(shared)
            for batch in watch(homes, stop=stop, tells_idle=companion is not None):
                news = companion.news() if companion is not None else None
                if shared.has_failed:
                    raise _CutOffError
                if news is not None and (news.has_forgotten or news.has_replaced):
                    # An index with rows of forgotten files is rebuilt by the update.
                    return NextStep.REBUILD if news.has_replaced else NextStep.UPDATE
                if not batch and news is None:
                    continue
                with shared.using():
                    followed = _round(library, ingest, present, batch, writer, news)
                if companion is not None and batch:
                    companion.changed()
                if followed.files or followed.passages:
                    yield followed
    except _CutOffError:
        return NextStep.UPDATE
    finally:
        store.close()
    return NextStep.END


class _CutOffError(Exception):
    """The companion failed to write to the archive: what was not committed is dropped, and it is opened again."""


def _round(
    library: "Library",
    ingest: Ingest,
    present: PresentFiles,
    batch: Sequence[ChangedFile],
    writer: Writer,
    news: News | None,
) -> Followed:
    """Keep, read and index what changed in the homes, and what came into the archive from elsewhere."""
    homes, store, work = library.homes, library.store, ingest.work
    present.take(batch)
    for home in homes:
        mine = [changed for changed in batch if changed.file.path.is_relative_to(home.path)]
        if mine:
            capture_changed(writer, home, home.machine, mine)
    before = (work.files, work.records, work.lines, work.size)
    if news is not None:
        _settle(ingest, library, present, writer)
    else:
        _take(ingest, library, present, batch, writer)
    store.note("catalogue", catalogue_stamp(library.settings))
    passages = index_texts(store, Sources(homes, writer), ingest.recent)
    ingest.finish()
    after = (work.files, work.records, work.lines, work.size)
    files, records, lines, size = (now - then for now, then in zip(after, before, strict=True))
    sources = (*(one.file.id for one in batch), *(news.sources if news else ()))
    return Followed(files, records, passages, lines, size, sources)


def observe(library: "Library", stop: threading.Event) -> Iterator[Followed]:
    """Yield changes until `stop` is set; another process reads them into the library."""
    since = time.time_ns() - RECENT_NS
    for batch in watch(library.homes, stop=stop):
        sources = tuple(one.file.id for one in batch if one.gone or one.file.modified_ns >= since)
        since = 0  # the first batch has every file
        if sources:
            yield Followed(len(sources), 0, 0, 0, 0, sources)


def _take(
    ingest: Ingest, library: "Library", present: PresentFiles, batch: Sequence[ChangedFile], archive: Archive
) -> None:
    tracked = [
        changed
        for changed in batch
        if is_tracked(changed.file.kind, changed.file.relative) and not is_forgotten(archive, changed.file)
    ]
    if any(changed.gone or changed.file.kind in CONTAINERS for changed in tracked):
        _settle(ingest, library, present, archive)  # a missing file may have moved, or only be in the archive
        return
    for home in present.homes:
        files = [changed.file for changed in tracked if changed.file.path.is_relative_to(home.path)]
        if any(_has_other_versions(library, home, file, archive) for file in files):
            _settle(ingest, library, present, archive)
            return
        if files:
            around = _around(files)
            known = library.store.indexed_files(around)
            fresh = [file for file in files if not _is_the_same(file, known.get(file.id))]
            sources = Sources(present.homes, None)
            found = {name: source for name in around if (source := sources.find(name)) is not None}
            ingest.run(tasks_for(fresh, known, found), later=True)


def _has_other_versions(library: "Library", home: Home, file: HomeFile, archive: Archive) -> bool:
    """Whether a file shrank or grew so that different earlier versions of it are shown.

    Also whether a sidecar changed next to a transcript with such versions: they have to be checked too.
    """
    is_about_itself = file.kind in TRANSCRIPTS or file.kind is FileKind.TOOL_RESULT
    about = file.key if is_about_itself else transcript_of(file.key)
    kept = archive.sources.get(about)
    live = file if about == file.key else Sources([home], None).find(about.id)
    if kept is None or kept.latest is None or (len(kept.versions) == 1 and live and kept.latest.size <= live.size):
        return False
    shown = {version.id for version in earlier_versions(archive, kept, live)}
    known = set(library.store.indexed_files(about._replace(version=version.number).id for version in kept.versions))
    return shown != known or (about != file.key and bool(known))


def _settle(ingest: Ingest, library: "Library", present: PresentFiles, archive: Archive) -> None:
    found = without_forgotten(present.discoveries(), archive)
    work = plan(library.store.indexed_files(), found, archive, library.machine)
    ingest.run(work.tasks, work.removed, work.archived)


def _around(files: Sequence[HomeFile]) -> set[str]:
    """The files, and the transcripts and sidecars next to them."""
    return {key.id for file in files for key in (file.key, transcript_of(file.key), *beside_keys(file.key))}


def _is_the_same(file: HomeFile, known: IndexedFile | None) -> bool:
    """Whether it is unchanged since it was read."""
    mark = known.bookmark if known and not known.archived else None
    return mark is not None and mark[1:6] == (*file.identity, file.size, file.modified_ns, file.changed_ns)
