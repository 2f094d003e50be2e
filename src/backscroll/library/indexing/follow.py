"""Follow homes as they change: keep, read and index every change as it happens."""

import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
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
from backscroll.library.captures import Watching
from backscroll.library.forget_requests import HiddenFiles, hidden_files, requests_stamp
from backscroll.library.indexing.changes import (
    is_forgotten,
    is_tracked,
    shown_archive,
    without_forgotten,
)
from backscroll.library.indexing.costs import cost_with
from backscroll.library.indexing.ingest import Ingest
from backscroll.library.indexing.moves import Moves
from backscroll.library.indexing.plan import plan, tasks_for, transcript_of
from backscroll.library.indexing.prices import load_prices
from backscroll.library.indexing.progress import NoProgress, Progress
from backscroll.library.indexing.shared_writer import SharedWriter
from backscroll.library.indexing.sources import Sources, beside_keys, earlier_versions
from backscroll.library.indexing.words import index_texts
from backscroll.library.project_folders import moved_projects
from backscroll.store.reader import IndexedFile

if TYPE_CHECKING:
    from backscroll.library.library import Library

WATCHING: Final = "watching"
"""Name of the progress task once everything is up to date."""
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
    is_about_clients: bool = False
    """Whether a client started, ended or changed its status."""


class PresentFiles:
    """The files of some homes as the batches of `watch` have reported them.

    The index is compared with these, never with the disk: later changes come in a later batch. A file that appeared and
    disappeared between two batches is in none, so an index that had read it would keep it for good.
    """

    def __init__(self, homes: Sequence[Home]) -> None:
        self.homes = homes
        self._files: dict[tuple[str, str], HomeFile] = {}
        """Files by home and path below it: a home may be inside another."""

    def take(self, batch: Sequence[ChangedFile]) -> None:
        """Apply a batch of changes."""
        for file, gone in batch:
            if gone:
                self._files.pop((file.home, file.relative), None)
            else:
                self._files[file.home, file.relative] = file

    def discoveries(self) -> list[Discovery]:
        """Return the files as if the homes had just been searched."""
        by_home = {str(home.path): Discovery(home) for home in self.homes if home.exists}
        for file in self._files.values():
            if file.home in by_home:
                by_home[file.home].add(file)
        return list(by_home.values())


@dataclass(frozen=True)
class News:
    """Additions to the archive that did not come from this machine's homes."""

    sources: tuple[str, ...] = ()
    """Ids of the files that grew."""
    has_forgotten: bool = False
    """Whether files were removed from the archive."""
    has_replaced: bool = False
    """Whether bytes were removed from the archive that the index may still have."""


class NextStep(Enum):
    """The next step after a round of following."""

    END = auto()
    UPDATE = auto()
    REBUILD = auto()


class Companion(Protocol):
    """A worker beside `follow`, in a thread of its own, with the same archive: it syncs."""

    def begin(self, shared: SharedWriter) -> None:
        """Start; the archive is open for writing."""
        ...

    def changed(self) -> None:
        """Note that a file was kept."""
        ...

    def news(self) -> News | None:
        """Return the additions to the archive since the last call; None if there are none."""
        ...

    def end(self) -> None:
        """Stop; following has ended. Must not wait for a remote."""
        ...


def follow(
    library: "Library",
    stop: threading.Event | None = None,
    progress: Progress | None = None,
    companion: Companion | None = None,
    *,
    command: str = "backscroll",
) -> Iterator[Followed]:
    """Update a library and keep it up to date until `stop` is set; yield every round with changes.

    `command` is the command that the user started, so that other commands can name it. Keeps the archive and the index
    open: opening them for each change would cost more the larger they are.
    """
    try:
        while (next_step := (yield from _follow(library, stop, progress, companion, command))) is not NextStep.END:
            if next_step is NextStep.REBUILD:
                library.rebuild(progress)
    finally:
        if companion is not None:
            companion.end()


def _follow(
    library: "Library",
    stop: threading.Event | None,
    progress: Progress | None,
    companion: Companion | None,
    command: str,
) -> Generator[Followed, None, NextStep]:
    """Follow; return the next step."""
    settings, homes = library.settings, library.homes
    requests, hidden = requests_stamp(settings), hidden_files(settings)
    library.update(progress)
    (progress or NoProgress()).begin(WATCHING, 0)
    store = library.store.start_writing()
    try:
        with (
            Writer(archive_folder(settings)) as writer,
            SharedWriter(writer) as shared,
            Watching(settings, homes, command) as watching,
        ):
            prices = load_prices(settings)
            store.use_prices(cost_with(prices), prices.fingerprint)
            moves = Moves(moved_projects(settings.library))
            ingest = Ingest(store, moves=moves, is_elsewhere=library.machine.is_elsewhere)
            present = PresentFiles(homes)
            is_behind = store.noted("catalogue") != writer.stamp
            if companion is not None:
                companion.begin(shared)
            for batch in watch(homes, stop=stop, tells_idle=companion is not None):
                if requests_stamp(settings) != requests:  # another device asks to forget files, or was answered
                    return NextStep.UPDATE
                news = companion.news() if companion is not None else None
                if shared.has_failed:
                    raise _CutOffError
                if news is not None and (news.has_forgotten or news.has_replaced):
                    # An index with rows of forgotten files is rebuilt by the update.
                    return NextStep.REBUILD if news.has_replaced else NextStep.UPDATE
                if not batch and news is None:
                    watching.is_up_to_date(has_news=False)
                    continue
                with shared.using():
                    followed = _round(library, ingest, present, batch, writer, hidden, is_behind or news is not None)
                is_behind = False
                watching.is_up_to_date(has_news=True)
                if companion is not None and batch:
                    companion.changed()
                if news is not None:
                    followed = replace(followed, sources=(*followed.sources, *news.sources))
                if followed.files or followed.passages or followed.is_about_clients:
                    yield followed
    except _CutOffError:
        return NextStep.UPDATE
    finally:
        store.close()
    return NextStep.END


class _CutOffError(Exception):
    """The companion failed to write to the archive: uncommitted bytes are dropped, and it is opened again."""


def _round(
    library: "Library",
    ingest: Ingest,
    present: PresentFiles,
    batch: Sequence[ChangedFile],
    writer: Writer,
    hidden: HiddenFiles,
    has_news: bool,
) -> Followed:
    """Keep, read and index the changes in the homes, and additions to the archive from elsewhere."""
    homes, store, work = library.homes, library.store, ingest.work
    # The companion may have kept files that it has not reported yet: only its news, or an update, reads those.
    has_read_all = has_news or store.noted("catalogue") == writer.stamp
    present.take(batch)
    for home in homes:
        mine = [changed for changed in batch if changed.file.home == str(home.path)]
        if mine:
            capture_changed(writer, home, home.machine, mine)
    before = (work.files, work.records, work.lines, work.size)
    archive = shown_archive(writer, hidden)
    if has_news:
        _settle(ingest, library, present, archive)
    else:
        _take(ingest, library, present, batch, archive)
    if has_read_all:
        store.note("catalogue", writer.stamp)
    sources = Sources(homes, writer)
    passages = index_texts(store, sources, ingest.recent)
    if ingest.finish():  # a chat may begin with another session now, and have its title there
        passages += index_texts(store, sources, ingest.recent)
    after = (work.files, work.records, work.lines, work.size)
    files, records, lines, size = (now - then for now, then in zip(after, before, strict=True))
    is_about_clients = any(changed_file.file.kind is FileKind.LIVE_SESSION for changed_file in batch)
    return Followed(
        files, records, passages, lines, size, tuple(changed_file.file.id for changed_file in batch), is_about_clients
    )


def observe(library: "Library", stop: threading.Event) -> Iterator[Followed]:
    """Yield changes until `stop` is set; another process reads them into the library."""
    since = time.time_ns() - RECENT_NS
    for batch in watch(library.homes, stop=stop):
        sources = tuple(change.file.id for change in batch if change.gone or change.file.modified_ns >= since)
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
        files = [changed.file for changed in tracked if changed.file.home == str(home.path)]
        if any(_has_other_versions(library, home, file, archive) for file in files):
            _settle(ingest, library, present, archive)
            return
        if files:
            around = _around(files)
            known = library.store.indexed_files(around)
            fresh = [file for file in files if not _is_the_same(file, known.get(file.id))]
            sources = Sources(present.homes, None)
            by_id = {name: source for name in around if (source := sources.find(name)) is not None}
            ingest.run(tasks_for(fresh, known, by_id), later=True)


def _has_other_versions(library: "Library", home: Home, file: HomeFile, archive: Archive) -> bool:
    """Whether a file shrank or grew so that different earlier versions of it are visible.

    Also whether a sidecar changed next to a transcript with such versions: they have to be checked too.
    """
    is_about_itself = file.kind in TRANSCRIPTS or file.kind is FileKind.TOOL_RESULT
    about = file.key if is_about_itself else transcript_of(file.key)
    kept = archive.sources.get(about)
    if kept is None or kept.latest is None:
        return False
    live = file if about == file.key else Sources([home], None).find(about.id)
    visible = {version.id for version in earlier_versions(archive, kept, live)}
    known = set(library.store.indexed_files(about._replace(version=version.number).id for version in kept.versions))
    return visible != known or (about != file.key and bool(known))


def _settle(ingest: Ingest, library: "Library", present: PresentFiles, archive: Archive) -> None:
    visible = without_forgotten(present.discoveries(), archive)
    work = plan(library.store.indexed_files(), visible, archive, library.machine)
    ingest.run(work.tasks, work.removed, work.archived)


def _around(files: Sequence[HomeFile]) -> set[str]:
    """Return the ids of the files, and of the transcripts and sidecars next to them."""
    return {key.id for file in files for key in (file.key, transcript_of(file.key), *beside_keys(file.key))}


def _is_the_same(file: HomeFile, known: IndexedFile | None) -> bool:
    """Whether a file is unchanged since it was read."""
    mark = known.bookmark if known and not known.archived else None
    return mark is not None and mark[1:6] == (*file.identity, file.size, file.modified_ns, file.changed_ns)
