"""Simulate a home in use: continue some sessions of a generated home, at the caller's pace.

Only homes with the generator's mark are played, so that a user's own conversations are never written to.
"""

import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from backscroll.demo import player
from backscroll.demo.player import Line, PlayedStep, SessionScript
from bench.generator.margins import GeneratedWorld, Mix
from bench.generator.rows import GeneratedTranscript, Sink, Tally, client
from bench.generator.stories import Story
from bench.generator.texts import GeneratedTexts

MARK = "BACKSCROLL_BENCH_HOME"

_SESSION_NAME = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl")
# Large enough that no budget ends a turn early; a player has no last turn.
_ENDLESS = 1 << 50
_POOL_BYTES = 300_000


class GeneratedPlayer(player.Player):
    """Appends to `sessions` sessions of the generated home `root`, the latest ones that are sound.

    The same home and seed give the same steps, with timestamps that go on from each session's last record; give
    `now` (milliseconds) to have rows bear the time they are written. `tear` is the share of the steps that stop
    inside a line.
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
        texts = GeneratedTexts(seed, _POOL_BYTES)
        chosen = _latest_sound_sessions(root, sessions)
        if not chosen:
            raise ValueError(f"{root} has no session that can go on: generate one with more sessions")
        scripts = [
            _Session(root, path, last, texts, self.tally, mix or Mix(), Random(f"player {seed} {path.name}"))
            for path, last in chosen
        ]
        super().__init__(scripts, random=Random(f"player {seed}"), tear=tear, now=now)


def play(
    root: Path, *, seed: int = 1, sessions: int = 3, tear: float = 0.0, now: Callable[[], int] | None = None
) -> Iterator[PlayedStep]:
    """The endless steps of a `Player`."""
    return GeneratedPlayer(root, seed=seed, sessions=sessions, tear=tear, now=now)


class _Queue:
    """A sink whose lines wait to be appended."""

    def __init__(self, path: Path, waiting: deque[Line]) -> None:
        self.size = path.stat().st_size if path.exists() else 0
        self._path = path
        self._waiting = waiting

    def write(self, line: bytes) -> None:
        self.size += len(line)
        self._waiting.append((self._path, line))


class _Session(SessionScript):
    """One session that goes on, and the Home its story writes to."""

    def __init__(
        self, root: Path, path: Path, last: dict[str, str], texts: GeneratedTexts, tally: Tally, mix: Mix, rng: Random
    ) -> None:
        super().__init__()
        self._root = root
        transcript = GeneratedTranscript(
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
        world = GeneratedWorld(self, texts, tally, mix)
        self._story = Story(world, transcript, folder=folder, budget=_ENDLESS, model="claude-sonnet-4-6")

    def refill(self) -> None:
        """The next turn of its story, which has no end."""
        self._story.transcript.wait(4_000, 600_000)
        self._story.turn()

    def open(self, path: str) -> Sink:
        return _Queue(self._root / path, self.waiting)

    def close(self, sink: Sink, now: int) -> None:
        """Nothing to do: the lines are still waiting."""

    def put(self, path: str, text: str, now: int) -> None:  # noqa: ARG002 (a played file has the real time)
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


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
