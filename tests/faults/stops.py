"""An update that ends at once, at the n-th point where something is made lasting.

The points are before and after every commit of the rows and of the words, and around every rename, removal and flush of
a file. Nothing is closed and nothing is said: what is on disk is what a `kill -9` would leave.
"""

import os
import shutil
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from backscroll.files.homes import Home
from backscroll.library.indexing import tasks as tasks_module
from backscroll.library.indexing import words as words_module
from backscroll.library.local import local_library
from backscroll.settings import Settings
from backscroll.store.local import database, rows, store
from backscroll.store.local.text import TextIndex

STOPPED: Final = 99
"""How the process ends at a point; one with fewer points ends well, and tells their names."""


class Stops:
    """Counts the points, and ends the process at one of them."""

    def __init__(self, point: int) -> None:
        self._left = point
        self.names: list[str] = []

    def pass_by(self, name: str) -> None:
        self.names.append(name)
        self._left -= 1
        if self._left == 0:
            os._exit(STOPPED)

    def around(self, owner: Any, name: str) -> None:  # noqa: ANN401
        """Make the beginning and the end of every call of a function two points."""
        real: Callable[..., Any] = getattr(owner, name)

        def watched(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            self.pass_by(f"before {name}")
            result = real(*arguments, **named)
            self.pass_by(f"after {name}")
            return result

        setattr(owner, name, watched)


def watch_transactions(stops: Stops) -> None:
    """Also inside of them: between the last statement and the commit."""
    real = database.transaction

    def watched(connection: Any) -> Any:  # noqa: ANN401
        inner = real(connection)

        class WatchedCalls:
            def __enter__(self) -> None:
                stops.pass_by("before a transaction")
                inner.__enter__()

            def __exit__(self, *error: Any) -> Any:  # noqa: ANN401
                stops.pass_by("before its commit")
                result = inner.__exit__(*error)
                stops.pass_by("after its commit")
                return result

        return WatchedCalls()

    for module in (database, rows, store):
        if getattr(module, "transaction", None) is real:
            module.transaction = watched  # type: ignore[attr-defined]


def update(home: Path, library: Path, *, rebuild: bool = False) -> None:
    """All of it, in several batches, transactions and commits even of a small home."""
    tasks_module.BATCH_FILES = 2  # type: ignore[misc]
    words_module.PASSAGES_AT_ONCE = 5  # type: ignore[misc]
    words_module.TEXT_PER_COMMIT = 400  # type: ignore[misc]
    settings = Settings(homes=(home,), library=library, file=library / "settings.toml")
    with local_library(settings, [Home(home)]) as opened:
        if rebuild:
            opened.rebuild()
        else:
            opened.update()


def stopped_update(home: Path, library: Path, point: int, names: Connection, rebuild: bool) -> None:
    """Runs in a process of its own."""
    stops = Stops(point)
    watch_transactions(stops)
    stops.around(TextIndex, "commit")
    for name in ("replace", "rename", "unlink", "fsync"):
        stops.around(os, name)
    stops.around(shutil, "rmtree")
    update(home, library, rebuild=rebuild)
    names.send(stops.names)
