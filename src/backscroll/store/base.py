"""The interface of every store.

A store holds data derived from the transcripts. It can be deleted and rebuilt at any time, so it is never the only
copy of anything; it holds the positions of texts, not the texts themselves.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, Self

from backscroll.conversation.passages import Role
from backscroll.conversation.transcripts import Transcript
from backscroll.errors import BackscrollError
from backscroll.store.batches import Batch, ChatKeys
from backscroll.store.prices import AnswerPrice
from backscroll.store.reader import IndexedFile, Scope, StoreReader


class DamagedStoreError(BackscrollError):
    """The store is damaged. Nothing is lost: it can be rebuilt."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the index is damaged: {reason}", "rebuild it with backscroll update --rebuild")


class PendingPassage(NamedTuple):
    """The position of a passage, and the facts that the text index needs."""

    block: int
    role: Role
    source: str
    start: int
    length: int
    number: int
    file: int
    time: int | None
    tool: str | None
    is_error: bool
    is_agent: bool
    has_image: bool
    title: str | None
    """For a title, the text itself: it has no single position."""


class PassageText(NamedTuple):
    """A passage with its text."""

    spot: PendingPassage
    text: str


class SqlView(NamedTuple):
    """A view that users can query."""

    name: str
    columns: list[str]


class Store(Protocol):
    """The derived index. One process writes; readers never wait. Use an open store in one thread at a time."""

    # Opening and closing

    @property
    def exists(self) -> bool:
        """Whether there is a store that this version of backscroll can read."""

    def start_writing(self) -> Self:
        """Start writing; Busy if another process writes. Creates the store if there is none.

        Raises DamagedStoreError if the existing store cannot be used; `rebuilding` then creates another.
        """

    def rebuilding(self) -> AbstractContextManager[None]:
        """Write a new store in this context; readers use the old one until it is complete."""

    def remove_superseded(self) -> None:
        """Remove leftovers of earlier versions of backscroll, now that this store is complete."""

    def renew(self) -> None:
        """Switch to a store that replaced this one since it was opened, for long-lived readers."""

    def clone(self) -> Self:
        """Return another instance of this store, for another thread."""

    def close(self) -> None:
        """Close the store; it opens again on next use."""

    def discard(self) -> None:
        """Close the store and delete everything in it."""

    def take_notices(self) -> list[str]:
        """Return new notices for the user: that the store was rebuilt, and why."""

    def problems(self) -> list[str]:
        """Return the problems of the store; empty if it is intact. Reads all of it. NothingFound if there is none."""

    def size(self) -> int:
        """Return the size in bytes."""

    # Reading

    def within(self, scope: Scope) -> StoreReader:
        """Return a reader limited to a scope: the only way to query the store."""

    # Writing: for the indexer, which sees everything

    def indexed_files(self, sources: Iterable[str] | None = None) -> dict[str, IndexedFile]:
        """Return the indexed files by id: all of them, or those among `sources`."""

    def write(self, batch: Batch) -> dict[int, int]:
        """Write the whole batch, or nothing; return the ids of its new files, by their numbers in the batch.

        No id is used twice, even after rows were deleted.
        """

    def related_chats(self, keys: ChatKeys) -> set[int]:
        """Return the chats that share a key with these."""

    def chats_of(self, files: Iterable[int]) -> set[int]:
        """Return the chats that these files are part of."""

    def load_transcripts(self, chats: Iterable[int]) -> list[tuple[int, Transcript]]:
        """Return the saved transcripts of these chats, by file."""

    def titles_of(self, rows: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the titles of these rows, by row and by the file that has the title."""

    def chats_titled_by(self, file: int) -> set[int]:
        """Return the chats of the rows that a file has titles for."""

    def titles(self, files: Iterable[int]) -> dict[str, dict[str, str]]:
        """Return the titles of the rows of these files, by row and by the file that has the title."""

    def next_passages(self, limit: int) -> list[PendingPassage]:
        """Return the passages to index next, the most useful first; fewer than `limit` if there are no more."""

    def index(self, documents: Sequence[PassageText]) -> None:
        """Index passages, in the order of `next_passages`."""

    def read_again(self, sources: Iterable[str]) -> None:
        """Make the next update read these files from the start."""

    def flush(self) -> None:
        """Make indexed passages visible to searches and deleted ones invisible. Free if there are neither."""

    def use_prices(self, price: AnswerPrice, fingerprint: str) -> None:
        """Use these prices; recompute costs if the prices have another fingerprint."""

    def note(self, name: str, value: str) -> None:
        """Store a value under a name."""

    def noted(self, name: str) -> str | None:
        """Return the value stored under a name."""

    # The SQL that `StoreReader.sql` accepts

    @property
    def dialect(self) -> str:
        """The SQL dialect, as a user would name it: `SQLite`."""

    def views(self) -> list[SqlView]:
        """Return the documented views, by name."""
