"""Update a library: keep the bytes, read them into rows and chats, then index their words."""

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.rewriting import Writer
from backscroll.archive.stamp import has_catalogue
from backscroll.errors import Busy, StorageError
from backscroll.files.discovery import Discovery, Unreadable, discover
from backscroll.files.homes import Home
from backscroll.files.source_key import SourceKey
from backscroll.library.archives import archive_folder
from backscroll.library.forget_requests import HiddenFiles, hidden_files, requests_stamp
from backscroll.library.gone_homes import home_states
from backscroll.library.indexing.changes import (
    price_table,
    shown_archive,
    without_forgotten,
    without_hidden,
)
from backscroll.library.indexing.costs import cost_with
from backscroll.library.indexing.ingest import Ingest
from backscroll.library.indexing.moves import Moves, read_moved_again
from backscroll.library.indexing.plan import Plan, plan
from backscroll.library.indexing.prices import load_prices
from backscroll.library.indexing.progress import IsEnough, NoProgress, Progress, never
from backscroll.library.indexing.recent_texts import MAX_BYTES, RecentTexts
from backscroll.library.indexing.sources import Sources
from backscroll.library.indexing.tasks import Work
from backscroll.library.indexing.words import WordIndexing
from backscroll.library.machine import Machine
from backscroll.library.project_folders import is_sweep_due, moved_projects, note_folders
from backscroll.query.tree import All, Query
from backscroll.settings import Settings
from backscroll.store.base import Store
from backscroll.store.reader import EVERYTHING, IndexedFile

HIDDEN_AT_ONCE: Final = 16
"""Files whose rows are removed at once: their chats are in memory meanwhile."""


@dataclass
class Updated:
    """The result of an update."""

    work: Work = field(default_factory=Work)
    passages: int = 0
    kept: int = 0
    removed: int = 0
    archived: int = 0
    files: int = 0
    """Number of files in the homes."""
    unread: int = 0
    """Number of files left for the next update, because this one was stopped."""
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
    """Keep, read and index all changes. Raises Busy if another process is updating.

    The newest files are read first. If `is_enough` returns true after some of them, the next update does the rest.
    """
    progress = progress or NoProgress()
    done = Updated()
    store.start_writing()
    if discoveries is None:
        discoveries = [discover(home) for home in homes if home.exists]
    prices = load_prices(settings)
    store.use_prices(cost_with(prices), prices.fingerprint)
    store.note("price table", price_table(settings))
    moves = moved_projects(settings.library)
    read_moved_again(store, moves)
    archive: Archive | None = None
    is_unread = False
    is_first = not has_catalogue(archive_folder(settings))
    with _beside() as (pool, stop):
        keeping = pool.submit(_keep, settings, discoveries, done, stop) if keeps else None
        if not is_first:  # deleted and moved files are read from the archive
            archive = keeping.result() if keeping else None
            if archive is None:
                archive, is_unread = _read_archive(settings)
        requests = requests_stamp(settings)
        hidden = hidden_files(settings)
        visible = without_hidden(without_forgotten(discoveries, archive), hidden, archive)
        if not is_unread:
            _note_forgotten(store, discoveries, visible)
        kept_homes = archive.homes if archive is not None else set()
        states = home_states(machine, kept_homes | {(machine.id, str(home.path)) for home in homes})
        known = store.indexed_files()
        seen = shown_archive(archive, hidden) if archive is not None else None
        work = plan(known, visible, seen, machine, is_archive_unread=is_unread)
        done.unreadable += work.unreadable
        if archive is not None and _has_forgotten_rows(store, archive, work):
            raise ForgottenRowsError
        hiding = _take_hidden(work, known, hidden, archive)
        _remove_hidden(store, hiding, known)
        if not work.is_empty or store.noted("overdue"):
            progress.begin("reading", work.size)
            recent = RecentTexts(MAX_BYTES if with_text else 0)
            ingest = Ingest(store, progress.add, recent, Moves(moves), machine.is_elsewhere)
            _read(ingest, store, work, Sources(homes, archive), done, is_enough, with_text=with_text)
            if done.unread:
                stop.set()
            done.archived = len(work.archived)
        done.removed = len(work.removed) + len(hiding)
        if keeping and is_first:
            archive = keeping.result()
    if not is_unread and not done.unread:
        # Files that another process kept since the archive was read are left for the next update.
        has_read_all = archive is not None and not (is_first and _has_other_files(archive, discoveries))
        store.note("catalogue", archive.stamp if archive is not None and has_read_all else "")
        store.note("requests", requests)
        store.note("homes", states)
    if with_text:
        with WordIndexing(store, Sources(homes, archive)) as words:
            words.index(progress)
            done.unreadable += words.finish()
            done.passages += words.passages
    if not done.unread:
        store.remove_superseded()
    done.unreadable += [*done.work.unreadable, *(item for discovery in discoveries for item in discovery.unreadable)]
    done.notices += store.take_notices()
    if keeps:
        _note_projects(store, settings, done)
    return done


def _read(
    ingest: Ingest,
    store: Store,
    work: Plan,
    sources: Sources,
    done: Updated,
    is_enough: IsEnough,
    *,
    with_text: bool,
) -> None:
    """Read files into rows, batch by batch, and index the words of each batch while its texts are in memory."""
    recent = ingest.recent
    tasks = iter(work.tasks)
    with WordIndexing(store, sources, recent) as words:
        after_batch = words.index if with_text else recent.clear
        ingest.run(tasks, work.removed, work.archived, after_batch=after_batch, is_enough=is_enough)
        if with_text:
            done.unreadable += words.finish()
        done.work, done.passages = ingest.work, words.passages
        done.files, done.unread = len(work.tasks), len(list(tasks))


def _note_projects(store: Store, settings: Settings, done: Updated) -> None:
    """Note the folders of projects while they exist: those of the sessions read now, and once a day all."""
    projects = done.work.projects
    if is_sweep_due(settings.library):
        chats = store.within(EVERYTHING).chats(Query("", All(())), sort="newest", limit=None, offset=0)
        projects = projects | {chat.overview.project for chat in chats if chat.overview.project}
    if projects:
        with suppress(OSError, StorageError):  # it is noted the next time
            note_folders(settings.library, sorted(projects))


class ForgottenRowsError(Exception):
    """The index contains forgotten records, or many that are hidden now. It must be rebuilt without them.

    Deleted rows leave bytes behind; and a chat has to be read before it can be deleted.
    """


def _has_forgotten_rows(store: Store, archive: Archive, work: Plan) -> bool:
    """Whether bytes of forgotten files are in the index: in rows, or left behind by rows that were hidden before."""
    hidden_before = json.loads(store.noted("hidden") or "[]")
    sources = (SourceKey.parse(name) for name in (*(known.source for known in work.removed), *hidden_before))
    return any(archive.is_forgotten(key.home, key.path, key.machine) for key in sources)


def _take_hidden(
    work: Plan, known: dict[str, IndexedFile], hidden: HiddenFiles, archive: Archive | None
) -> list[IndexedFile]:
    """Take the indexed files that other devices ask to forget out of the plan, and return them."""
    if not hidden.keys:
        return []
    machines = archive.machines if archive is not None else ()
    keys = {name: SourceKey.parse(name) for name in known}
    names = {name for name, key in keys.items() if hidden.hides(machines, key.machine, key.home, key.path)}
    work.removed = [entry for entry in work.removed if entry.source not in names]
    return [known[name] for name in sorted(names)]


def _remove_hidden(store: Store, hiding: list[IndexedFile], known: dict[str, IndexedFile]) -> None:
    """Remove the rows of hidden files, and note that their bytes may still be in the index."""
    if not hiding:
        return
    if 2 * sum(entry.size for entry in hiding) > sum(entry.size for entry in known.values()):
        raise ForgottenRowsError  # reading the rest is faster than deleting all these rows
    before = json.loads(store.noted("hidden") or "[]")
    store.note("hidden", json.dumps(sorted({*before, *(entry.source for entry in hiding)})))
    for start in range(0, len(hiding), HIDDEN_AT_ONCE):
        Ingest(store).run((), hiding[start : start + HIDDEN_AT_ONCE])


def _note_forgotten(store: Store, found: Sequence[Discovery], shown: Sequence[Discovery]) -> None:
    """Record the files that are left out, so that they do not count as new the next time."""
    left_out: set[str] = set()
    for whole, rest in zip(found, shown, strict=True):
        if len(whole.files) != len(rest.files):
            left_out.update({file.name for file in whole.files} - {file.name for file in rest.files})
    names = json.dumps(sorted(left_out)) if left_out else ""
    if names != (store.noted("forgotten") or ""):
        store.note("forgotten", names)


@contextmanager
def _beside() -> Iterator[tuple[ThreadPoolExecutor, threading.Event]]:
    """Run a helper thread that stops when the caller stops."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool, stop
        except BaseException:
            stop.set()
            raise


def _keep(settings: Settings, discoveries: Sequence[Discovery], done: Updated, stop: threading.Event) -> Archive | None:
    """Keep new bytes; return the archive, unless another process is writing it."""

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


def _has_other_files(archive: Archive, discoveries: Sequence[Discovery]) -> bool:
    """Whether another process has kept files that are not in these homes."""
    return not archive.sources.keys() <= {file.key for discovery in discoveries for file in discovery.files}


def _read_archive(settings: Settings) -> tuple[Archive | None, bool]:
    """Return the archive, if there is one, and whether it could not be read."""
    try:
        archive = Archive(archive_folder(settings))
    except (OSError, StorageError):
        return None, True
    return (archive if archive.exists else None), False


class _StoppedError(Exception):
    """The caller asked to stop."""
