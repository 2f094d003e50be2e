"""A server that runs as its users start it, and what an attacker has to reach it: HTTP, and the format of its objects.

Nothing here is imported from what is attacked. The format is that of docs/reference/sync-format.md.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx
import zstandard

PASSWORD = "correct horse battery"
HOME = "/home/ada/.claude"


@dataclass
class StartedServer:
    """A server in processes of its own."""

    url: str
    first_link: str
    process: subprocess.Popen[str]
    data: Path
    database: str = ""
    """The address of a database that is not its own."""

    def browser(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, follow_redirects=True, trust_env=False, timeout=120)

    def submit(self, browser: httpx.Client, path: str, **fields: str) -> httpx.Response:
        return browser.post(path, data=fields, headers={"origin": self.url, "sec-fetch-site": "same-origin"})

    def owner(self) -> httpx.Client:
        """The first administrator, signed in."""
        browser = self.browser()
        if self.first_link:
            self.submit(browser, "/welcome", link=self.first_link.partition("link=")[2], password=PASSWORD)
            self.first_link = ""
        else:
            self.submit(browser, "/sign-in", handle="admin", password=PASSWORD)
        return browser

    def connected(self, browser: httpx.Client, machine: str = "laptop") -> tuple[str, str]:
        """The credential and the name of a machine that the person of a browser lets in."""
        asked = httpx.post(f"{self.url}/sync/v1/connect", json={"machine": machine}, trust_env=False).json()
        self.submit(browser, "/connect", code=asked["code"], answer="yes")
        bearer = {"authorization": f"Bearer {asked['secret']}"}
        let_in = httpx.get(f"{self.url}/sync/v1/connect", headers=bearer, trust_env=False).json()
        return let_in["secret"], let_in["device"]

    def peaks(self) -> dict[str, int]:
        """The most memory that each of its processes ever held, in bytes, by number and command."""
        found = {}
        for number in self.processes():
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{number}/status").read_text(encoding="utf-8")
                command = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                peak = re.search(r"VmHWM:\s+(\d+) kB", status)
                if peak:
                    found[f"{number} {command[:100]}"] = int(peak[1]) * 1024
        return found

    def processes(self) -> list[int]:
        """Its processes, and theirs."""
        parents: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with contextlib.suppress(OSError):
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                    parents.setdefault(parent, []).append(int(entry.name))
        found, waiting = [], [self.process.pid]
        while waiting:
            number = waiting.pop()
            found.append(number)
            waiting += parents.get(number, [])
        return found


@contextlib.contextmanager
def started_server(*options: str) -> Iterator[StartedServer]:
    """`backscroll server` with its defaults, in a folder that any user can enter: PostgreSQL is never root."""
    with tempfile.TemporaryDirectory(prefix="backscroll-attack-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)
        data = Path(folder) / "server"
        words = [sys.executable, "-m", "backscroll", "server", "--data", str(data), "--port", "0", *options]
        log = Path(folder) / "log"
        with log.open("w") as errors:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ})
        try:
            yield _told(process, data, log)
        finally:
            process.terminate()
            process.wait(120)
            assert process.stdout
            process.stdout.close()


def _told(process: "subprocess.Popen[str]", data: Path, log: Path) -> StartedServer:
    assert process.stdout
    url = first = ""
    for line in process.stdout:
        url = url or (re.search(r"http://[^/\s]+", line) or [""])[0]
        first = first or (re.search(r"http\S+/welcome\?link=\S+", line) or [""])[0]
        if "connect a machine" in line:
            return StartedServer(url, first, process, data)
    raise AssertionError(log.read_text())


# The format of objects


def object_name(device: str, first: int, last: int, log: str = "000001-00000000", revision: int = 0) -> str:
    return f"backscroll/1/{quote(device, safe='')}/{log}/{first:010}-{last:010}.{revision}"


def stream_id(path: str) -> str:
    return hashlib.sha256("\0".join((HOME, path, "1", "0")).encode()).hexdigest()[:32]


def entry_of(path: str, content: Iterable[bytes], level: int = 3, window: int = 0) -> tuple[dict[str, object], bytes]:
    """An entry of an index and the frame that it is about: the first segment of a stream."""
    digest, size, lines, last = hashlib.sha256(), 0, 0, b""
    pieces = list(content)
    for piece in pieces:
        digest.update(piece)
        size, lines, last = size + len(piece), lines + piece.count(b"\n"), piece[-1:]
    lines += last != b"\n"
    stream = stream_id(path)
    head = hashlib.sha256(f"{stream} 0 {lines} {size} {digest.hexdigest()}".encode()).hexdigest()
    settings = zstandard.ZstdCompressionParameters.from_level(level, window_log=window) if window else None
    packer = zstandard.ZstdCompressor(compression_params=settings) if settings else zstandard.ZstdCompressor(level)
    packing = packer.compressobj(size)
    frame = b"".join([*map(packing.compress, pieces), packing.flush()])
    facts = {"home": HOME, "path": path, "version": 1, "generation": 0, "type": "session", "modified_ns": 1}
    return {
        "stream": stream, "number": 0, "start": 0, "length": size, "head": head, "before": stream, "offset": 0,
        "packed": len(frame), "source": size, "file": facts,
    }, frame  # fmt: skip


def bundle(device: str, number: int, entries: list[dict[str, object]], frames: bytes, **more: object) -> bytes:
    index = {"device": device, "machine": device, "number": number, "previous": "0" * 64, "at": "2026-01-05T10:00:00Z",
             "entries": entries, "size": len(frames), **more}  # fmt: skip
    return with_index(json.dumps(index).encode(), frames)


def with_index(index: bytes, frames: bytes) -> bytes:
    packed = zstandard.ZstdCompressor(3).compress(index)
    return b"BSYNC1\n" + len(packed).to_bytes(4, "big") + packed + frames


def session(number: int) -> tuple[str, str]:
    """The id and the path of a session."""
    name = f"{number:08}-1111-4111-8111-111111111111"
    return name, f"projects/-home-ada-shop/{name}.jsonl"


def index_hash(index: dict[str, object]) -> str:
    told = [f"{index['previous']} {index['number']} {index['device']} {index['machine']}"]
    told += [f"{one['stream']} {one['number']} {one['head']}" for one in index["entries"]]  # type: ignore[attr-defined]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def long_line(number: int, size: int, filling: bytes = b"a") -> Iterator[bytes]:
    """A record of so many bytes in one line: a prompt."""
    name, _ = session(number)
    head = {"type": "user", "uuid": f"u{number}", "sessionId": name, "timestamp": "2026-01-05T10:00:00Z"}
    begin = json.dumps({**head, "cwd": "/home/ada/shop"})[:-1] + ', "message": {"role": "user", "content": "hello '
    yield begin.encode()
    for at in range(0, size, 1 << 20):
        yield (filling * (1 << 20))[: min(1 << 20, size - at)] if len(filling) == 1 else filling[at : at + (1 << 20)]
    yield b'"}}\n'


def chained(device: str, contents: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[tuple[str, bytes]]:
    """Objects of one bundle each that follow one another, each with one segment: names and bytes."""
    before = "0" * 64
    for number, (path, content) in enumerate(contents, start=1):
        entry, frame = entry_of(path, content)
        index = {"device": device, "machine": device, "number": number, "previous": before,
                 "at": "2026-01-05T10:00:00Z", "entries": [entry], "size": len(frame)}  # fmt: skip
        before = index_hash(index)
        yield object_name(device, number, number), with_index(json.dumps(index).encode(), frame)
