"""Other processes on a library while it is followed: the viewer, an MCP server, and regular backups.

Each is a process as a user starts it, asked all the time by a thread here. Whatever is wrong with an answer is told to
`fail`; `sample` says what each takes of memory and descriptors.
"""

import http.client
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import quote, urlsplit

from backscroll.archive.archive import Archive
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.library.machine import read_machine

PAUSE: Final = 0.5
STREAM_SECONDS: Final = 5.0
PATIENCE: Final = 600
"""Seconds that an answer may take, however busy the machine is."""
Fail = Callable[[str], None]


def memory_of(pid: int) -> dict[str, int]:
    """In bytes: `VmRSS` is all, `RssAnon` without the pages of files."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    rows = (line.partition(":")[::2] for line in lines)
    return {name: int(value.split()[0]) * 1024 for name, value in rows if name in ("VmRSS", "RssAnon")}


def descriptors_of(pid: int) -> int:
    """How many it has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


class Companion:
    """A process that runs alongside, and a thread that sends it requests."""

    name = ""

    def __init__(self, home: Path, library: Path, arguments: Sequence[str], fail: Fail, queries: Sequence[str]) -> None:
        self.asked: Counter[str] = Counter()
        self._fail = fail
        self._queries = queries
        self._rng = Random(self.name)
        self._ends = threading.Event()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self.process = subprocess.Popen(
            [sys.executable, "-m", "backscroll", *arguments, "--home", str(home), "--library", str(library)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def sample(self) -> tuple[int, int, int]:
        """Memory, memory that is not of files, and descriptors."""
        memory = memory_of(self.process.pid)
        return memory["VmRSS"], memory["RssAnon"], descriptors_of(self.process.pid)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended by itself."""
        return self.process.poll() is None

    def stop(self) -> None:
        """End it, and look at how it ended."""
        self._ends.set()
        self._thread.join(PATIENCE)
        if not self.is_running:
            self._fail(f"the {self.name} ended by itself with {self.process.returncode}")
        elif self.process.stdin:
            self.process.stdin.close()
            if self.name == "viewer":
                self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._fail(f"the {self.name} did not end")
            self.process.kill()
            self.process.wait()
        self._errors.seek(0)
        errors = self._errors.read().decode("utf-8", "replace")
        if "Traceback" in errors:
            self._fail(f"the {self.name} wrote a traceback: {errors[-2000:]}")

    def _run(self) -> None:
        if self._tried(self.begin):
            while not self._ends.wait(PAUSE) and self.is_running:
                self._tried(self.ask)

    def _tried(self, step: Callable[[], None]) -> bool:
        try:
            step()
        except Exception as error:  # whatever it is, it is what we are looking for; the next question is still asked
            if not self._ends.is_set():
                self._fail(f"asking the {self.name}: {type(error).__name__}: {error}")
            return False
        return True

    def begin(self) -> None:
        """Get ready to ask."""

    def ask(self) -> None:
        """Ask once."""


class RunningViewer(Companion):
    """`backscroll open`, with requests for pages, the API and the event stream."""

    name = "viewer"

    def __init__(self, home: Path, library: Path, fail: Fail, queries: Sequence[str]) -> None:
        self._cookie = ""
        self._address = ""
        super().__init__(home, library, ("open", "--no-browser", "--json"), fail, queries)

    def begin(self) -> None:
        """Follow the link that it prints, which has a key where one is needed."""
        assert self.process.stdout is not None
        text = ""
        while True:
            text += self.process.stdout.readline()
            try:
                told = json.loads(text)
                break
            except ValueError:
                if not self.is_running:
                    raise
        self._address = urlsplit(told["url"]).netloc
        link = urlsplit(told["link"])
        response, _ = self._get(f"{link.path}?{link.query}" if link.query else link.path or "/")
        cookies = response.headers.get_all("set-cookie") or []
        self._cookie = "; ".join(cookie.partition(";")[0] for cookie in cookies)

    def ask(self) -> None:
        """One page, one answer, or a while of the stream."""
        kind = self._rng.choice(("list", "search", "api", "chat", "stats", "stream"))
        self.asked[kind] += 1
        query = quote(self._rng.choice(self._queries))
        if kind == "stream":
            self._listen()
            return
        address = {
            "list": "/", "search": f"/search?q={query}", "api": f"/api/v1/search?q={query}",
            "chat": "/api/v1/chats?limit=50", "stats": "/stats",
        }[kind]  # fmt: skip
        response, body = self._get(address)
        if response.status != 200:
            self._fail(f"the viewer answers {address} with {response.status}: {body[:200]!r}")
        elif kind == "chat" and (chats := json.loads(body)["chats"]):
            response, body = self._get(f"/chats/{self._rng.choice(chats)['id']}")
            if response.status not in (200, 404):  # a session may have gone since
                self._fail(f"the viewer answers for a chat with {response.status}: {body[:200]!r}")

    def _get(self, address: str) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection(self._address, timeout=PATIENCE)
        try:
            connection.request("GET", address, headers={"Cookie": self._cookie} if self._cookie else {})
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def _listen(self) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=PATIENCE)
        try:
            connection.request("GET", "/api/v1/events", headers={"Cookie": self._cookie} if self._cookie else {})
            response = connection.getresponse()
            if response.status != 200:
                self._fail(f"the viewer answers a stream with {response.status}")
            ends = time.monotonic() + STREAM_SECONDS
            while time.monotonic() < ends and response.readline():
                pass
        finally:
            connection.close()


class Memory(Companion):
    """`backscroll mcp` over standard input and output, with calls of its tools."""

    name = "mcp"

    def __init__(self, home: Path, library: Path, fail: Fail, queries: Sequence[str]) -> None:
        self._number = 0
        super().__init__(home, library, ("mcp",), fail, queries)

    def begin(self) -> None:
        """Greet it."""
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        self._call("initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self) -> None:
        """Call one tool."""
        query = self._rng.choice(self._queries)
        tool, arguments = self._rng.choice((
            ("search", {"query": query}), ("recall", {"question": f"what about the {query}?"}),
            ("stats", {"report": "usage"}), ("timeline", {"project": "*"}),
        ))  # fmt: skip
        self.asked[tool] += 1
        answer = self._call("tools/call", {"name": tool, "arguments": arguments})
        if "error" in answer or answer["result"].get("isError"):
            self._fail(f"the MCP server answers {tool} with {json.dumps(answer)[:300]}")

    def _call(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number:
                return answer
        raise EOFError("it closed its output")

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()


class Backups:
    """A backup every so often, and a comparison of what is kept with what is live."""

    def __init__(self, home: Path, library: Path, backup: Path, fail: Fail) -> None:
        self.done = 0
        self.compared = 0
        self._home, self._library, self._backup = home, library, backup
        self._fail = fail
        self._rng = Random("backups")

    def run(self, settled: float) -> None:
        """Back up, then compare some files that have not changed for `settled` seconds with both copies."""
        began = time.time()
        command = [sys.executable, "-m", "backscroll", "archive", "backup", str(self._backup), "--quiet"]
        where = ["--home", str(self._home), "--library", str(self._library)]
        ran = subprocess.run([*command, *where], capture_output=True, text=True, check=False)
        if ran.returncode == 4:
            return  # another process held it; the next one comes soon
        if ran.returncode:
            self._fail(f"a backup ended with {ran.returncode}: {ran.stderr[-500:]}")
            return
        self.done += 1
        files = [file for file in discover(Home(self._home)).files if file.modified_ns / 1e9 < began - settled]
        for name, folder in (("archive", self._library / "archive"), ("backup", self._backup)):
            self._compare(name, Archive(folder), [file.path for file in self._rng.sample(files, min(5, len(files)))])

    def _compare(self, name: str, archive: Archive, paths: Sequence[Path]) -> None:
        machine = read_machine(self._library).id
        held = {file.source: file for file in archive.files.values() if file.machine == machine}
        for path in paths:
            try:
                before = path.stat()
                live = path.read_bytes()
                if path.stat().st_mtime_ns != before.st_mtime_ns:
                    continue
            except FileNotFoundError:
                continue
            version = held[path].latest if path in held else None
            kept = b"".join(archive.content(version)) if version else None
            if kept != live and path.exists() and path.stat().st_mtime_ns == before.st_mtime_ns:
                what = "not there" if kept is None else f"{len(kept)} bytes instead of {len(live)}"
                self._fail(f"the {name} does not have {path} as it is: {what}")
            self.compared += 1
