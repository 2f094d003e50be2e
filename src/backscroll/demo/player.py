"""Write sessions as Claude Code does: line by line, at the caller's pace, each step with one append.

`Player` takes the lines from `SessionScript`s: the demo has a recorded one, the benchmarks have endless generated ones.
The caller decides how long to wait between two steps.
"""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Final

Line = tuple[Path, bytes]
"""A line with its newline, and the file that it is appended to."""

TIMESTAMP: Final = re.compile(rb'"timestamp":"[^"]*"')
MAX_LINES: Final = 4


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """The file and the bytes that one step appended. `lines` counts the newlines; a torn step ends inside a line."""

    path: Path
    lines: int
    bytes: int
    torn: bool = False


class SessionScript:
    """The lines of one session that are still to be written."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.waiting: deque[Line] = deque(lines)
        self.rest: Line | None = None
        """Rest of a line that was begun."""

    def refill(self) -> None:
        """Add lines when none is queued: a script that continues does, one that is over does nothing."""


class Player:
    """Appends the lines of several scripts to their files.

    The same scripts and random numbers give the same steps. With `now` (milliseconds since 1970), rows bear the time at
    which they are written. A step has at most `most` lines of one file. `tear` is the share of the steps that stop
    inside a line, as a reader between two flushes sees it; the next step on that script writes the rest.
    """

    def __init__(
        self,
        scripts: Sequence[SessionScript],
        *,
        random: Random | None = None,
        most: int = MAX_LINES,
        tear: float = 0.0,
        now: Callable[[], int] | None = None,
    ) -> None:
        self._scripts = list(scripts)
        self._random = random or Random(1)  # noqa: S311 - nothing depends on its being unpredictable
        self._most = most
        self._tear = tear
        self._now = now

    def __iter__(self) -> Iterator[PlayedStep]:
        return self

    def __next__(self) -> PlayedStep:
        return self.step()

    def step(self) -> PlayedStep:
        """Append some complete lines to one file, or half a line, or the rest of one; StopIteration at the end."""
        script = self._next_script()
        if script.rest:
            path, rest = script.rest
            script.rest = None
            return append(path, rest)
        path, first = script.waiting.popleft()
        lines = [first]
        for _ in range(int(self._random.random() * self._most)):
            if not script.waiting or script.waiting[0][0] != path:
                break
            lines.append(script.waiting.popleft()[1])
        content = b"".join(lines)
        if self._now:
            content = TIMESTAMP.sub(f'"timestamp":"{stamp(self._now())}"'.encode(), content)
        if self._random.random() < self._tear:
            cut = len(content) - 1 - int(self._random.random() * (len(content) - content.rfind(b"\n", 0, -1) - 2))
            script.rest = (path, content[cut:])
            return append(path, content[:cut], torn=True)
        return append(path, content)

    def _next_script(self) -> SessionScript:
        while self._scripts:
            script = self._random.choice(self._scripts)
            if not script.waiting and not script.rest:
                script.refill()
            if script.waiting or script.rest:
                return script
            self._scripts.remove(script)
        raise StopIteration


def append(path: Path, content: bytes, *, torn: bool = False) -> PlayedStep:
    """Append bytes to a file, which is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # One write on an O_APPEND descriptor, as the client does it: a reader never sees a hole.
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        written = os.write(descriptor, content)
        if written != len(content):
            raise OSError(f"only {written} of {len(content)} bytes fit into {path}")
    finally:
        os.close(descriptor)
    return PlayedStep(path, content.count(b"\n"), len(content), torn)


def stamp(milliseconds: int) -> str:
    """Return a time as Claude Code writes it."""
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03}Z"
