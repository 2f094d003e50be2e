"""What to read into a store, and what was read."""

from dataclasses import dataclass, field

from backscroll.files.discovery import Unreadable
from backscroll.library.indexing.sources import Source
from backscroll.store.reader import IndexedFile


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
