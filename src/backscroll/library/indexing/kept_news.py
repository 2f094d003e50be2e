"""Read additions to the archive from other machines, file by file, without comparing everything else.

An update compares all kept files with all indexed ones. If the index had read everything that was kept before, and the
files that have grown are known, only these are checked.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from backscroll.archive.archive import Archive
from backscroll.files.layout import CONTAINERS
from backscroll.files.source_key import SourceKey
from backscroll.library.indexing.changes import is_tracked, price_table
from backscroll.library.indexing.costs import cost_with
from backscroll.library.indexing.ingest import Ingest
from backscroll.library.indexing.plan import tasks_for, transcript_of
from backscroll.library.indexing.prices import load_prices
from backscroll.library.indexing.recent_texts import MAX_BYTES, RecentTexts
from backscroll.library.indexing.sources import Kept, Source, Sources, beside_keys, earlier_versions
from backscroll.library.indexing.warm_chats import WarmChats
from backscroll.library.indexing.words import WordIndexing
from backscroll.library.machine import Machine

if TYPE_CHECKING:
    from backscroll.library.library import Library


def take_news(
    library: "Library", archive: Archive, sources: Iterable[str], before: str, warm: WarmChats | None = None
) -> None:
    """Update a library after these files grew in its archive, whose stamp was `before` until then.

    `warm` has chats in memory, and keeps those that were updated for the next time.
    """
    try:
        is_done = _take(library, archive, sources, before, warm)
    finally:
        library.store.close()
    if not is_done:
        library.update()


def _take(library: "Library", archive: Archive, sources: Iterable[str], before: str, warm: WarmChats | None) -> bool:
    """Read and index these files; return False, with nothing changed, if that takes an update."""
    store, settings, machine = library.store.start_writing(), library.settings, library.machine
    now = archive.stamp
    is_current = store.noted("catalogue") == before and not store.noted("overdue")
    if not is_current or store.noted("price table") != price_table(settings) or not archive.is_complete:
        return False
    keys = [SourceKey.parse(source) for source in sources]
    fresh = _found(keys, archive, machine)
    if fresh is None:
        return False
    around = {
        key.id: key for source_key in keys for key in (source_key, transcript_of(source_key), *beside_keys(source_key))
    }
    present = _found(around.values(), archive, machine)
    if present is None:
        return False
    prices = load_prices(settings)
    store.use_prices(cost_with(prices), prices.fingerprint)
    recent = RecentTexts(MAX_BYTES)
    ingest = warm.take(settings.library, store, before, recent) if warm else Ingest(store, recent=recent)
    tasks = tasks_for(fresh.values(), store.indexed_files(around), present)
    with WordIndexing(store, Sources([], archive), recent) as words:
        ingest.run(tasks, after_batch=words.index)
        failed = words.finish()
    if not failed and not ingest.work.unreadable:
        store.note("catalogue", now)
        if warm:
            warm.keep(settings.library, store, now, ingest)
    return True


def _found(keys: Iterable[SourceKey], archive: Archive, machine: Machine) -> dict[str, Source] | None:
    """Return the kept files with these keys, by id; None if one is not a plain file of another machine that grew."""
    kept_files: dict[str, Source] = {}
    for key in keys:
        file = archive.sources.get(key)
        if file is None or file.latest is None or not is_tracked(file.kind, file.path):
            continue
        is_plain = file.kind not in CONTAINERS and not machine.is_own(file.machine)
        if not is_plain or earlier_versions(archive, file, None):
            return None
        kept_files[key.id] = Kept(archive, file, file.latest, is_archived=file.gone_since is not None)
    return kept_files
