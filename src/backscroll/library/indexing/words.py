"""Index the words of records that were read into rows."""

from pathlib import Path
from typing import Final, Self

from backscroll.files.discovery import Unreadable
from backscroll.files.source_key import SourceKey
from backscroll.library.indexing.progress import Progress
from backscroll.library.indexing.recent_texts import RecentTexts
from backscroll.library.indexing.sources import Sources
from backscroll.library.indexing.texts import Texts
from backscroll.store.base import PassageText, Store
from backscroll.store.reader import EVERYTHING

PASSAGES_AT_ONCE: Final = 2000
TEXT_AT_ONCE: Final = 4_000_000
"""Number of characters held for the index, plus one text."""
FIRST_COMMIT: Final = 6_000_000
"""Number of characters after which the first words become searchable."""
TEXT_PER_COMMIT: Final = 48_000_000
"""Number of characters indexed before a commit; commits cost time, and so does waiting for one."""


class WordIndexing:
    """Indexes the passages that are not searchable yet, on each call of `index`; `finish` makes all of them visible.

    Can be stopped at any point, and the next one continues there. Use it as a context: it keeps files open.
    """

    def __init__(self, store: Store, sources: Sources, recent: RecentTexts | None = None) -> None:
        """Create an indexing; texts in `recent` are not read again."""
        self.passages = 0
        """Number of indexed passages."""
        self._store = store
        self._recent = recent
        self._texts = Texts(sources.find, recent)
        self._size = 0
        self._commit_at = min(FIRST_COMMIT, TEXT_PER_COMMIT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._texts.close()

    def index(self, progress: Progress | None = None) -> None:
        """Index all waiting passages, the most useful first."""
        has_begun = progress is None
        is_more = True
        while is_more and (spots := self._store.next_passages(PASSAGES_AT_ONCE)):
            is_more = len(spots) == PASSAGES_AT_ONCE
            if progress is not None and not has_begun:
                progress.begin("indexing", self._store.within(EVERYTHING).pending().passages, "passages")
                has_begun = True
            documents: list[PassageText] = []
            held = 0
            for spot in spots:
                text = spot.title or self._texts.text(spot.source, spot.start, spot.length, spot.number)
                documents.append(PassageText(spot, text))
                held += len(text)
                if held > TEXT_AT_ONCE:
                    self._add(documents, held, progress)
                    documents, held = [], 0
            self._add(documents, held, progress)
        if self._recent is not None:
            self._recent.clear()

    def finish(self) -> list[Unreadable]:
        """Make all passages searchable. Returns files that the system failed to read: the next update reads them."""
        self._flush()
        failed = self._texts.failed
        return [Unreadable(Path(SourceKey.parse(source).name), reason) for source, reason in failed.items()]

    def _add(self, documents: list[PassageText], size: int, progress: Progress | None) -> None:
        self._store.index(documents)
        self.passages += len(documents)
        self._size += size
        if progress is not None:
            progress.add(len(documents))
        if self._size > self._commit_at:  # also in between: until a commit the engine may hold every text
            self._flush()
            self._size, self._commit_at = 0, TEXT_PER_COMMIT

    def _flush(self) -> None:
        """Make the words searchable, but first record unreadable sources, so that a crash does not lose them."""
        if self._texts.failed:
            self._store.read_again(self._texts.failed)
        self._store.flush()


def index_texts(store: Store, sources: Sources, recent: RecentTexts | None = None) -> int:
    """Index all waiting passages; return their number."""
    with WordIndexing(store, sources, recent) as words:
        words.index()
        words.finish()
        return words.passages
