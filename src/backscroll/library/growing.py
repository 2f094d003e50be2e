"""Sessions that are being written: a file that grows is live, even if no client reports it as open."""

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from backscroll.disk import read_at
from backscroll.files.homes import Home
from backscroll.files.layout import FileKind, LeftOut, place_of
from backscroll.files.opening import open_regular

LIVE_SECONDS: Final = 90
"""Time that a session counts as live after its file was written."""
LAST_ROW: Final = "cost-state"
LONGEST_END: Final = 64 * 1024
"""The last row of a session is much shorter; a longer one cannot be the row of an exit."""
DEEPEST: Final = 5
"""Parts of the path of an agent's transcript, below its home."""


def is_recent(modified_ns: int, now_ns: int) -> bool:
    """Whether a file with this time of writing counts as being written; a time far in the future does not."""
    return abs(now_ns - modified_ns) < LIVE_SECONDS * 1_000_000_000


def growing_sessions(homes: Iterable[Home]) -> frozenset[str]:
    """Return the sessions whose transcripts, or those of their agents, were written a moment ago."""
    return frozenset(recent_writes(homes))


def recent_writes(homes: Iterable[Home]) -> dict[str, int]:
    """Return the sessions that were written a moment ago, with the time of the last write in nanoseconds."""
    now, newest, ended = time.time_ns(), dict[str, int](), dict[str, int]()
    for home in homes:
        for session, written, has_ended in _written_in(home, now):
            newest[session] = max(written, newest.get(session, 0))
            if has_ended:
                ended[session] = max(written, ended.get(session, 0))
    # Later writes of another client, or of an agent in the background, count.
    return {session: written for session, written in newest.items() if written > ended.get(session, 0)}


def has_ended(path: Path, kind: FileKind) -> bool:
    """Whether a file is a session's own, and ends as a client leaves it when it exits: with its costs."""
    if kind is not FileKind.SESSION:
        return False
    with suppress(OSError, ValueError), os.fdopen(open_regular(path), "rb") as file:
        end = read_at(file.fileno(), max(0, os.fstat(file.fileno()).st_size - LONGEST_END), LONGEST_END)
        *_, last = end.splitlines() or [b""]
        return isinstance(row := json.loads(last), dict) and row.get("type") == LAST_ROW
    return False


def _written_in(home: Home, now_ns: int) -> Iterator[tuple[str, int, bool]]:
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
                                yield place.session_id.lower(), written, has_ended(Path(entry.path), place.kind)
                elif len(path) < DEEPEST and entry.is_dir(follow_symlinks=False):
                    waiting.append((Path(entry.path), path))
