"""Requests of other devices to forget chats, and the user's answers.

The requests are in the library's `sync/` folder, in a file of lines that is only appended to. Until a request is
answered, its files are neither shown nor sent; none of them is removed before the user agrees.
"""

import os
import re
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import Struct

from backscroll.archive.forgetting import is_forgotten
from backscroll.disk import FileLock, append, private_folder, read_own, sync_folder
from backscroll.errors import storage_error
from backscroll.settings import Settings

Answer = Literal["agreed", "refused"]
MAX_KEYS: Final = 200_000
"""Number of hashes noted for one device. A chat has a hash for each of its files, and one for all of them."""
LOCK_SECONDS: Final = 10.0
KEY: Final = re.compile(r"[0-9a-f]{64}")
LONGEST_NAME: Final = 200


class ForgetRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the file: a device's request, or the user's answer."""

    device: str = ""
    """The device that asks; empty in an answer."""
    machine: str = ""
    """The name of the device's machine."""
    at: str = ""
    """The time of the request, by the device's clock; or of the answer."""
    arrived: str = ""
    """When the request arrived here."""
    answer: Answer | None = None
    keys: tuple[str, ...] = ()
    """Hashes of the files."""


class HiddenFiles(NamedTuple):
    """The files that another device asks to forget: hidden until the user has answered."""

    keys: Set[str] = frozenset()

    def hides(self, machines: Iterable[str], machine: str, home: str, path: str) -> bool:
        """Whether a file of a machine is hidden. `machines` are all machines in the archive."""
        return bool(self.keys) and is_forgotten(self.keys, machines, machine, home, path)


NOTHING_HIDDEN: Final = HiddenFiles()


class ForgetRequests:
    """The current requests and answers of a library."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.library / "sync"
        self._path = _path(settings)
        self._settings = settings
        self._stamp = ""
        self.requests: list[ForgetRequest] = []
        self.answers: dict[str, Answer] = {}
        """Answers by hash; a hash without an answer waits."""
        self._keys: dict[str, set[str]] = {}
        self._read()

    @property
    def waiting(self) -> set[str]:
        """The hashes that have no answer yet."""
        return {key for keys in self._keys.values() for key in keys} - self.answers.keys()

    @property
    def agreed(self) -> set[str]:
        """The hashes of files that may be forgotten; the archive may still have them."""
        return {key for key, answer in self.answers.items() if answer == "agreed"}

    @property
    def hidden(self) -> HiddenFiles:
        """The files to hide: those that wait, and those that the archive is about to forget."""
        return HiddenFiles(self.waiting | self.agreed)

    def about(self, keys: Set[str]) -> list[ForgetRequest]:
        """Return the requests that have one of these hashes, oldest first."""
        return [request for request in self.requests if not keys.isdisjoint(request.keys)]

    def add(self, device: str, machine: str, at: str, keys: Iterable[str]) -> int:
        """Note a device's request, durably; return the number of hashes left out, if it has too many."""
        with self._locked():
            self._read()
            known = self._keys.get(device, set())
            new = sorted(key for key in set(keys) - known if KEY.fullmatch(key))
            room = max(0, MAX_KEYS - len(known))
            if taken := new[:room]:
                device, machine, at = (text[:LONGEST_NAME] for text in (device, machine, at))
                self._append(ForgetRequest(device=device, machine=machine, at=at, arrived=_now(), keys=tuple(taken)))
        return len(new) - len(taken)

    def answer(self, keys: Iterable[str], answer: Answer) -> None:
        """Note the user's answer, durably."""
        with self._locked():
            self._read()
            if changed := sorted(key for key in set(keys) if self.answers.get(key) != answer):
                self._append(ForgetRequest(at=_now(), answer=answer, keys=tuple(changed)))

    def _locked(self) -> FileLock:
        private_folder(self._folder)
        return FileLock(
            self._folder / "forgets.lock", "another process notes a request", "try again", wait=LOCK_SECONDS
        )

    def _append(self, line: ForgetRequest) -> None:
        # The line begins with a newline, too: a process may have been killed while it wrote.
        append(self._path, b"\n" + msgspec.json.encode(line) + b"\n", self._size)
        sync_folder(self._folder)
        self._take(line)
        self._stamp = requests_stamp(self._settings)

    @property
    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def _read(self) -> None:
        stamp = requests_stamp(self._settings)
        if stamp and stamp == self._stamp:
            return
        self._stamp = stamp
        self.requests, self.answers, self._keys = [], {}, {}
        try:
            data = read_own(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise storage_error(error, f"cannot read {self._path}") from error
        for text in data.splitlines():
            with suppress(msgspec.DecodeError, UnicodeDecodeError):  # half a line: its request is sent again
                self._take(LINE.decode(text))

    def _take(self, line: ForgetRequest) -> None:
        if line.answer is not None:
            self.answers.update(dict.fromkeys(line.keys, line.answer))
        elif line.device:
            self.requests.append(line)
            self._keys.setdefault(line.device, set()).update(line.keys)


LINE: Final = msgspec.json.Decoder(ForgetRequest)


def hidden_files(settings: Settings) -> HiddenFiles:
    """Return the hidden files of a library."""
    return ForgetRequests(settings).hidden if requests_stamp(settings) else NOTHING_HIDDEN


def requests_stamp(settings: Settings) -> str:
    """Return a stamp that changes with every request or answer; empty if there are none. Cheap to compute."""
    try:
        state = os.stat(_path(settings))  # noqa: PTH116 - every command asks, and a Path takes longer
    except OSError:
        return ""
    return f"{state.st_ino} {state.st_size} {state.st_mtime_ns}"


def askers(requests: Iterable[ForgetRequest]) -> Mapping[str, str]:
    """Return the devices that ask, and the names of their machines."""
    return {request.device: request.machine or request.device for request in requests}


def _path(settings: Settings) -> Path:
    return settings.library / "sync" / "forgets.jsonl"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
