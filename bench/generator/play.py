"""Play a living home: go on writing in some sessions of a generated one, at the caller's pace.

Only homes that bear the generator's mark are played, so that nobody's own conversations are ever written to.
"""

import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.generator.margins import Mix, World
from bench.generator.rows import Sink, Tally, Transcript, client, stamp
from bench.generator.stories import Story
from bench.generator.texts import Texts

MARK = "BACKSCROLL_BENCH_HOME"

_TIMESTAMP = re.compile(rb'"timestamp":"[^"]*"')
_SESSION_NAME = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl")
# Large enough that no budget ends a turn early; a player has no last turn.
_ENDLESS = 1 << 50
_POOL_BYTES = 300_000


@dataclass(frozen=True, slots=True)
class Step:
    """What one step appended, and where. `lines` counts the newlines; a torn step ends inside a line."""

    path: Path
    lines: int
    bytes: int
    torn: bool = False


class Player:
    """Appends to `sessions` sessions of the generated home `root`, the latest ones that are sound.

    The same home and seed give the same steps, with timestamps that go on from each session's last record; give
    `now` (milliseconds) to have rows bear the time they are written. `tear` is the share of the steps that stop
    inside a line, as a reader between two flushes sees it; the next step on that session writes the rest.
    """

    def __init__(
        self,
        root: Path,
        *,
        seed: int = 1,
        sessions: int = 3,
        tear: float = 0.0,
        mix: Mix | None = None,
        now: Callable[[], int] | None = None,
    ) -> None:
        if not _is_generated(root):
            raise ValueError(f"{root} was not made by bench.generate: only such homes are played")
        self.tally = Tally()
        self._rng = Random(f"player {seed}")
        self._tear = tear
        self._now = now
        texts = Texts(seed, _POOL_BYTES)
        chosen = _latest_sound_sessions(root, sessions)
        if not chosen:
            raise ValueError(f"{root} has no session that can go on: generate one with more sessions")
        self._sessions = [
            _Session(root, path, last, texts, self.tally, mix or Mix(), Random(f"player {seed} {path.name}"))
            for path, last in chosen
        ]

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        return self.step()

    def step(self) -> Step:
        """Append one to four complete lines to one file, or half a line, or the rest of one."""
        session = self._rng.choice(self._sessions)
        if session.rest:
            path, rest = session.rest
            session.rest = None
            return _append(path, rest)
        path, first = session.next_line()
        lines = [first]
        for _ in range(int(self._rng.random() * 4)):
            if not session.waiting or session.waiting[0][0] != path:
                break
            lines.append(session.waiting.popleft()[1])
        content = b"".join(lines)
        if self._now:
            content = _TIMESTAMP.sub(f'"timestamp":"{stamp(self._now())}"'.encode(), content)
        if self._rng.random() < self._tear:
            cut = len(content) - 1 - int(self._rng.random() * (len(content) - content.rfind(b"\n", 0, -1) - 2))
            session.rest = (path, content[cut:])
            return _append(path, content[:cut], torn=True)
        return _append(path, content)


def play(
    root: Path, *, seed: int = 1, sessions: int = 3, tear: float = 0.0, now: Callable[[], int] | None = None
) -> Iterator[Step]:
    """The endless steps of a `Player`."""
    return Player(root, seed=seed, sessions=sessions, tear=tear, now=now)


class _Queue:
    """A sink whose lines wait to be appended."""

    def __init__(self, path: Path, waiting: deque[tuple[Path, bytes]]) -> None:
        self.size = path.stat().st_size if path.exists() else 0
        self._path = path
        self._waiting = waiting

    def write(self, line: bytes) -> None:
        self.size += len(line)
        self._waiting.append((self._path, line))


class _Session:
    """One session that goes on, and the Home its story writes to."""

    def __init__(
        self, root: Path, path: Path, last: dict[str, str], texts: Texts, tally: Tally, mix: Mix, rng: Random
    ) -> None:
        self.waiting: deque[tuple[Path, bytes]] = deque()
        self.rest: tuple[Path, bytes] | None = None
        self._root = root
        transcript = Transcript(
            _Queue(path, self.waiting),
            tally,
            rng,
            client=client(last["version"]),
            session_id=last["sessionId"],
            cwd=last["cwd"],
            branch=last.get("gitBranch", "main"),
            slug=last.get("slug", ""),
            now=path.stat().st_mtime_ns // 1_000_000,
        )
        transcript.last = last["uuid"]
        folder = path.parent.relative_to(root).as_posix()
        world = World(self, texts, tally, mix)
        self._story = Story(world, transcript, folder=folder, budget=_ENDLESS, model="claude-sonnet-4-6")

    def next_line(self) -> tuple[Path, bytes]:
        if not self.waiting:
            self._story.transcript.wait(4_000, 600_000)
            self._story.turn()
        return self.waiting.popleft()

    def open(self, path: str) -> Sink:
        return _Queue(self._root / path, self.waiting)

    def close(self, sink: Sink, now: int) -> None:
        """Nothing to do: the lines are still waiting."""

    def put(self, path: str, text: str, now: int) -> None:  # noqa: ARG002 (a played file has the real time)
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def _append(path: Path, content: bytes, *, torn: bool = False) -> Step:
    path.parent.mkdir(parents=True, exist_ok=True)
    # One write on an O_APPEND descriptor, as the client does it: a reader never sees a hole.
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        written = os.write(descriptor, content)
        if written != len(content):
            raise OSError(f"only {written} of {len(content)} bytes fit into {path}")
    finally:
        os.close(descriptor)
    return Step(path, content.count(b"\n"), len(content), torn)


def _is_generated(root: Path) -> bool:
    try:
        settings = json.loads((root / "settings.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(settings, dict) and MARK in settings.get("env", {})


def _latest_sound_sessions(root: Path, count: int) -> list[tuple[Path, dict[str, str]]]:
    """The sessions written last whose file ends with a newline, each with its last chain row."""
    paths = [path for path in root.glob("projects/*/*.jsonl") if _SESSION_NAME.fullmatch(path.name)]
    chosen: list[tuple[Path, dict[str, str]]] = []
    for path in sorted(paths, key=lambda path: (-path.stat().st_mtime_ns, path.name)):
        last = _last_row(path)
        if last:
            chosen.append((path, last))
        if len(chosen) == count:
            break
    return chosen


def _last_row(path: Path) -> dict[str, str] | None:
    last = None
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return None
            # Only rows of the chain have a parent, and of those the sidechains are not the session's own.
            if line.startswith(b'{"parentUuid"') and b'"isSidechain":false' in line:
                last = line
    if last is None:
        return None
    row = json.loads(last)
    return {name: value for name, value in row.items() if isinstance(value, str)}
