"""The user's additions to chats: pins, tags and notes; saved searches; and the budget of a month.

Marks cannot be derived from anything, so they are stored next to the archive, in one small JSON file that people can
read. Only this module knows that file.

A mark is stored under the id of one session of its chat, and a chat has the marks of all its sessions. So no mark is
lost when an older session is added, or when two chats are joined. Removing a mark removes it from all sessions.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, field

from backscroll.errors import UsageError
from backscroll.library.own_file import OwnFile, readable_json

Answer = TypeVar("Answer")


class Mark(Struct, kw_only=True, omit_defaults=True):
    """The marks of one chat, by the id of one of its sessions."""

    pinned: bool = False
    tags: list[str] = field(default_factory=list)
    notes: list["Note"] = field(default_factory=list)


class Note(Struct, kw_only=True):
    """A note and its time."""

    text: str
    at: str


class Marks(Struct, kw_only=True):
    """All marks. `sessions` are the session ids of one chat, including its own id."""

    chats: dict[str, Mark] = field(default_factory=dict)
    searches: dict[str, str] = field(default_factory=dict)
    budget: float | None = None
    """Budget of a month, in US dollars."""

    def pinned(self) -> frozenset[str]:
        """Return the sessions whose chats are pinned."""
        return frozenset(session for session, mark in self.chats.items() if mark.pinned)

    def tagged(self) -> dict[str, frozenset[str]]:
        """Return the sessions by the tags of their chats, in lower case."""
        tags = {tag.lower() for mark in self.chats.values() for tag in mark.tags}
        return {
            tag: frozenset(
                session for session, mark in self.chats.items() if tag in (name.lower() for name in mark.tags)
            )
            for tag in tags
        }

    def of(self, sessions: Sequence[str]) -> Mark:
        """Return the marks of the chat with these sessions; notes in the order they were made."""
        own = self._of(sessions)
        tags: dict[str, str] = {}
        for tag in (tag for mark in own for tag in mark.tags):
            tags.setdefault(tag.lower(), tag)
        return Mark(
            pinned=any(mark.pinned for mark in own),
            tags=list(tags.values()),
            notes=sorted((note for mark in own for note in mark.notes), key=lambda note: note.at),
        )

    def pin(self, sessions: Sequence[str], *, undo: bool = False) -> bool:
        """Pin or unpin a chat; return whether that changed anything."""
        before = self.of(sessions).pinned
        if undo:
            for mark in self._of(sessions):
                mark.pinned = False
        elif not before:
            self._one(sessions).pinned = True
        return before == undo

    def tag(self, sessions: Sequence[str], tags: Iterable[str]) -> list[str]:
        """Tag a chat; return the new tags."""
        had = {tag.lower() for tag in self.of(sessions).tags}
        wanted = {tag.lower(): tag for tag in map(_plain_text, tags) if tag}
        new = [tag for name, tag in wanted.items() if name not in had]
        if new:
            self._one(sessions).tags.extend(new)
        return new

    def untag(self, sessions: Sequence[str], tags: Iterable[str]) -> list[str]:
        """Remove tags from a chat; return those it had."""
        gone = {_plain_text(tag).lower() for tag in tags}
        taken = [tag for tag in self.of(sessions).tags if tag.lower() in gone]
        for mark in self._of(sessions):
            mark.tags = [tag for tag in mark.tags if tag.lower() not in gone]
        return taken

    def note(self, sessions: Sequence[str], text: str, now: datetime | None = None) -> None:
        """Add a note to a chat."""
        self._one(sessions).notes.append(new_note(text, now))

    def unnote(self, sessions: Sequence[str], number: int) -> Note | None:
        """Remove a note of a chat, numbered from 1 as in `of`; None if there is no such note."""
        notes = self.of(sessions).notes
        if not 1 <= number <= len(notes):
            return None
        taken = notes[number - 1]
        for mark in self._of(sessions):
            # By identity: two notes may have the same text.
            mark.notes = [note for note in mark.notes if note is not taken]
        return taken

    def _of(self, sessions: Sequence[str]) -> list[Mark]:
        return [self.chats[session] for session in dict.fromkeys(sessions) if session in self.chats]

    def _one(self, sessions: Sequence[str]) -> Mark:
        """Return the mark to change for a chat: an existing one, otherwise a new one of its oldest session."""
        return next(iter(self._of(sessions)), None) or self.chats.setdefault(sessions[0], Mark())


def read_marks(library: Path) -> Marks:
    """Return the saved marks; raises an error if the file cannot be read, because there is no other copy."""
    return _file(library).read()


def change_marks(library: Path, change: Callable[[Marks], Answer]) -> Answer:
    """Change the marks atomically: readers see the old or the new state."""
    path = library / FILE
    most = max(MAX_BYTES, path.stat().st_size if path.exists() else 0)

    def write(marks: Marks) -> bytes:
        data = _write(marks)
        if len(data) > most:
            message = f"your pins, tags, notes and saved searches would take more than {MAX_BYTES:,} bytes"
            raise UsageError(message, "remove some first")
        return data

    return _file(library).change(change, write)


def new_note(text: str, now: datetime | None = None) -> Note:
    """Return a new note, with the current time."""
    return Note(text=_plain_text(text), at=(now or datetime.now(UTC)).isoformat(timespec="seconds"))


def as_plain(mark: Mark) -> dict[str, Any]:
    """Return a mark as plain data for JSON."""
    return {
        "pinned": mark.pinned,
        "tags": mark.tags,
        "notes": [{"text": note.text, "at": note.at} for note in mark.notes],
    }


def _file(library: Path) -> OwnFile[Marks]:
    return OwnFile(library / FILE, Marks, "your pins, tags and notes")


def _write(marks: Marks) -> bytes:
    marks.chats = {session: mark for session, mark in marks.chats.items() if mark != Mark()}
    data = msgspec.to_builtins(marks)
    if marks.budget is None:
        del data["budget"]  # versions without budgets can still read and write the file
    return readable_json(data)


def _plain_text(text: str) -> str:
    """Return the typed text without invalid bytes: the file must stay readable."""
    return text.encode("utf-8", "replace").decode().strip()


FILE: Final = "marks.json"
MAX_BYTES: Final = 8_000_000
"""Limit, because every page reads the marks. A file that is longer already must only not grow."""
