"""A disk that fails at the n-th call: nothing else can make every single call fail, one after the other."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

CALLS: Final = ("open", "write", "fsync", "truncate", "ftruncate", "replace", "rename", "unlink", "link", "mkdir")
ERRORS: Final = {name: getattr(errno, name) for name in ("EIO", "ENOSPC", "EACCES", "EMFILE")}


class PowerCut(BaseException):
    """The end, at once: nothing may catch it and go on."""


class Disk:
    """Counts the calls that concern a folder, and fails at one of them."""

    def __init__(self, folder: Path, fails_at: int, failure: Callable[[], BaseException], *, forever: bool) -> None:
        self.calls: list[str] = []
        self._folder = str(folder)
        self._flushed = {str(path): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
        self._fails_at = fails_at
        self._failure = failure
        self._forever = forever

    def concerns(self, target: object) -> bool:
        if isinstance(target, int):
            target = _name(target)
        return isinstance(target, (str, os.PathLike)) and str(target).startswith(self._folder)

    def call(self, name: str, real: Callable[..., Any], *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        if not self.concerns(arguments[0]):
            return real(*arguments, **named)
        self.calls.append(name)
        failing = len(self.calls) == self._fails_at or (self._forever and len(self.calls) > self._fails_at)
        if failing:
            if name == "write" and len(self.calls) == self._fails_at and len(arguments[1]) > 1:
                # A failing write has often written something.
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            raise self._failure()
        before = _name(arguments[0])
        result = real(*arguments, **named)
        if name == "fsync" and Path(before).is_file():
            self._flushed[before] = Path(before).stat().st_size
        elif name in ("replace", "rename") and before in self._flushed:
            self._flushed[_name(arguments[1])] = self._flushed.pop(before)
        return result

    def lose_what_was_not_flushed(self) -> None:
        """What a power cut does: of each file only what was flushed is sure to be there."""
        for path in Path(self._folder).rglob("*"):
            if path.is_file() and path.stat().st_size > self._flushed.get(str(path), 0):
                os.truncate(path, self._flushed.get(str(path), 0))


def _name(target: object) -> str:
    return str(Path(f"/proc/self/fd/{target}").readlink() if isinstance(target, int) else target)


@contextmanager
def failing_disk(
    folder: Path, fails_at: int, failure: Callable[[], BaseException], *, forever: bool = False
) -> Iterator[Disk]:
    disk = Disk(folder, fails_at, failure, forever=forever)
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            real = getattr(os, name)
            patch.setattr(os, name, lambda *a, _name=name, _real=real, **k: disk.call(_name, _real, *a, **k))
        yield disk
