"""What the user says of chats: pins, tags, notes, and searches to be asked again.

Not derived from anything, so it is kept beside the archive, in one small JSON file that people can read.
"""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from backscroll.errors import BackscrollError


class Mark(Struct, kw_only=True, omit_defaults=True):
    """What is said of one chat, by the id of one of its sessions."""

    pinned: bool = False
    tags: list[str] = field(default_factory=list)
    notes: list["Note"] = field(default_factory=list)


class Note(Struct, kw_only=True):
    """A remark, and when it was made."""

    text: str
    at: str


class Marks(Struct, kw_only=True):
    """All of it."""

    chats: dict[str, Mark] = field(default_factory=dict)
    searches: dict[str, str] = field(default_factory=dict)

    def pinned(self) -> frozenset[str]:
        """The sessions whose chats are pinned."""
        return frozenset(session for session, mark in self.chats.items() if mark.pinned)

    def tagged(self) -> dict[str, frozenset[str]]:
        """The sessions by the tags of their chats, in small letters."""
        tags = {tag.lower() for mark in self.chats.values() for tag in mark.tags}
        return {
            tag: frozenset(
                session for session, mark in self.chats.items() if tag in (name.lower() for name in mark.tags)
            )
            for tag in tags
        }

    def of(self, sessions: list[str]) -> Mark:
        """What is said of the chat with these sessions."""
        found = [self.chats[session] for session in sessions if session in self.chats]
        return Mark(
            pinned=any(mark.pinned for mark in found),
            tags=list(dict.fromkeys(tag for mark in found for tag in mark.tags)),
            notes=[note for mark in found for note in mark.notes],
        )


def read_marks(library: Path) -> Marks:
    """What was said so far; an error if the file cannot be read, for it is nowhere else."""
    path = _path(library)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Marks)
    except (FileNotFoundError, NotADirectoryError):
        return Marks()
    except (OSError, msgspec.MsgspecError) as error:
        hint = "mend the file, or move it away to begin anew"
        raise BackscrollError(f"cannot read your pins, tags and notes in {path}: {error}", hint) from error


def change_marks(library: Path, change: Callable[[Marks], object]) -> None:
    """Change what is said, all at once: whoever reads sees all of it or what was there before."""
    import fcntl

    path = _path(library)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (library / "marks.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        marks = read_marks(library)
        change(marks)
        marks.chats = {session: mark for session, mark in marks.chats.items() if mark != Mark()}
        fresh = path.with_suffix(".new")
        text = json.dumps(msgspec.to_builtins(marks), ensure_ascii=False, indent=2)
        descriptor = os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)


def new_note(text: str, now: datetime | None = None) -> Note:
    """A remark made now."""
    return Note(text=text, at=(now or datetime.now(UTC)).isoformat(timespec="seconds"))


def _path(library: Path) -> Path:
    return library / "marks.json"


def as_plain(mark: Mark) -> dict[str, Any]:
    """A mark as JSON."""
    return {
        "pinned": mark.pinned,
        "tags": mark.tags,
        "notes": [{"text": note.text, "at": note.at} for note in mark.notes],
    }
