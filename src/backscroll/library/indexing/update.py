"""Update a library: keep the bytes, read them into rows and chats, then index their words."""

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.rewriting import Writer
from backscroll.archive.stamp import has_catalogue
from backscroll.errors import Busy, StorageError
from backscroll.files.discovery import Discovery, Unreadable, discover
from backscroll.files.homes import Home
from backscroll.files.source_key import SourceKey
from backscroll.library.archives import archive_folder
from backscroll.library.indexing.changes import catalogue_stamp, price_table, without_forgotten
from backscroll.library.indexing.costs import cost_with
from backscroll.library.indexing.ingest import Ingest
from backscroll.library.indexing.plan import Plan, plan
from backscroll.library.indexing.prices import load_prices
from backscroll.library.indexing.progress import IsEnough, NoProgress, Progress, never
from backscroll.library.indexing.recent_texts import MAX_BYTES, RecentTexts
from backscroll.library.indexing.sources import Sources
from backscroll.library.indexing.tasks import Work
from backscroll.library.indexing.words import WordIndexing
from backscroll.library.machine import Machine
from backscroll.settings import Settings
from backscroll.store.base import Store
from backscroll.store.reader import IndexedFile


@dataclass
class Updated:
    """The result of an update."""

    work: Work = field(default_factory=Work)
    passages: int = 0
    kept: int = 0
    removed: int = 0
    archived: int = 0
    files: int = 0
    """How many files there were to look into."""
    unread: int = 0
    """How many of them are left for the next update, because this one was stopped."""
    unreadable: list[Unreadable] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def is_nothing(self) -> bool:
        """Whether everything was up to date."""
        return not (self.work.records or self.passages or self.removed or self.archived)


def update(
    store: Store,
    settings: Settings,
    homes: Sequence[Home],
    machine: Machine,
    discoveries: Sequence[Discovery] | None = None,
    *,
    keeps: bool = True,
    with_text: bool = True,
    progress: Progress | None = None,
    is_enough: IsEnough = never,
) -> Updated:
    """Do everything there is to do. Busy if another process is updating.

    The newest files are read first. If `is_enough` says so after some of them, the next update does the rest.
    """
    progress = progress or NoProgress()
    done = Updated()
    store.start_writing()
    if discoveries is None:
        discoveries = [discover(home) for home in homes if home.exists]
    prices = load_prices(settings)
    store.use_prices(cost_with(prices), prices.fingerprint)
    store.note("price table", price_table(settings))
    archive: Archive | None = None
    is_unread = False
    is_first = not has_catalogue(archive_folder(settings))
    with _beside() as (pool, stop):
        keeping = pool.submit(_keep, settings, discoveries, done, stop) if keeps else None
        if not is_first:  # deleted and moved files are read from the archive
            archive = keeping.result() if keeping else None
            if archive is None:
                archive, is_unread = _read_archive(settings)
        stamp = catalogue_stamp(settings)
        shown = without_forgotten(discoveries, archive)
        if not is_unread:
            _note_forgotten(store, discoveries, shown)
        work = plan(store.indexed_files(), shown, archive, machine, is_archive_unread=is_unread)
        done.unreadable += work.unreadable
        if archive is not None and any(_was_forgotten(archive, known) for known in work.removed):
            raise ForgottenRowsError
        if not work.is_empty or store.noted("overdue"):
            progress.begin("reading", work.size)
            _read(store, work, Sources(homes, archive), done, progress, is_enough, with_text=with_text)
            if done.unread:
                stop.set()
            done.removed, done.archived = len(work.removed), len(work.archived)
        if keeping:
            keeping.result()
    if not is_unread and not done.unread:
        store.note("catalogue", catalogue_stamp(settings) if is_first else stamp)
    if with_text:
        with WordIndexing(store, Sources(homes, archive)) as words:
            words.index(progress)
            done.unreadable += words.finish()
            done.passages += words.passages
    if not done.unread:
        store.remove_superseded()
    done.unreadable += [*done.work.unreadable, *(item for found in discoveries for item in found.unreadable)]
    done.notices += store.take_notices()
    return done


def _read(
    store: Store,
    work: Plan,
    sources: Sources,
    done: Updated,
    progress: Progress,
    is_enough: IsEnough,
    *,
    with_text: bool,
) -> None:
    """Read files into rows, batch by batch, and after each the words of it, while its texts are in memory."""
    recent = RecentTexts(MAX_BYTES if with_text else 0)
    ingest = Ingest(store, progress.add, recent)
    tasks = iter(work.tasks)
    with WordIndexing(store, sources, recent) as words:
        after_batch = words.index if with_text else recent.clear
        ingest.run(tasks, work.removed, work.archived, after_batch=after_batch, is_enough=is_enough)
        if with_text:
            done.unreadable += words.finish()
        done.work, done.passages = ingest.work, words.passages
        done.files, done.unread = len(work.tasks), len(list(tasks))


class ForgottenRowsError(Exception):
    """The index contains something the user forgot. Deleted rows leave bytes behind, so it must be rebuilt."""


def _was_forgotten(archive: Archive, known: IndexedFile) -> bool:
    key = SourceKey.parse(known.source)
    return archive.is_forgotten(key.home, key.path, key.machine)


def _note_forgotten(store: Store, found: Sequence[Discovery], shown: Sequence[Discovery]) -> None:
    """Remember which files are left out, so that they do not count as new the next time."""
    left_out: set[str] = set()
    for one, rest in zip(found, shown, strict=True):
        if len(one.files) != len(rest.files):
            left_out.update({file.name for file in one.files} - {file.name for file in rest.files})
    said = json.dumps(sorted(left_out)) if left_out else ""
    if said != (store.noted("forgotten") or ""):
        store.note("forgotten", said)


@contextmanager
def _beside() -> Iterator[tuple[ThreadPoolExecutor, threading.Event]]:
    """A helper thread that stops when we stop."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool, stop
        except BaseException:
            stop.set()
            raise


def _keep(settings: Settings, discoveries: Sequence[Discovery], done: Updated, stop: threading.Event) -> Archive | None:
    """Keep what is new; return the archive, unless another process is writing it."""

    def go_on(_: int) -> None:
        if stop.is_set():
            raise _StoppedError

    # If busy, another process is keeping it now. If stopped, the next run keeps the rest.
    with suppress(Busy, _StoppedError), Writer(archive_folder(settings)) as writer:
        for discovery in discoveries:
            kept = capture(writer, discovery.home, discovery.home.machine, on_bytes=go_on, discovery=discovery)
            done.kept += kept.size
            done.unreadable += kept.unreadable
        return writer
    return None


def _read_archive(settings: Settings) -> tuple[Archive | None, bool]:
    """The archive, if there is one, and whether it could not be read."""
    try:
        archive = Archive(archive_folder(settings))
    except (OSError, StorageError):
        return None, True
    return (archive if archive.exists else None), False


class _StoppedError(Exception):
    """We were asked to stop."""
