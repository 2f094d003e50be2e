"""What operating systems do differently: locks, owners, permissions, signals, limits, processes.

The only module with calls that not every system has, each beside its counterpart. Only POSIX systems were ever tried.
"""

import errno
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    import subprocess

if sys.platform == "win32":
    import ctypes
    import msvcrt
else:
    import fcntl
    import pwd
    import resource

CLOSE_ON_EXEC: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
FOLDER: Final = getattr(os, "O_DIRECTORY", 0)
NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)
"""Flags of `os.open`; 0 where the system has none."""
ENDING_SIGNALS: Final = tuple(
    number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)
"""The signals that ask a process to end, besides Ctrl-C."""
TAKEN: Final = (errno.EACCES, errno.EDEADLK) if sys.platform == "win32" else (errno.EWOULDBLOCK, errno.EAGAIN)
"""What the system says of a lock that another process has."""
NICENESS: Final = 10
"""How far a process in the background stands behind others, from 0 to 19: a tenth of their time if all are busy."""
PRIVATE: Final = 0o077
"""The permissions of the group and of others; a private file has none of them."""
MALLOC_SETTINGS: Final = ((-8, 2), (-3, 256 * 1024), (-1, 1024 * 1024))
"""Of glibc: M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD, with their values."""


class Account(Protocol):
    """A user of this machine."""

    @property
    def pw_name(self) -> str:
        """The name of the user."""
        ...

    @property
    def pw_gid(self) -> int:
        """The number of the user's group."""
        ...

    @property
    def pw_uid(self) -> int:
        """The number of the user."""
        ...

    @property
    def pw_shell(self) -> str:
        """What a login starts."""
        ...


def lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file for this process, until it is closed; False if another process has it and we do not wait."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno not in TAKEN:
            raise
        return False
    return True


def user_id() -> int:
    """The number of the user that we run as; -1 on Windows, which has none."""
    return -1 if sys.platform == "win32" else os.geteuid()


def is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to us. On Windows, what is in our profile does."""
    return sys.platform == "win32" or status.st_uid == os.geteuid()


def is_open_to_others(status: os.stat_result) -> bool:
    """Whether other users have any access to a file. On Windows the folder of the profile keeps them out."""
    return sys.platform != "win32" and bool(status.st_mode & PRIVATE)


def set_mode(descriptor: int, mode: int) -> None:
    """Set the permissions of an open file. Windows inherits them from the folder."""
    if sys.platform != "win32":
        os.fchmod(descriptor, mode)


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that created, renamed and removed names survive a crash. Windows opens no folders."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | CLOSE_ON_EXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def end_process(pid: int, *, at_once: bool) -> None:
    """Ask a process to quit, or end it `at_once`, whatever it does. One that is gone or not ours is left alone."""
    number = getattr(signal, "SIGKILL" if at_once else "SIGQUIT", signal.SIGTERM)
    with suppress(OSError):
        os.kill(pid, number)


def process_exists(pid: int) -> bool:
    """Whether there is a process with this number."""
    if sys.platform == "win32":  # where signal 0 is no question but Ctrl-C
        handle = ctypes.windll.kernel32.OpenProcess(0x1000, False, pid)
        if handle:
            ctypes.windll.kernel32.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # it belongs to another user, so it is alive
    except (OSError, OverflowError):
        return False
    return True


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def give_way() -> None:
    """Let other processes go first where there is not enough time for all."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)


def user_name() -> str:
    """The name of the user that we run as; empty if the system knows none."""
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "")
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def powerless_user() -> Account | None:
    """A user that owns no files of people, for a program that refuses to run as root; None if there is none."""
    if sys.platform == "win32":
        return None
    known = {one.pw_name: one for one in pwd.getpwall()}
    return next((known[name] for name in ("postgres", "nobody") if name in known), None)


def accounts() -> Iterable[Account]:
    """The users of this machine, as far as it says."""
    return () if sys.platform == "win32" else pwd.getpwall()


def room_for_files(wanted: Iterable[int]) -> int | None:
    """How many files we may have open, after raising the limit to the first of `wanted` that works; None: no limit."""
    if sys.platform == "win32":
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for number in wanted:
        if soft != resource.RLIM_INFINITY and soft < number:
            most = number if hard == resource.RLIM_INFINITY else min(number, hard)
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (max(most, soft), hard))
                break
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def return_freed_memory() -> None:
    """Have the C library give freed memory back to the system, for a process that runs for hours.

    By itself glibc keeps a heap for each thread, and what one thread has freed no other can use. Call it before there
    are threads. Other C libraries return memory by themselves, or have no such settings.
    """
    if sys.platform != "linux":
        return
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        for setting, value in MALLOC_SETTINGS:
            library.mallopt(setting, value)


def restrain_child_of_server(descriptor: int, process: int, memory: int) -> None:
    """Limit the memory of a process, and let others go first, if we may and if it is a child of the server at the other
    end of a Unix socket. Elsewhere the number may be that of any process: on another machine, or in another container.
    """
    if sys.platform != "linux":
        return
    import socket
    import struct

    with suppress(OSError, ValueError, IndexError), socket.socket(fileno=os.dup(descriptor)) as connection:
        if connection.family == socket.AF_UNIX:
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            server, owner, group = struct.unpack("3i", peer)
            stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
            if server and int(stat.rpartition(")")[2].split()[1]) == server:
                _restrain(process, memory, owner, group)


def _restrain(process: int, memory: int, owner: int, group: int) -> None:
    """Only the owner of a process may do so in most containers, not even root."""
    if owner == user_id():
        resource.prlimit(process, resource.RLIMIT_DATA, (memory, memory))
        os.setpriority(os.PRIO_PROCESS, process, NICENESS)
    elif user_id() == 0:
        import subprocess

        words = ["sh", "-c", 'prlimit --pid="$1" --data="$2"; renice -n "$3" -p "$1"', "sh"]
        subprocess.run(  # noqa: S603
            [*words, str(process), str(memory), str(NICENESS)],
            check=False, capture_output=True, user=owner, group=group, extra_groups=(),
        )  # fmt: skip


def free_files(folder: Path) -> int | None:
    """How many more files the disk of a folder has room for; None if it sets no limit, or does not say."""
    if sys.platform == "win32":
        return None
    found = os.statvfs(folder)
    return found.f_favail if found.f_files else None


def start_detached(words: Iterable[str], **options: Any) -> "subprocess.Popen[bytes]":  # noqa: ANN401 - of Popen
    """Start a program that outlives this process and its terminal."""
    import subprocess

    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
    if sys.platform == "win32":
        quiet["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    else:
        quiet["start_new_session"] = True
    return subprocess.Popen(list(words), **quiet)  # noqa: S603


def suspend() -> None:
    """Stop this process as Ctrl-Z does, until it is continued. Windows has no such thing."""
    if sys.platform != "win32":
        signal.raise_signal(signal.SIGTSTP)
