"""strace around a child: make one of its system calls fail, or write down what it does to the disk.

strace counts the calls of each thread by itself, so the third `openat` that fails is the third of every thread that
makes so many.
"""

import re
import shutil
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.faults.processes import Child

FAILING: Final = (
    "openat", "read", "pread64", "write", "pwrite64", "writev", "fsync", "fdatasync", "ftruncate", "truncate",
    "rename", "renameat", "renameat2", "link", "unlink", "unlinkat", "mkdir", "rmdir", "chmod", "fchmod", "flock",
    "fcntl", "lseek", "getdents64", "newfstatat", "fstat", "stat", "lstat", "statx", "access", "readlink", "mmap",
    "sendfile", "copy_file_range", "fallocate", "inotify_add_watch",
)  # fmt: skip
"""The calls that are made to fail: those that concern files. A failing `close` would leave its file open."""
CHANGING: Final = (
    "openat", "write", "pwrite64", "writev", "pwritev", "fsync", "fdatasync", "sync_file_range", "ftruncate",
    "truncate", "rename", "renameat", "renameat2", "link", "unlink", "unlinkat", "mkdir", "rmdir", "fallocate",
    "sendfile", "copy_file_range",
)  # fmt: skip
"""The calls that change what is on the disk, or make it lasting."""
LINE: Final = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)")
ATTACH_SECONDS: Final = 60.0


def is_there() -> bool:
    """Whether strace can be used here."""
    return shutil.which("strace") is not None


@dataclass(frozen=True)
class SystemCall:
    """One line of strace: a system call from its beginning to its end."""

    thread: int
    name: str
    text: str
    """Its arguments and its result, as strace writes them."""

    @property
    def was_injected(self) -> bool:
        """Whether it was made to fail."""
        return "(INJECTED)" in self.text

    @property
    def failed(self) -> bool:
        """Whether it did nothing."""
        return " = -1 " in self.text[-120:] or self.text.endswith("= ?")


class Trace:
    """strace, from the moment that a child begins."""

    def __init__(self, child: Child, log: Path, *options: str) -> None:
        self.log = log
        log.unlink(missing_ok=True)
        arguments = ["strace", "-f", "-qq", "-y", "-o", str(log), *options, "-p", str(child.pid)]
        self._process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + ATTACH_SECONDS
        while not _is_traced(child.pid):
            if self._process.poll() is not None or time.monotonic() > deadline:
                child.signal(9)
                errors = self._process.stderr.read().decode() if self._process.stderr else ""
                raise RuntimeError(f"strace cannot look at a process here: {errors}")
            time.sleep(0.001)
        child.go()

    def calls(self) -> list[SystemCall]:
        """What the child did, in the order in which the calls ended. For when it has ended."""
        self._process.wait(60)
        if self._process.stderr:
            self._process.stderr.close()
        return list(_calls(self.log.read_text(errors="replace").splitlines()))


def inject(child: Child, log: Path, call: str, number: int, error: str, *, forever: bool) -> Trace:
    """Let the n-th of these calls in each thread fail, or all from that one on."""
    when = f"{number}+" if forever else str(number)
    return Trace(child, log, "-s", "0", "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}")


def points(calls: list[SystemCall], below: Path) -> list[tuple[str, int]]:
    """Each call that concerns files below a folder, by its name and number; in any thread."""
    numbers: dict[tuple[int, str], int] = Counter()
    found: dict[str, set[int]] = defaultdict(set)
    for call in calls:
        numbers[call.thread, call.name] += 1
        if str(below) in call.text:
            found[call.name].add(numbers[call.thread, call.name])
    return [(name, number) for name in sorted(found) for number in sorted(found[name])]


def _calls(lines: list[str]) -> Iterator[SystemCall]:
    begun: dict[int, tuple[str, str]] = {}
    for line in lines:
        found = LINE.match(line)
        if not found:
            continue
        thread, name = int(found[1]), found[2]
        rest = line[found.end() :]
        if rest.endswith("<unfinished ...>"):
            begun[thread] = (name, rest.removesuffix("<unfinished ...>"))
        elif "resumed>" in rest[:12]:
            before = begun.pop(thread, (name, ""))[1]
            yield SystemCall(thread, name, before + rest.partition("resumed>")[2])
        elif rest.startswith("("):
            yield SystemCall(thread, name, rest)


def _is_traced(pid: int) -> bool:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("TracerPid:"):
            return line.split()[1] != "0"
    return False
