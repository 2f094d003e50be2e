"""An archive that is open for writing, shared by the thread that follows the homes and the one that syncs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from backscroll.archive.rewriting import Writer
from backscroll.errors import Busy


class SharedWriter:
    """Lends an archive writer to one thread at a time. Once closed, it raises Busy."""

    def __init__(self, writer: Writer) -> None:
        self._writer: Writer | None = writer
        self._lock = threading.Lock()
        self.has_failed = False
        """Whether a change was interrupted: then the archive must be opened again."""

    @contextmanager
    def using(self) -> Iterator[Writer]:
        """Lend the archive, for as short a time as possible: the other thread waits."""
        with self._lock:
            if self._writer is None:
                raise Busy("the archive is not open for writing any more", "try again later")
            try:
                yield self._writer
            except BaseException:
                self.has_failed, self._writer = True, None
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._writer = None
