"""`backscroll server` as a person starts it: one command, with a PostgreSQL and a worker of its own."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psycopg
import pytest

from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.team.operating.server_database import ServerPlace, open_database
from tests.support.command import run_command
from tests.support.processes import until
from tests.sync.support import SESSION, Device

PATIENCE = 120


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that any user can enter: as root, PostgreSQL runs as another one."""
    made = Path(tempfile.mkdtemp(prefix="backscroll-test-", dir="/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def test_one_command_serves_takes_and_indexes_and_ends_with_ctrl_c(folder: Path, postgres: EmbeddedPostgres) -> None:
    del postgres  # where PostgreSQL cannot run, this is skipped
    device = Device(folder, "admin/laptop", signs=False)
    device.write(SESSION.format(1), b'{"type":"user","uuid":"u","message":{"role":"user","content":"hello zebra"}}\n')
    device.keep()
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "backscroll", "server", "--data", folder / "data", "--port", "0"],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert server.stdout
        said = "".join(server.stdout.readline() for _ in range(3))
        url, link = re.findall(r"http://\S+", said)[:2]
        assert f"backscroll connect {url}" in said
        if others := min(4, len(os.sched_getaffinity(0))) - 1:  # the link works once all of them are up
            until(lambda: len(web_processes_of(server.pid)) == others)
            server.send_signal(signal.SIGSTOP)
            until(lambda: is_ready(url))
            server.send_signal(signal.SIGCONT)
        with httpx.Client(base_url=url, follow_redirects=True, trust_env=False, timeout=60) as browser:
            assert browser.get("/readyz").text == "ready\n"
            headers = {"origin": url, "sec-fetch-site": "same-origin"}
            told = {"link": link.partition("link=")[2], "password": "correct horse battery"}
            assert browser.post("/welcome", data=told, headers=headers).url.path == "/devices"
            browser.post("/account/keys", data={"name": "x", "scope": "read"}, headers=headers)
            _connect_and_push(browser, url, device, headers)
            until(lambda: browser.get("/api/v1/search?q=zebra").json().get("chats"))  # once the worker has indexed it
        modes = {name: (folder / "data" / name).stat().st_mode & 0o777 for name in (".", "objects", "people")}
        assert modes == {".": 0o711, "objects": 0o700, "people": 0o700}, "as root, PostgreSQL runs as another user"
        server.send_signal(signal.SIGINT)
        server.wait(PATIENCE)
    finally:
        server.kill()
        server.wait()
        if server.stdout:
            server.stdout.close()


@pytest.mark.all
def test_several_web_processes_answer_at_one_address(folder: Path, postgres: EmbeddedPostgres) -> None:
    del postgres
    words = ["--data", str(folder / "data"), "--port", "0", "--processes", "2", "--log-requests"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([sys.executable, "-P", "-m", "backscroll", "server", *words],
                                  stdout=subprocess.PIPE, stderr=log, text=True)  # fmt: skip
    try:
        assert server.stdout
        (url,) = re.findall(r"http://\S+", server.stdout.readline())
        other = next_web_process(server.pid)
        for _ in range(2):
            server.send_signal(signal.SIGSTOP)  # so that only the other one answers
            until(lambda: is_ready(url))
            server.send_signal(signal.SIGCONT)
            os.kill(other, signal.SIGKILL)
            other = next_web_process(server.pid, other)
        assert '"/readyz"' in (folder / "log").read_text()  # with the options that the first one was given
        server.send_signal(signal.SIGINT)
        server.wait(PATIENCE)
        until(lambda: not Path(f"/proc/{other}").exists())
    finally:
        server.kill()
        server.wait()
        if server.stdout:
            server.stdout.close()


def next_web_process(parent: int, before: int = 0) -> int:
    """The web process that another one has started, once it is there."""
    until(lambda: any(one != before for one in web_processes_of(parent)))
    return next(one for one in web_processes_of(parent) if one != before)


def web_processes_of(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            is_child = stat.read_text().rpartition(") ")[2].split()[1] == str(parent)
            if is_child and b"\0web\0" in stat.with_name("cmdline").read_bytes():
                found.append(int(stat.parent.name))
    return found


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", trust_env=False, timeout=5).text == "ready\n"
    except httpx.HTTPError:
        return False


def _connect_and_push(browser: httpx.Client, url: str, device: Device, headers: dict[str, str]) -> None:
    from backscroll.sync.connecting import ask_to_connect, wait_to_connect
    from backscroll.sync.remotes import open_remote

    asked = ask_to_connect(url, "laptop")
    browser.post("/connect", data={"code": asked.code, "answer": "yes"}, headers=headers)
    let_in = wait_to_connect(url, asked)
    assert let_in.device == device.name
    assert device.push(open_remote(url, let_in.credential)).objects == 1


def test_a_server_that_would_not_be_safe_does_not_start(folder: Path, postgres: EmbeddedPostgres) -> None:
    superuser = postgres.url(SUPERUSER)
    done = run_command("server", "--data", folder / "data", "--database", superuser)
    assert done.returncode == 1
    assert "is a superuser" in done.stderr
    done = run_command("server", "web", "--data", folder / "data", "--database", postgres.url(), "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "in the clear" in done.stderr
    done = run_command(
        "server", "web", "--data", folder / "data", "--database", postgres.url(), "--oidc-issuer", "https://x"
    )
    assert done.returncode == 2
    assert "BACKSCROLL_OIDC_SECRET" in done.stderr


@pytest.mark.all
def test_a_database_that_ends_by_itself_is_started_again(folder: Path, postgres: EmbeddedPostgres) -> None:
    del postgres
    number = folder / "data" / "postgres" / "data" / "postmaster.pid"

    def answers(address: str) -> bool:
        try:
            with psycopg.connect(address) as connection:
                return connection.execute("select 1").fetchone() == (1,)
        except psycopg.OperationalError:
            return False

    with open_database(ServerPlace(folder / "data")) as database:
        before = number.read_text().split()[0]
        os.kill(int(before), signal.SIGKILL)
        until(lambda: number.exists() and number.read_text().split()[:1] not in ([], [before]))
        until(lambda: answers(database.address))
