"""Records of automatic captures: the last success and failure of each way for a home, and the running watcher.

The archive records when a home was last captured as a whole, but not by which way; and a watcher writes nothing there
while nothing changes. So each way has a small file for each home, in the folder `captures` of the library. These files
are only for reports: losing one loses no conversation, so a failure to write one is no error.
"""

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, Self, cast, get_args

import msgspec

from backscroll.disk import FileLock, private_folder, read_own, write_private
from backscroll.errors import BackscrollError, Busy
from backscroll.files.homes import Home
from backscroll.settings import Settings

Way = Literal["hooks", "plugin", "timer", "watcher"]
"""The ways that capture automatically."""
STARTED_BY: Final = "BACKSCROLL_STARTED_BY"
"""The variable by which a hook or a timer names itself to `keep`."""
LONGEST: Final = 1000
"""Longest text of a problem, in characters."""
LARGEST: Final = 1 << 16
NOTE_SECONDS: Final = 30.0
"""Interval in which a watcher confirms that it is up to date, while nothing changes."""
LOCK_SECONDS: Final = 1.0


class CaptureNote(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one way for one home. Times are in the format of the catalogue; empty for never."""

    way: str
    home: str
    began: str = ""
    """When it last began."""
    captured: str = ""
    """When it last kept everything in the home."""
    failed: str = ""
    problem: str = ""
    """Why it failed then."""


class Watcher(msgspec.Struct, frozen=True, kw_only=True):
    """A process that keeps everything in some homes as it is written."""

    command: str
    """The command that the user started, such as `backscroll open`."""
    process: int
    homes: list[str]

    def watches(self, homes: Sequence[Home]) -> bool:
        """Whether it watches all of these homes, as far as they exist."""
        return all(_text(home.path) in self.homes for home in homes if home.exists)

    def __str__(self) -> str:
        """Return the command and process id, so that the user finds the process."""
        return f"{self.command} (process {self.process})"


def started_by(environment: Mapping[str, str] = os.environ) -> Way | None:
    """Return the way that started this process; None if the user did."""
    name = environment.get(STARTED_BY)
    return cast("Way", name) if name in get_args(Way) else None


def captures_folder(library: Path) -> Path:
    """Return the folder of these files."""
    return library / "captures"


def failure_file(library: Path, way: Way, home: Path | None) -> Path:
    """Return the file for the shell's last reason why a hook could not even start its program."""
    return captures_folder(library) / f"{_name(way, _text(home) if home else '')}.failed"


def note_begin(settings: Settings, way: Way, homes: Sequence[Home]) -> None:
    """Note that a capture begins, so that one that never ends is noticed."""
    for home in homes:
        _write(settings, msgspec.structs.replace(_read(settings, way, home), began=now()))


def note_captured(settings: Settings, way: Way, homes: Sequence[Home]) -> None:
    """Note that everything in these homes is kept."""
    for home in homes:
        before = _read(settings, way, home)
        _write(settings, msgspec.structs.replace(before, captured=now(), failed="", problem=""))


def note_failure(settings: Settings, way: Way, homes: Sequence[Home], problem: str) -> None:
    """Note why a capture failed."""
    for home in homes:
        before = _read(settings, way, home)
        _write(settings, msgspec.structs.replace(before, failed=now(), problem=problem[:LONGEST]))


def read_note(settings: Settings, way: Way, home: Home) -> CaptureNote:
    """Return the record of a way for a home, with the shell's reason if it could not start the program."""
    note = _read(settings, way, home)
    for place in (failure_file(settings.library, way, home.path), failure_file(settings.library, way, None)):
        with suppress(OSError):
            text = read_own(place, LARGEST).decode(errors="replace").strip()
            failed = _time(datetime.fromtimestamp(place.stat().st_mtime, UTC))
            if failed > max(note.failed, note.captured):
                note = msgspec.structs.replace(note, failed=failed, problem=text[:LONGEST])
    return note


def last_captures(settings: Settings, homes: Sequence[Home]) -> list[tuple[str, str]]:
    """Return when each of these homes was last captured automatically, if it was."""
    times = [(str(home.path), max(_read(settings, way, home).captured for way in get_args(Way))) for home in homes]
    return [(home, at) for home, at in times if at]


class Watching:
    """Announces, while it is open, that this process keeps everything in some homes as it is written."""

    def __init__(self, settings: Settings, homes: Sequence[Home], command: str) -> None:
        self._settings, self._homes = settings, [home for home in homes if home.exists]
        self._watcher = Watcher(command=command, process=os.getpid(), homes=[_text(home.path) for home in homes])
        self._lock: FileLock | None = None
        self._noted = float("-inf")

    def __enter__(self) -> Self:
        with suppress(OSError, BackscrollError):
            folder = private_folder(captures_folder(self._settings.library))
            # Another process may hold the lock for a moment, to check for a watcher.
            self._lock = FileLock(folder / LOCK, "", "", wait=LOCK_SECONDS)
            write_private(folder / WATCHER, msgspec.json.encode(self._watcher))
        return self

    def is_up_to_date(self, *, has_news: bool) -> None:
        """Note that all files in the homes are kept. With `has_news`, a file was kept just now."""
        if has_news or time.monotonic() > self._noted + NOTE_SECONDS:
            self._noted = time.monotonic()
            note_captured(self._settings, "watcher", self._homes)

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.release()


def find_watcher(settings: Settings) -> Watcher | None:
    """Return the process that now watches homes for this library, if any."""
    folder = captures_folder(settings.library)
    if not (folder / LOCK).exists():
        return None
    try:
        FileLock(folder / LOCK, "", "").release()
    except Busy:
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return msgspec.json.decode(read_own(folder / WATCHER, LARGEST), type=Watcher)
    except OSError:
        pass
    return None


def now() -> str:
    """Return the current time, in the format of the catalogue."""
    return _time(datetime.now(UTC))


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _read(settings: Settings, way: Way, home: Home) -> CaptureNote:
    try:
        data = read_own(_file(settings, way, home), LARGEST)
        return msgspec.json.decode(data, type=CaptureNote)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return CaptureNote(way=way, home=_text(home.path))


def _write(settings: Settings, note: CaptureNote) -> None:
    with suppress(OSError, BackscrollError):  # another process notes the same, or the disk is full
        private_folder(captures_folder(settings.library))
        file = captures_folder(settings.library) / f"{_name(note.way, note.home)}.json"
        write_private(file, msgspec.json.encode(note), is_synced=False)


def _file(settings: Settings, way: Way, home: Home) -> Path:
    return captures_folder(settings.library) / f"{_name(way, _text(home.path))}.json"


def _text(home: Path) -> str:
    return os.fsencode(home).decode(errors="backslashreplace")


def _name(way: str, home: str) -> str:
    return f"{way}-{hashlib.sha256(home.encode()).hexdigest()[:12]}" if home else way


LOCK: Final = "watcher.lock"
WATCHER: Final = "watcher.json"
