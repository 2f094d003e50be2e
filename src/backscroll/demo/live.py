"""Play the sample's live session into the demo's home: its rows come one by one, with the present time."""

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from backscroll.demo.player import Player, SessionScript
from backscroll.demo.sandbox import Sandbox

FIRST_PAUSE: Final = 1.0
"""Seconds until the first row: it is there when the page opens, and the rest appears while you watch."""
SHORTEST_PAUSE: Final = 0.15
LONGEST_PAUSE: Final = 12.0
LONGEST_GAP: Final = 60.0
"""Longest gap in seconds; longer gaps in the recording are shortened to this: the user was away."""
ROUNDS: Final = 10
"""Rounds of scaling: the other pauses get what the bounds take from some."""
WHOLE: Final = 150.0
"""Approximate number of seconds that the whole session takes."""


class LivePlayer:
    """Play the live session in a thread of its own, from the beginning to the end of the block."""

    def __init__(self, room: Sandbox, *, speed: float = 1.0) -> None:
        self._room = room
        self._lines = in_time(room.script.read_bytes().splitlines(keepends=True))
        self._pauses = [pause / speed for pause in pauses_of(self._lines)]
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._play, name="demo player", daemon=True)

    @property
    def seconds(self) -> float:
        """Seconds that the session takes."""
        return sum(self._pauses)

    @property
    def prompt(self) -> str:
        """First prompt of the session."""
        for row in map(_row, self._lines):
            content = (row.get("message") or {}).get("content")
            if row.get("type") == "user" and isinstance(content, str) and not row.get("isMeta"):
                return content
        return ""

    def start(self) -> None:
        """Start playing in the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop playing, and end the thread."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _play(self) -> None:
        player = Player(
            [SessionScript((self._room.live, line) for line in self._lines)],
            most=1,
            now=lambda: time.time_ns() // 1_000_000,
        )
        with _said_to_run(self._room.home, self._room.live.stem, self._folder()):
            for pause in self._pauses:
                if self._is_over.wait(pause):
                    return
                player.step()

    def _folder(self) -> str:
        return next((row["cwd"] for row in map(_row, self._lines) if "cwd" in row), "/")


def in_time(lines: Sequence[bytes]) -> list[bytes]:
    """Sort the lines by their times: the client writes some rows later than the answers to them.

    A row without a time stays with the one before it.
    """
    timed: list[tuple[str, bytes]] = []
    last = ""
    for line in lines:
        text = _row(line).get("timestamp")
        last = text if isinstance(text, str) else last
        timed.append((last, line))
    return [line for _, line in sorted(timed, key=itemgetter(0))]


def pauses_of(lines: Sequence[bytes]) -> list[float]:
    """Return the seconds to wait before each line: the recorded gaps, scaled and bounded, about `WHOLE` in all."""
    gaps: list[float] = []
    last: datetime | None = None
    for line in lines:
        text = _row(line).get("timestamp")
        moment = datetime.fromisoformat(text) if isinstance(text, str) else last
        gap = (moment - last).total_seconds() if moment and last else 0.0
        gaps.append(min(max(gap, 0.0), LONGEST_GAP))
        last = moment or last
    pauses = gaps
    for _ in range(ROUNDS):
        scale = (WHOLE - FIRST_PAUSE) / (sum(pauses) or 1.0)
        pauses = [min(max(pause * scale, SHORTEST_PAUSE), LONGEST_PAUSE) for pause in pauses]
    return [FIRST_PAUSE, *pauses[1:]] if pauses else []


@contextmanager
def _said_to_run(home: Path, session: str, folder: str) -> Iterator[None]:
    """Write the file by which a running Claude Code marks this session as open, with the id of this process."""
    path = home / "sessions" / f"{os.getpid()}.json"
    path.parent.mkdir(exist_ok=True)
    fields = {"pid": os.getpid(), "sessionId": session, "cwd": folder, "status": "busy", "kind": "interactive"}
    path.write_text(json.dumps(fields), encoding="utf-8")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}
