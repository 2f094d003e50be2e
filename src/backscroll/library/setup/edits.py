"""Planned changes of files and system commands, shown first and then carried out."""

import difflib
import io
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backscroll.errors import BackscrollError, Busy, StorageError
from backscroll.files.opening import read_small
from backscroll.system import set_mode, sync_folder

Words = tuple[str, ...]


@dataclass(frozen=True)
class Edit:
    """The old and the new content of a file; None for no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def is_of_read_only(self) -> bool:
        """Whether the file exists and no one may write to it: made so by a program or the user."""
        return self.before is not None and not self.path.stat().st_mode & WRITABLE

    @property
    def diff(self) -> str:
        """The changes as `diff -u` shows them; empty if there are none."""
        old, new = (os.devnull if side is None else str(self.path) for side in (self.before, self.after))
        return "".join(difflib.unified_diff(_lines(self.before), _lines(self.after), old, new))


@dataclass(frozen=True)
class InstallPlan:
    """System commands, edits of files, and commands that make them effective."""

    edits: tuple[Edit, ...] = ()
    first: tuple[Words, ...] = ()
    then: tuple[Words, ...] = ()
    cron: str = ""
    """The line to paste if there is nothing to install into."""
    note: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to change."""
        return not (self.edits or self.first or self.then)

    @property
    def diff(self) -> str:
        """The changes of all files, as a diff."""
        return "".join(edit.diff for edit in self.edits)

    @property
    def read_only(self) -> list[Path]:
        """The files that would change although no one may write to them."""
        return [edit.path for edit in self.edits if edit.is_of_read_only]

    @property
    def summary(self) -> str:
        """The summary shown to the user first."""
        return self.diff

    def carry_out(self) -> list[Words]:
        """Carry out the plan. Returns the commands whose program is not installed."""
        return carry_out(self)


def carry_out(plan: InstallPlan) -> list[Words]:
    """Carry out the plan, and nothing else."""
    failed = list(_run(plan.first))
    for edit in plan.edits:
        apply(edit)
    failed += _run(plan.then)
    for words, reason in failed:
        if reason:
            hint = "everything else is done; run that command yourself"
            raise BackscrollError(f"`{shlex.join(words)}` failed: {reason}", hint)
    return [words for words, _ in failed]


def apply(edit: Edit) -> None:
    """Replace the file atomically, and only if it is unchanged since it was read."""
    try:
        _replace(edit)
    except OSError as error:
        hint = "check the permissions of the file and its folder, or make the change that is shown above yourself"
        raise StorageError(f"cannot write {edit.path}: {error.strerror or error}", hint) from error


def _replace(edit: Edit) -> None:
    if edit.after is None:
        _expect_unchanged(edit)
        edit.path.unlink()
        return
    edit.path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=edit.path.parent, prefix=f".{edit.path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            if edit.before is not None:
                set_mode(file.fileno(), edit.path.stat().st_mode & 0o7777)
            file.write(edit.after)
            file.flush()
            os.fsync(file.fileno())
        _expect_unchanged(edit)
        os.replace(name, edit.path)  # noqa: PTH105 - as the rest here
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_folder(edit.path.parent)


def _expect_unchanged(edit: Edit) -> None:
    if read_or_none(edit.path) != edit.before:
        raise Busy(f"{edit.path} was changed meanwhile by another program; it was left alone", "try again")


def _run(commands: Iterable[Words]) -> Iterator[tuple[Words, str]]:
    """Run all commands; yield those that failed with the reason, and those without a program."""
    for words in commands:
        if shutil.which(program_of(words)) is None:
            yield words, ""
            continue
        done = subprocess.run(  # noqa: S603
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, errors="replace"
        )
        if done.returncode:
            yield words, done.stderr.strip() or f"exit code {done.returncode}"


def program_of(words: Words) -> str:
    """Return the program of a command, after `env` and its variables."""
    return next((word for word in words if word not in ENVIRONMENT and "=" not in word), words[0])


def real(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return the edits that change the file."""
    return tuple(edit for edit in edits if edit.before != edit.after)


def read_or_none(path: Path) -> bytes | None:
    """Return the content of a small file; None if there is none."""
    try:
        return read_small(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _lines(data: bytes | None) -> list[str]:
    lines = list(io.StringIO((data or b"").decode("utf-8", "replace"), newline="\n"))
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n\\ No newline at end of file\n"
    return lines


WRITABLE: Final = 0o222
ENVIRONMENT: Final = ("env", "-u", "CLAUDE_CONFIG_DIR")
"""Words that may precede a program: the home it runs in."""
