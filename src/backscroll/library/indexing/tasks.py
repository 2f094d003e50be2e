"""Tasks of reading files into a store, and counts of the work done."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from backscroll.files.discovery import Unreadable
from backscroll.library.indexing.sources import Source
from backscroll.store.reader import IndexedFile

FIRST_BATCH_BYTES: Final = 2 * 1024 * 1024
BATCH_BYTES: Final = 16 * 1024 * 1024
"""Bytes read between two commits: at first, and at most. The number doubles in between."""
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
    """Counts of the work done."""

    files: int = 0
    lines: int = 0
    size: int = 0
    records: int = 0
    chats: int = 0
    unreadable: list[Unreadable] = field(default_factory=list)
    projects: set[str] = field(default_factory=set)
    """The projects of the live sessions that were read."""

    def add_file(self, project: str | None) -> None:
        """Count a file that was read."""
        self.files += 1
        if project is not None:
            self.projects.add(project)


def new_bytes(task: Task) -> int:
    """Return the number of bytes to read."""
    mark = task.known.bookmark if task.known else None
    if task.only_beside:
        return 0
    return task.source.size - (min(mark[0], task.source.size) if mark else 0)


def in_batches(tasks: Iterable[Task]) -> Iterator[list[Task]]:
    """Yield the tasks in their order, as many at a time as are read before a commit; small batches first."""
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
