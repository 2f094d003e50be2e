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
    return frozenset(recent_writes(homes))


def recent_writes(homes: Iterable[Home]) -> dict[str, int]:
    """The same, each with the time of its last write in nanoseconds."""
    now, found = time.time_ns(), dict[str, int]()
    for home in homes:
        for session, written in _written_in(home, now):
            found[session] = max(written, found.get(session, 0))
    return found


def _written_in(home: Home, now_ns: int) -> Iterator[tuple[str, int]]:
    waiting: list[tuple[Path, tuple[str, ...]]] = [(home.path / "projects", ("projects",))]
    while waiting:
        folder, parts = waiting.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                path = (*parts, entry.name)
                if entry.name.endswith(".jsonl"):
                    with suppress(OSError):
                        written = entry.stat(follow_symlinks=False).st_mtime_ns
                        if is_recent(written, now_ns):
                            place = place_of(path)
                            if not isinstance(place, LeftOut) and place.session_id:
                                yield place.session_id.lower(), written
                elif len(path) < DEEPEST and entry.is_dir(follow_symlinks=False):
                    waiting.append((Path(entry.path), path))
