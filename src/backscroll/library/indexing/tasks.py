"""What to read into a store, and what was read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from backscroll.files.discovery import Unreadable
from backscroll.library.indexing.sources import Source
from backscroll.store.reader import IndexedFile

FIRST_BATCH_BYTES: Final = 2 * 1024 * 1024
BATCH_BYTES: Final = 16 * 1024 * 1024
"""How much is read between two commits: the first time, and at most. It doubles in between."""
BATCH_FILES: Final = 500


@dataclass(frozen=True, slots=True)
class Task:
    """A file to check: for new content, or only for its sidecars."""

    source: Source
    known: IndexedFile | None
    beside: tuple[Source, ...] = ()
    """The sidecars of a transcript."""
    only_beside: bool = False


@dataclass
class Work:
    """Counts of what was done."""

    files: int = 0
    lines: int = 0
    size: int = 0
    records: int = 0
    chats: int = 0
    unreadable: list[Unreadable] = field(default_factory=list)


def new_bytes(task: Task) -> int:
    """The number of bytes to read."""
    mark = task.known.bookmark if task.known else None
    if task.only_beside:
        return 0
    return task.source.size - (min(mark[0], task.source.size) if mark else 0)


def in_batches(tasks: Iterable[Task]) -> Iterator[list[Task]]:
    """The tasks in their order, as many at a time as are read before a commit; small batches first."""
    batch: list[Task] = []
    size, most = 0, FIRST_BATCH_BYTES
    for task in tasks:
        batch.append(task)
        size += new_bytes(task)
        if size >= most or len(batch) >= BATCH_FILES:
            yield batch
            batch, size, most = [], 0, min(most * 2, BATCH_BYTES)
    if batch:
        yield batch
