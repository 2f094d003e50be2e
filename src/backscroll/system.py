"""Differences between operating systems: locks, owners, permissions, signals, limits, processes.

The only module with calls that not every system has, each beside its counterpart. Only POSIX systems were ever tested.
"""

import errno
import hashlib
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
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
"""Errors of the system for a lock that another process has."""
NICENESS: Final = 10
"""Nice value of a background process, from 0 to 19: it gets a tenth of the others' time if all are busy."""
SYSTEM_IDS: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hostid")
"""Files with the id that a system was given when it was installed."""
CONTAINER_SIGNS: Final = ("/.dockerenv", "/run/.containerenv")
CONTAINER_VARIABLES: Final = frozenset({"container", "KUBERNETES_SERVICE_HOST"})
"""The files and variables that identify a container."""
PRIVATE: Final = 0o077
"""The permissions of the group and of others; a private file has none of them."""
OTHERS_WRITE: Final = 0o022
MALLOC_SETTINGS: Final = ((-8, 2), (-3, 256 * 1024), (-1, 1024 * 1024))
"""Settings of glibc, M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD, with their values."""


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
        """The program that a login starts."""
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
    """Return the number of the user that we run as; -1 on Windows, which has none."""
    return -1 if sys.platform == "win32" else os.geteuid()


def is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to us. On Windows, files in our profile do."""
    return sys.platform == "win32" or status.st_uid == os.geteuid()


def is_open_to_others(status: os.stat_result) -> bool:
    """Whether other users have any access to a file. On Windows the folder of the profile keeps them out."""
    return sys.platform != "win32" and bool(status.st_mode & PRIVATE)


def is_open_to_change(status: os.stat_result) -> bool:
    """Whether other users may write to a file or folder. On Windows the folder of the profile keeps them out."""
    return sys.platform != "win32" and bool(status.st_mode & OTHERS_WRITE)


def has_groups() -> bool:
    """Whether files belong to groups of users."""
    return sys.platform != "win32"


def set_mode(descriptor: int, mode: int) -> None:
    """Set the permissions of an open file. Windows inherits them from the folder."""
    if sys.platform != "win32":
        os.fchmod(descriptor, mode)


def set_group(what: int | Path, group: int) -> None:
    """Give an open file, or the file at a path, to a group, if this user may."""
    if sys.platform != "win32":
        with suppress(OSError):  # not a member of the group
            os.chown(what, -1, group)


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
    """Ask a process to quit, or end it `at_once`, whatever it does. Ignore a process that is gone or not ours."""
    number = getattr(signal, "SIGKILL" if at_once else "SIGQUIT", signal.SIGTERM)
    with suppress(OSError):
        os.kill(pid, number)


def process_exists(pid: int) -> bool:
    """Whether there is a process with this number."""
    if sys.platform == "win32":  # where signal 0 is Ctrl-C, not a check
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


@cache
def hardware_id() -> str | None:
    """Return an id of this computer that survives a change of its name; None if there is none.

    It is the id of the installed system, hashed, because it should not leave the machine. A container has no lasting
    id: its id is that of an image, or differs at every start.
    """
    number = _system_id()
    return hashlib.sha256(b"backscroll\0" + number).hexdigest()[:16] if number else None


def _system_id() -> bytes | None:
    try:
        if sys.platform == "win32":
            import winreg

            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SOFTWARE\Microsoft\Cryptography") as key:
                return str(winreg.QueryValueEx(key, "MachineGuid")[0]).encode()
        if sys.platform == "darwin":
            import ctypes

            number, wait = ctypes.create_string_buffer(16), (ctypes.c_long * 2)(1, 0)
            return number.raw if ctypes.CDLL(None).gethostuuid(number, wait) == 0 else None
        if any(Path(sign).exists() for sign in CONTAINER_SIGNS) or not CONTAINER_VARIABLES.isdisjoint(os.environ):
            return None
    except (OSError, AttributeError):
        return None
    for path in SYSTEM_IDS:
        with suppress(OSError):
            number_there = Path(path).read_bytes().strip()
            if number_there and number_there != b"uninitialized":
                return number_there
    return None


def usable_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def give_way() -> None:
    """Let other processes go first if there is not enough CPU time for all."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)


def user_name() -> str:
    """Return the name of the user that we run as; empty if the system knows none."""
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "")
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def powerless_user() -> Account | None:
    """Return a user that owns no files of people, for a program that refuses to run as root; None if there is none."""
    if sys.platform == "win32":
        return None
    known = {account.pw_name: account for account in pwd.getpwall()}
    return next((known[name] for name in ("postgres", "nobody") if name in known), None)


def accounts() -> Iterable[Account]:
    """Return the users of this machine, as far as the system lists them."""
    return () if sys.platform == "win32" else pwd.getpwall()


def room_for_files(wanted: Iterable[int]) -> int | None:
    """Raise the limit of open files to the first of `wanted` that works; return the limit, None without one."""
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

    By default glibc keeps a heap for each thread, and no thread can use memory that another has freed. Call this before
    starting threads. Other C libraries return memory by themselves, or have no such settings.
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
    """Limit a process as its owner: in most containers no other user may, not even root."""
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
    """Return the number of files the disk of a folder still has room for; None without a known limit."""
    if sys.platform == "win32":
        return None
    status = os.statvfs(folder)
    return status.f_favail if status.f_files else None


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
    """Stop this process as Ctrl-Z does, until it is continued. Do nothing on Windows."""
    if sys.platform != "win32":
        signal.raise_signal(signal.SIGTSTP)
