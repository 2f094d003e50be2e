"""The programs that search is compared with, each installed separately and kept away from your home.

    python -m bench.peers [--cache DIR]

Run by itself it installs them and says which versions there are; `bench.search` drives them. Every command has a time
limit, an empty HOME and a data folder of its own, and is told not to report its use.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlencode

DEFAULT_CACHE: Final = Path(tempfile.gettempdir()) / "backscroll-bench-peers"
INSTALL_LIMIT: Final = 300.0
SYNC_LIMIT: Final = 1800.0
QUERY_LIMIT: Final = 60.0
HITS: Final = 20


Answer = dict[str, Any]


class UnableError(Exception):
    """A peer cannot do that here; the message says why."""


@dataclass(frozen=True)
class Cost:
    """The cost of a command: wall-clock seconds, CPU seconds, and the bytes of its largest process."""

    wall: float
    cpu: float
    memory: int

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.wall + other.wall, self.cpu + other.cpu, max(self.memory, other.memory))


@dataclass(frozen=True)
class PeerProject:
    """A project by the names that the peers have for it."""

    folder: str
    """Its folder below `projects`."""
    cwd: str


@dataclass(frozen=True)
class PeerQuery:
    """One question, before it is put into the words of any program."""

    form: Literal["word", "any", "phrase", "prefix"]
    words: tuple[str, ...]
    project: PeerProject | None = None
    since: str | None = None
    until: str | None = None
    limit: int = HITS


Search = Callable[[PeerQuery], list[str]]
"""Runs a query and returns the ids of the matching sessions, best first; `UnableError` if it cannot be run."""


def isolated(home: Path, **more: str) -> dict[str, str]:
    """The environment of a command that must not see who runs it."""
    quiet = {"DO_NOT_TRACK": "1", "NO_COLOR": "1", "LANG": "C.UTF-8", "TZ": "UTC"}
    return {"PATH": os.defpath, "HOME": str(home), **quiet, **more}


# A new process begins with the memory of the one that started it, and its peak is never less: so a small one starts it.
LAUNCH: Final = """
import json, os, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
wall = time.perf_counter() - started
# Linux counts memory in kilobytes, macOS in bytes.
memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
with open(sys.argv[1], "w") as file:
    json.dump([wall, usage.ru_utime + usage.ru_stime, memory, os.waitstatus_to_exitcode(status)], file)
"""


def run(command: Sequence[object], environment: Mapping[str, str], limit: float) -> tuple[Cost, int, str]:
    """Run a command to its end: what it took with all its children, its exit code and what it wrote to stdout.

    Where it failed and wrote nothing there, what it wrote to stderr.
    """
    words = [str(word) for word in command]
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        noted, output, errors = (Path(name) / part for part in ("cost", "output", "errors"))
        with output.open("wb") as to_output, errors.open("wb") as to_errors:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", LAUNCH, str(noted), *words],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=to_output,
                stderr=to_errors,
                start_new_session=True,
            )
            try:
                process.wait(limit)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise UnableError(f"{Path(words[0]).name} took longer than {limit:.0f} s") from error
                raise
        if not noted.exists():
            raise UnableError(f"{Path(words[0]).name} could not be started")
        wall, cpu, memory, code = json.loads(noted.read_text())
        text = output.read_text(errors="replace") or (errors.read_text(errors="replace") if code else "")
    return Cost(wall, cpu, memory), code, text


def succeed(command: Sequence[object], environment: Mapping[str, str], limit: float) -> tuple[Cost, str]:
    """Like `run`, for a command that has to succeed."""
    cost, code, text = run(command, environment, limit)
    if code:
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
        raise UnableError(f"{Path(str(command[0])).name} ended with {code}: {last[:200]}")
    return cost, text


class Server:
    """A server that we started, on a port of this machine; it ends with the `with` block."""

    def __init__(self, command: Sequence[object], environment: Mapping[str, str], port: int, ready: str) -> None:
        self.port = port
        self._started = time.perf_counter()
        self._process = subprocess.Popen(
            [str(word) for word in command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=QUERY_LIMIT)
        try:
            self._wait(ready)
        except BaseException:
            self.__exit__()
            raise

    def _wait(self, ready: str) -> None:
        while True:
            try:
                self.get(ready)
                return
            except (OSError, http.client.HTTPException, UnableError) as error:
                self._connection.close()
                if self._process.poll() is not None:
                    raise UnableError(f"the server ended with {self._process.returncode}") from error
                if time.perf_counter() - self._started > SYNC_LIMIT:
                    raise UnableError(f"the server was not ready after {SYNC_LIMIT:.0f} s") from error
                time.sleep(0.02)

    def get(self, path: str, **parameters: str | int) -> Answer:
        """The JSON object that the server answers with. The connection is kept where the server keeps it."""
        target = f"{path}?{urlencode(parameters)}" if parameters else path
        self._connection.request("GET", target)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise UnableError(f"{path} answered {answer.status}: {body[:200].decode(errors='replace')}")
        found: Answer = json.loads(body)
        return found

    def cost(self) -> Cost:
        """Its cost so far, including children that have ended."""
        wall = time.perf_counter() - self._started
        folder = Path("/proc") / str(self._process.pid)
        try:
            times = (folder / "stat").read_text().rpartition(")")[2].split()[11:15]
            peak = re.search(r"VmHWM:\s*(\d+) kB", (folder / "status").read_text())
        except OSError as error:
            raise UnableError("the cost of a server is read from /proc, which is not here") from error
        return Cost(wall, sum(map(int, times)) / os.sysconf("SC_CLK_TCK"), int(peak[1]) * 1024 if peak else 0)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
                self._process.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def free_port() -> int:
    """A free port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def size_of(*paths: Path) -> int:
    """The bytes of these files, and of all files below these folders."""
    files = (file for path in paths for file in ([path] if path.is_file() else path.rglob("*")))
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


class Peer(ABC):
    """A program that keeps an index of Claude Code's sessions and searches it."""

    name: str
    program: str
    driven: str
    """How it is driven here, and what to know about its numbers."""

    def __init__(self, cache: Path) -> None:
        self._venv = cache / self.name
        self.version = ""
        self.home = self.folder = Path()

    def install(self) -> None:
        """Have it in a venv of its own, from the cache or from the package index."""
        if not self._executable.exists():
            shutil.rmtree(self._venv, ignore_errors=True)
            succeed([sys.executable, "-m", "venv", self._venv], os.environ, INSTALL_LIMIT)
            succeed([self._pip, "install", "-q", self.name], os.environ, INSTALL_LIMIT)
        _, shown = succeed([self._pip, "show", self.name], os.environ, INSTALL_LIMIT)
        self.version = next(line.split()[1] for line in shown.splitlines() if line.startswith("Version:"))

    def prepare(self, home: Path, folder: Path) -> None:
        """Let it see this home and nothing else; what it writes goes below `folder`."""
        self.home, self.folder = home, folder
        folder.mkdir(parents=True)

    @abstractmethod
    def sync(self) -> Cost:
        """Bring its index up to date, the first time or again."""

    @abstractmethod
    def index_bytes(self) -> int:
        """The size of its index on the disk."""

    def other_bytes(self) -> int:
        """The size of everything else that it has written."""
        return 0

    @abstractmethod
    def open(self) -> AbstractContextManager[dict[str, Search]]:
        """Its search interfaces by name, while this is open."""

    def ask(self, word: str) -> Cost:
        """A whole process that searches for one word."""
        raise UnableError(f"{self.name} has no command that searches ({word})")

    @property
    def _pip(self) -> Path:
        return self._venv / "bin" / "pip"

    @property
    def _executable(self) -> Path:
        return self._venv / "bin" / self.program


class AgentsView(Peer):
    """Go, SQLite with FTS5."""

    name = program = "agentsview"
    driven = (
        "`agentsview sync` without its daemon; `serve --no-sync`, then GET /api/v1/search (ranked, by session) and"
        " /api/v1/search/content (every source, sub-agents too: substring, and regex for OR and prefixes);"
        " `agentsview session search --json` while that server runs"
    )
    _api: Final = "/api/v1/search"

    def sync(self) -> Cost:
        return succeed([self._executable, "sync"], self._environment(AGENTSVIEW_NO_DAEMON="1"), SYNC_LIMIT)[0]

    def index_bytes(self) -> int:
        return size_of(*(self.folder / "data").glob("sessions.db*"))

    def ask(self, word: str) -> Cost:
        """Its command asks a server and refuses to read by itself: what both take, but not the server's start."""
        command = [self._executable, "session", "search", "--json", "--limit", str(HITS), word]
        with self._server() as server:
            time.sleep(2)  # it is still busy with itself when it first answers
            before = server.cost()
            asked, _ = succeed(command, self._environment(AGENTSVIEW_NO_DAEMON="1"), QUERY_LIMIT)
            return Cost(asked.wall, asked.cpu + server.cost().cpu - before.cpu, asked.memory)

    @contextmanager
    def open(self) -> Iterator[dict[str, Search]]:
        with self._server() as server:

            def ranked(query: PeerQuery) -> list[str]:
                if query.form in ("any", "prefix"):
                    raise UnableError("no OR and no prefixes here")
                answer = server.get(self._api, q=quoted(query), limit=query.limit, **self._filters(query))
                return [row["session_id"] for row in answer["results"]]

            def content(query: PeerQuery) -> list[str]:
                all_of_them = dict.fromkeys(("include_children", "include_automated", "include_one_shot"), "true")
                regex = {"any": rf"\b({'|'.join(query.words)})\b", "prefix": rf"\b{query.words[0]}"}.get(query.form)
                answer = server.get(
                    f"{self._api}/content",
                    pattern=regex or " ".join(query.words),
                    mode="regex" if regex else "substring",
                    limit=query.limit,
                    **all_of_them,
                    **self._filters(query),
                )
                return [row["session_id"] for row in answer["matches"]]

            yield {"agentsview /search": ranked, "agentsview /search/content": content}

    def _server(self) -> Server:
        port = free_port()
        command = [self._executable, "serve", "--no-sync", "--no-browser", "--port", str(port)]
        return Server(command, self._environment(), port, "/api/v1/sessions?limit=1")

    def _filters(self, query: PeerQuery) -> dict[str, str]:
        """Its project is the last part of the folder, in its own spelling."""
        found = {"date_from": query.since, "date_to": query.until}
        if query.project:
            found["project"] = query.project.cwd.rpartition("/")[2].replace("-", "_")
        return {name: value for name, value in found.items() if value}

    def _environment(self, **more: str) -> dict[str, str]:
        return isolated(
            self.folder / "home",
            AGENTSVIEW_DATA_DIR=str(self.folder / "data"),
            CLAUDE_PROJECTS_DIR=str(self.home / "projects"),
            AGENTSVIEW_TELEMETRY_ENABLED="0",
            AGENTSVIEW_DISABLE_UPDATE_CHECK="1",
            **more,
        )


class ClaudeCodeLog(Peer):
    """Python, SQLite with FTS5. It writes next to the sessions, so it gets a copy of them."""

    name = program = "claude-code-log"
    driven = (
        "`claude-code-log --all-projects` (which also renders its HTML pages, on all cores: there is no way to fill its"
        " cache without) and then `serve --no-convert` until the search index is ready; GET /api/search?fields=all"
        " (its own default leaves tool results out). Every word is a prefix; no OR"
    )

    def prepare(self, home: Path, folder: Path) -> None:
        super().prepare(home, folder)
        shutil.copytree(home / "projects", self._projects)

    def sync(self) -> Cost:
        command = [self._executable, "--all-projects", "--projects-dir", self._projects]
        converted, _ = succeed(command, self._environment, SYNC_LIMIT)
        with self._server() as server:
            return converted + server.cost()

    def index_bytes(self) -> int:
        return size_of(*self._projects.glob("claude-code-log-cache.db*"))

    def other_bytes(self) -> int:
        return size_of(*self._projects.rglob("*.html"))

    @contextmanager
    def open(self) -> Iterator[dict[str, Search]]:
        with self._server() as server:

            def search(query: PeerQuery) -> list[str]:
                if query.form == "any":
                    raise UnableError("no OR here")
                filters = {"from": query.since, "to": query.until}
                if query.project:
                    filters["project"] = query.project.folder
                chosen = {name: value for name, value in filters.items() if value}
                answer = server.get("/api/search", q=quoted(query), fields="all", limit=query.limit, **chosen)
                return [row["session_id"] or "" for row in answer["results"]]

            yield {"claude-code-log /api/search": search}

    def _server(self) -> Server:
        port = free_port()
        command = [self._executable, "serve", "--no-convert", "--port", str(port), "--projects-dir", self._projects]
        return Server(command, self._environment, port, "/api/ping")

    @property
    def _projects(self) -> Path:
        return self.folder / ".claude" / "projects"

    @property
    def _environment(self) -> dict[str, str]:
        return isolated(self.folder)


class FastResume(Peer):
    """Rust, tantivy. A finder of sessions: it indexes titles, prompts and answers of main sessions, one text each."""

    name = "fast-resume"
    program = "fr"
    driven = (
        "`fr --json --limit 1` (refreshes its index), `fr --no-refresh --json WORDS`: a process for each query, for it"
        " has no server. It keeps only what was said in main sessions: compare its cost with that in mind"
    )

    def prepare(self, home: Path, folder: Path) -> None:
        super().prepare(home, folder)
        (folder / ".claude").mkdir()
        (folder / ".claude" / "projects").symlink_to(home / "projects")

    def sync(self) -> Cost:
        return succeed([self._executable, "--json", "--limit", "1"], isolated(self.folder), SYNC_LIMIT)[0]

    def index_bytes(self) -> int:
        return size_of(self.folder / ".cache")

    def ask(self, word: str) -> Cost:
        return succeed(self._command(word, HITS), isolated(self.folder), QUERY_LIMIT)[0]

    def _command(self, text: str, limit: int) -> list[str]:
        return [str(self._executable), "--no-refresh", "--json", "--limit", str(limit), "--", text]

    @contextmanager
    def open(self) -> Iterator[dict[str, Search]]:
        environment = isolated(self.folder)

        def search(query: PeerQuery) -> list[str]:
            if query.form != "word" or query.project or query.since or query.until:
                raise UnableError("only words here")
            command = self._command(query.words[0], query.limit)
            # Started by this process and by no smaller one, which would be counted: the memory is not asked for.
            done = subprocess.run(command, env=environment, capture_output=True, timeout=QUERY_LIMIT)
            if done.returncode:
                raise UnableError(f"{self.program} ended with {done.returncode}")
            return [row["id"] for row in json.loads(done.stdout)["sessions"]]

        yield {"fast-resume process": search}


def quoted(query: PeerQuery) -> str:
    """The query as search boxes write it."""
    if query.form == "any":
        return " OR ".join(query.words)
    text = " ".join(query.words)
    return {"word": text, "phrase": f'"{text}"', "prefix": f"{text}*"}[query.form]


PEERS: Final[tuple[type[Peer], ...]] = (AgentsView, ClaudeCodeLog, FastResume)


def install_peers(cache: Path, names: Sequence[str]) -> tuple[list[Peer], dict[str, str]]:
    """Those that could be installed, and why the others could not."""
    installed, left_out = [], {}
    for peer in (kind(cache) for kind in PEERS if kind.name in names):
        try:
            peer.install()
            installed.append(peer)
        except UnableError as error:
            left_out[peer.name] = str(error)
    return installed, left_out


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if one could not be installed."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description="Install the peers of bench.search.")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="the folder for their venvs")
    options = parser.parse_args(arguments)
    installed, left_out = install_peers(options.cache, [kind.name for kind in PEERS])
    for peer in installed:
        print(f"{peer.name} {peer.version}\n  {peer.driven}")
    for name, reason in left_out.items():
        print(f"{name} is left out: {reason}")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
