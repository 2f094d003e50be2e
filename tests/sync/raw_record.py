"""What the machines of a person have written, and which of it each library must have: plain `json` over the raw files.

Nothing here is imported from the program. Each machine has a record of its files: at each look at its home, what a file
has grown by is noted, and a file that says something else than before has a new version. Who forgot, agreed or refused
is noted by the one who plays the user.
"""

import json
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

Row = dict[str, Any]
MODEL: Final = "claude-sonnet-4-5"
TOKENS: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Place(NamedTuple):
    """A file of a machine, by the machine's part in this world."""

    machine: str
    path: str


@dataclass
class RawFile:
    """A file of a home, as it was at each look."""

    versions: list[bytes] = field(default_factory=list)
    is_there: bool = True

    def look(self, data: bytes | None) -> None:
        """Note what is there now; None if there is no file."""
        self.is_there = data is not None
        if data is None or (self.versions and data == self.versions[-1]):
            return
        if self.versions and data.startswith(self.versions[-1]):
            self.versions[-1] = data
        else:
            self.versions.append(data)

    def leaves(self, path: str) -> list[bytes]:
        """What other machines can have of it: not a last line that is still being written."""
        if not self.is_there or not path.endswith(".jsonl") or not self.versions:
            return self.versions
        *before, last = self.versions
        whole, _, rest = last.rpartition(b"\n")
        return [*before, last if not rest or _is_row(rest) else whole + b"\n" if whole else b""]


class RawMachine:
    """A machine: its home, and what the user has done on it."""

    def __init__(self, name: str, home: Path, numbers: Iterator[int]) -> None:
        self.name, self.home, self._numbers = name, home, numbers
        self.files: dict[str, RawFile] = {}
        self.forgotten: set[str] = set()
        """The sessions that were forgotten here, or whose forgetting was agreed to here."""
        self.words: dict[str, str] = {}
        """A word that only one session says, by session."""
        (home / "projects").mkdir(parents=True)

    def look(self) -> None:
        """Note what is in the home now."""
        there = {path.relative_to(self.home).as_posix(): path for path in self.home.rglob("*") if path.is_file()}
        for name, path in there.items():
            if session_of(name) not in self.forgotten:
                self.files.setdefault(name, RawFile()).look(path.read_bytes())
        for name, file in self.files.items():
            if name not in there:
                file.look(None)

    # What Claude Code writes

    def begin(self, chance: random.Random) -> str:
        """A new session; return its path."""
        number = next(self._numbers)
        session = str(uuid.UUID(int=number << 64 | 4 << 76 | 8 << 60 | number))
        path = f"projects/-home-ada-work-{number % 4}/{session}.jsonl"
        self.words[session] = f"word{number}x"
        self.talk(path, chance, text=f"about {self.words[session]}")
        return path

    def talk(self, path: str, chance: random.Random, *, text: str = "go on") -> None:
        """More turns of a session or an agent; a line that was being written is finished first."""
        self._finish(path)
        rows = []
        for _ in range(chance.randint(1, 4)):
            number = next(self._numbers)
            said = {**self._row(path, number), "type": "user", "message": {"role": "user", "content": text}}
            tokens = (chance.randint(1, 9), chance.randint(1, 900), 0, chance.randint(0, 99))
            usage = dict(zip(TOKENS, tokens, strict=True))
            answer = {
                "role": "assistant", "id": f"msg_{number}", "model": MODEL, "stop_reason": "end_turn", "usage": usage,
                "content": [{"type": "text", "text": f"answer {number}"}],
            }  # fmt: skip
            rows += [said, {**self._row(path, next(self._numbers)), "type": "assistant", "message": answer}]
            rows[-1]["parentUuid"] = rows[-2]["uuid"]
        self._append(path, b"".join(json.dumps(row).encode() + b"\n" for row in rows))

    def tear(self, path: str) -> None:
        """Half a line: Claude Code is writing it."""
        self._finish(path)
        row = {**self._row(path, next(self._numbers)), "type": "user", "message": {"role": "user", "content": "half…"}}
        self._append(path, json.dumps(row).encode()[:-9])

    def finish(self) -> None:
        """Every line is written to its end."""
        for path in self.there:
            self._finish(path)

    def rewrite(self, path: str, data: bytes) -> None:
        """A file with other contents than before."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def delete(self, path: str) -> None:
        """Claude Code cleans up."""
        (self.home / path).unlink()

    def copy(self, path: str, data: bytes) -> None:
        """A session of another machine that was copied here to go on with it."""
        self.rewrite(path, data)

    @property
    def there(self) -> list[str]:
        """The session and agent files of the home."""
        found = (path.relative_to(self.home).as_posix() for path in self.home.glob("projects/**/*.jsonl"))
        return sorted(path for path in found if session_of(path) not in self.forgotten)

    def _row(self, path: str, number: int) -> Row:
        minute, second = divmod(number % 3600, 60)
        row: Row = {
            "uuid": str(uuid.UUID(int=number)), "parentUuid": None, "isSidechain": "/subagents/" in path,
            "sessionId": session_of(path), "timestamp": f"2026-01-05T10:{minute:02}:{second:02}.000Z",
            "version": "2.1.0", "cwd": f"/home/ada/work/{path.split('/')[1][-1]}", "userType": "external",
        }  # fmt: skip
        if "/subagents/" in path:
            row["agentId"] = path.rpartition("agent-")[2].removesuffix(".jsonl")
        return row

    def _append(self, path: str, data: bytes) -> None:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as opened:
            opened.write(data)

    def _finish(self, path: str) -> None:
        file = self.home / path
        data = file.read_bytes() if file.exists() else b""
        rest = data.rpartition(b"\n")[2]
        if rest and not _is_row(rest):
            self._append(path, next(end + b"\n" for end in (b'."}}', b'"}}', b"}}") if _is_row(rest + end)))
        elif rest:
            self._append(path, b"\n")


def session_of(path: str) -> str | None:
    """The session that a file belongs to; None if it belongs to none."""
    parts = path.removesuffix(".jsonl").split("/")
    return parts[2] if parts[0] == "projects" and len(parts) > 2 else None


def rows_of(data: bytes) -> list[Row]:
    """The rows of a session file."""
    return [json.loads(text) for text in data.splitlines() if _is_row(text)]


class Counted(NamedTuple):
    """What an index must say of some files."""

    uuids: set[str]
    usage: dict[str, tuple[int, ...]]
    """The tokens of each answer, by the id of its message."""


def count(files: dict[Place, list[bytes]]) -> Counted:
    """Count the rows and the answers of session files, each once."""
    rows = [row for place, versions in files.items() if session_of(place.path) for row in rows_of(versions[-1])]
    answers = {row["message"]["id"]: row["message"]["usage"] for row in rows if row["type"] == "assistant"}
    tokens = {name: tuple(usage[each] for each in TOKENS) for name, usage in answers.items()}
    return Counted({row["uuid"] for row in rows}, tokens)


def _is_row(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
