"""Which sessions are being written: a file that grows is live, whether or not a client says that it has it open."""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from backscroll.files.homes import Home
from backscroll.files.layout import LeftOut, place_of

LIVE_SECONDS: Final = 90
"""A session counts as live for so long after its file was written."""
DEEPEST: Final = 5
"""Parts of the path of an agent's transcript, below its home."""


def is_recent(modified_ns: int, now_ns: int) -> bool:
    """Whether a file that was last written then counts as being written; a time far in the future does not."""
    return abs(now_ns - modified_ns) < LIVE_SECONDS * 1_000_000_000


def growing_sessions(homes: Iterable[Home]) -> frozenset[str]:
    """The sessions whose transcripts, or those of their agents, were written a moment ago."""
    now = time.time_ns()
    return frozenset(session for home in homes for session in _growing_in(home, now))


def _growing_in(home: Home, now_ns: int) -> Iterator[str]:
    waiting: list[tuple[Path, tuple[str, ...]]] = [(home.path / "projects", ("projects",))]
    while waiting:
        folder, parts = waiting.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                path = (*parts, entry.name)
                if entry.name.endswith(".jsonl"):
                    with suppress(OSError):
                        if is_recent(entry.stat(follow_symlinks=False).st_mtime_ns, now_ns):
                            place = place_of(path)
                            if not isinstance(place, LeftOut) and place.session_id:
                                yield place.session_id.lower()
                elif len(path) < DEEPEST and entry.is_dir(follow_symlinks=False):
                    waiting.append((Path(entry.path), path))
