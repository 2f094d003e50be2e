"""Child processes, forked from this one so that nothing has to be imported again, and what became of them.

Everything that opens a library runs in a child: a fault may end it in any way, and the engines start threads, after
which a process can no longer be forked.
"""

import importlib
import os
import pickle
import pkgutil
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import backscroll
from backscroll.cli.main import run as run_command
from backscroll.errors import INTERRUPTED

PATIENCE: Final = 60.0
"""Seconds after which a child is taken to hang."""
GO: Final = signal.SIGUSR1
PR_SET_PTRACER: Final = 0x59616D61
LEFT_OUT: Final = ("backscroll.mcp", "backscroll.web", "backscroll.plugin")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    """Its exit code; negative for the signal that ended it."""
    output: str
    errors: str
    hung: bool = False

    @property
    def said(self) -> str:
        """The first line of its output, for a report."""
        return next(iter(self.errors.strip().splitlines()), "nothing")[:200]

    def problem(self, allowed: Sequence[int] = (0, 1, 2, 3, 4), *, is_mute: bool = False) -> str | None:
        """What is wrong with how it ended; `is_mute` if it could not write any output."""
        if self.hung:
            return "it hung"
        if self.code < 0:
            return f"it was ended by signal {-self.code}: {self.errors[-300:]}"
        if is_mute:
            return None
        if "Traceback (most recent call last)" in self.errors:
            return "a traceback: " + self.errors.strip().splitlines()[-1][:300]
        if self.code not in allowed:
            return f"exit code {self.code}: {self.said}"
        if self.code not in (0, INTERRUPTED) and "backscroll: " not in self.errors:
            return f"exit code {self.code} without a word"
        return None


def import_everything() -> None:
    """Import what commands import when they need it, so that children find it there."""
    for module in pkgutil.walk_packages(backscroll.__path__, "backscroll."):
        if not module.name.startswith(LEFT_OUT) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("encodings.idna", "apsw", "tantivy", "watchfiles", "zstandard"):
        importlib.import_module(name)


class Child:
    """A process that does some work, with its output in files."""

    def __init__(self, work: Callable[[], int], folder: Path, *, waits: bool = False) -> None:
        """With `waits` it begins when `go` is called."""
        self._output, self._errors = folder / "stdout", folder / "stderr"
        sys.stdout.flush()
        sys.stderr.flush()
        if waits:
            signal.pthread_sigmask(signal.SIG_BLOCK, [GO])
        self.pid = os.fork()
        if self.pid == 0:
            _work(work, self._output, self._errors, waits=waits)
        if waits:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [GO])

    def go(self) -> None:
        """Begin."""
        os.kill(self.pid, GO)

    def signal(self, number: int) -> None:
        """Send it a signal; it may have ended already."""
        os.kill(self.pid, number)  # it is our child and not waited for yet: the number is still its own

    def wait(self, seconds: float = PATIENCE) -> Ended:
        """Wait until it has ended; one that takes too long is killed."""
        descriptor = os.pidfd_open(self.pid)
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            hung = not poll.poll(seconds * 1000)
        finally:
            os.close(descriptor)
        if hung:
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        output, errors = (path.read_text(errors="replace") for path in (self._output, self._errors))
        return Ended(os.waitstatus_to_exitcode(status), output, errors, hung)

    def lines(self) -> int:
        """The number of lines it has written so far."""
        try:
            return self._errors.read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0

    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def is_watching(self) -> bool:
        """Whether the system notifies it of file changes."""
        try:
            return any("inotify" in str(path.readlink()) for path in Path(f"/proc/{self.pid}/fd").iterdir())
        except OSError:
            return False

    def wait_until(self, condition: Callable[[], bool], seconds: float) -> None:
        """Wait until something is true, it has ended, or the time is over."""
        deadline = time.monotonic() + seconds
        while not condition() and self.is_running() and time.monotonic() < deadline:
            time.sleep(0.002)


def _work(work: Callable[[], int], output: Path, errors: Path, *, waits: bool) -> None:
    code = 70
    sys.dont_write_bytecode = True  # an import must make no system call of its own fail, or count as one
    try:
        for descriptor, path in ((0, Path(os.devnull)), (1, output), (2, errors)):
            flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            opened = os.open(path, flags, 0o600)
            os.dup2(opened, descriptor)
            os.close(opened)
        if waits:
            _may_be_traced()
            signal.sigwait([GO])
        try:
            code = work()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException:
            code = 1
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        threading._shutdown()  # type: ignore[attr-defined]
    finally:
        os._exit(code)


def _may_be_traced() -> None:
    """Some systems let only a parent trace a process; strace is our sister."""
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)


def command(arguments: Sequence[str]) -> Callable[[], int]:
    """A command of backscroll, as work for a child."""
    return lambda: run_command(list(arguments))


def answer_of(question: Callable[[], Any], folder: Path) -> tuple[Any, Ended]:
    """The result of a function that runs in a child; None if the child ended before it returned."""
    file = folder / "answer"
    file.unlink(missing_ok=True)

    def work() -> int:
        file.write_bytes(pickle.dumps(question()))
        return 0

    ended = Child(work, folder).wait()
    return (pickle.loads(file.read_bytes()) if ended.code == 0 else None), ended
