"""A server as its users start it, and people who use it with nothing but HTTP: no code of the server.

The machine that sends is the real client; everything else here is requests and regular expressions.
"""

import html
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.support.command import run_command
from tests.support.homes import session_file, write_home
from tests.support.processes import until

PASSWORD = "correct horse battery"
PATIENCE = 120


@dataclass
class Started:
    """A server that runs."""

    process: subprocess.Popen[str]
    data: Path
    url: str
    log: Path
    """What it writes to standard error."""
    link: str
    """For the first administrator; empty once there is one."""
    database: str = ""
    """The address of a database that is not its own."""
    visitors: list["Visitor"] = field(default_factory=list)

    def visitor(self) -> "Visitor":
        self.visitors.append(Visitor(self.url))
        return self.visitors[-1]

    def operator(self, *words: str) -> str:
        """Run a command on the machine of the server."""
        named = ("--database", self.database) if self.database else ()
        done = run_command("server", *words, "--data", self.data, *named)
        assert done.returncode == 0, done.stderr
        return done.stdout


class Visitor(httpx.Client):
    """A browser without a screen."""

    def __init__(self, url: str) -> None:
        super().__init__(base_url=url, follow_redirects=True, trust_env=False, timeout=PATIENCE)
        self.origin = {"origin": url, "sec-fetch-site": "same-origin"}

    def submit(self, path: str, **fields: str | list[str]) -> httpx.Response:
        return self.post(path, data=fields, headers=self.origin)

    def sign_in(self, handle: str, password: str = PASSWORD) -> httpx.Response:
        return self.submit("/sign-in", handle=handle, password=password, next="/devices")

    def open_link(self, link: str, password: str = PASSWORD) -> httpx.Response:
        return self.submit("/welcome", link=link.partition("link=")[2], password=password)

    def invites(self, handle: str, role: str = "member") -> str:
        """The link for a new person."""
        return link_in(self.submit("/people", handle=handle, name=handle.title(), role=role).text)

    def link_for(self, handle: str) -> str:
        """A further link for a person."""
        return link_in(self.submit(f"/people/{handle}/invite").text)


def link_in(page: str) -> str:
    found = re.search(r"https?://\S+?/welcome\?link=[\w-]+", html.unescape(page))
    assert found, page[-2000:]
    return found[0]


@contextmanager
def started(*words: str, data: Path | None = None, python_path: str = "", database: str = "") -> Iterator[Started]:
    """`backscroll server`, with its defaults. `python_path` has another version of it."""
    words = (*words, "--database", database) if database else words
    folder = Path(tempfile.mkdtemp(prefix="backscroll-attack-", dir="/tmp"))
    folder.chmod(0o711)
    data = data or folder / "data"
    command = [sys.executable, *([] if python_path else ["-P"]), "-m", "backscroll", "server", "--data", str(data)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **({"PYTHONPATH": python_path} if python_path else {})}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--port", "0", *words], stdout=subprocess.PIPE, stderr=log, text=True,
                                   env=environment)  # fmt: skip
    try:
        assert process.stdout
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "connect a machine" in line:
                break
        addresses = re.findall(r"http://\S+", "".join(lines))
        assert addresses, (folder / "log").read_text()
        link = next((one for one in addresses if "link=" in one), "")
        made = Started(process, data, addresses[0], folder / "log", link, database)
        try:
            yield made
        finally:
            for visitor in made.visitors:
                visitor.close()
        assert "Traceback" not in (folder / "log").read_text(), (folder / "log").read_text()
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            if process.stdout:
                process.stdout.close()
            shutil.rmtree(folder, ignore_errors=True)


def send(server: Started, visitor: Visitor, folder: Path, **drawings: str) -> None:
    """Connect a machine as `backscroll connect` does, approve it in a browser, and wait until the chats can be read."""
    files = {path: data for name, drawing in drawings.items() for path, data in session_file(name, drawing).items()}
    write_home(folder / "home", files)
    where = ("--home", str(folder / "home"), "--library", str(folder / "library"))
    command = [sys.executable, "-P", "-m", "backscroll", "connect", server.url, "--yes", *where]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout
    said = ""
    while not (found := re.search(r"[A-Z]{4}-[A-Z]{4}", said)):
        said += process.stdout.readline()
    visitor.submit("/connect", code=found[0], answer="yes")
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    until(lambda: len(visitor.get("/api/v1/chats").json().get("chats", [])) == len(drawings))


def machine(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """A command on that machine."""
    return run_command(*words, "--home", folder / "home", "--library", folder / "library")
