"""An upgrade removes nothing from a remote: libraries, remotes and a server made by the version before decisions went
session by session are synced by this one, which now lets less of them leave.

That version runs from its source, as the repository's history has it, with the libraries that this one is tested with.
"""

import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from backscroll.store.postgres.connection import OPTIONS as STORE
from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.team.database.connections import OPTIONS as TEAM
from tests.cli.test_sync import Machine
from tests.support.command import place_options
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home
from tests.support.postgres import fresh_database
from tests.support.processes import PATIENCE, until
from tests.team.served import PASSWORD, Browser, serving

BEFORE = "a0625f77"
"""The commit before decisions went session by session."""
ROOT = Path(__file__).parents[2]
TALK = "@ session={0} cwd={1}\na{0} <- - user: about {2}\nb{0} <- a{0} assistant(m1): {2}\n"
FOLDERS = {
    "S1": ("/home/ada/client/x", "projects/-home-ada-client-x"),
    "S2": ("/home/ada/client-x", "projects/-home-ada-client-x"),
    "S3": ("{root}/work/shop", "projects/-work-shop"),
    "S4": ("/home/ada/moves", "projects/-home-ada-moves"),
    "S5": ("{root}/work/plain", "projects/-work-plain"),
}
pytestmark = [pytest.mark.all, pytest.mark.slow]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of the version before."""
    packed = subprocess.run(["git", "-C", ROOT, "archive", BEFORE, "src"], capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"the history of this clone does not reach back to {BEFORE}: it is shallow, or there is no git")
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


class Upgraded:
    """A machine that ran the version before, and then this one."""

    def __init__(self, root: Path, source: Path, name: str = "laptop") -> None:
        self.root, self.source = root, source
        self.home, self.library = root / name / "claude", root / name / "library"
        self.now = Machine.__new__(Machine)
        self.now.home, self.now.library = self.home, self.library

    def before(self, *arguments: object) -> str:
        """Run a command of the version before."""
        words = [str(word) for word in (*arguments, *place_options(arguments, self.home, self.library))]
        environment = {**os.environ, "PYTHONPATH": str(self.source), "BACKSCROLL_PASSPHRASE": "correct horse"}
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "backscroll", *words],
            env=environment, cwd=self.root, capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
        assert ran.returncode in ((0, 3) if arguments[0] == "search" else (0,)), ran.stderr
        return ran.stdout

    def fill(self) -> None:
        """Sessions of which the version before let more leave than this one does."""
        plain, clone = self.root / "work" / "plain", self.root / "work" / "shop"
        plain.mkdir(parents=True)
        (clone / ".git").mkdir(parents=True)
        config = (
            '[remote "origin"]\n\turl = https://github.com/ada/shop\n[remote "up"]\n\turl = git@github.com:acme/shop\n'
        )
        (clone / ".git" / "config").write_text(config)
        for name, (cwd, folder) in FOLDERS.items():
            drawing = TALK.format(name, cwd.format(root=self.root), f"word{name}")
            write_home(self.home, {session_path(name, folder): jsonl(draw(drawing, session=name))})
        self.append("S4", "/home/ada/client/x", "movedaway")
        write_home(self.home, {"projects/-home-ada-client-x/memory/MEMORY.md": b"remember\n"})

    def append(self, name: str, cwd: str, text: str) -> None:
        path = self.home / session_path(name, FOLDERS[name][1])
        more = jsonl(draw(f"@ session={name} cwd={cwd}\nz{text} <- - user: about {text}", session=name))
        path.write_bytes(path.read_bytes() + more)


def objects_in(folder: Path) -> dict[str, str]:
    """Every file of a remote, and what is in it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def names(machine: Upgraded, remote: str) -> set[str]:
    """What this version says that may not leave any more."""
    rows = machine.now.run("sync", "withdraw", remote, "--keep", "--json").stdout
    return {session_of(row) for row in re.findall(r'"name": "([^"]+)"', rows)}


def session_of(name: str) -> str:
    return next((short for short in FOLDERS if session_uuid(short) == name), name)


RULES = ("--path", "/home/ada/client/*", "off")
GIT = ("--git", "github.com/acme/*", "off")


def test_an_upgrade_removes_nothing_from_folders_and_names_what_may_not_leave(tmp_path: Path, source: Path) -> None:
    laptop, desktop = Upgraded(tmp_path, source), Upgraded(tmp_path, source, "desktop")
    laptop.fill()
    other = jsonl(draw(TALK.format("S9", "/home/eve/zoo", "wordS9"), session="S9"))
    write_home(desktop.home, {session_path("S9", "projects/-home-eve-zoo"): other})
    remotes = {name: tmp_path / name for name in ("nas", "vault", "plain", "metrics")}
    laptop.before("sync", "add", "nas", remotes["nas"], "--yes", *RULES, *GIT)
    laptop.before("sync", "add", "vault", remotes["vault"], "--yes", "--encrypt", *RULES)
    laptop.before("sync", "add", "plain", remotes["plain"], "--yes", "--mode", "full")
    laptop.before("sync", "add", "metrics", remotes["metrics"], "--yes", "--mode", "metrics", *GIT)
    desktop.before("sync", "add", "nas", remotes["nas"], "--yes")
    laptop.before("sync")
    stored = {name: objects_in(folder) for name, folder in remotes.items()}
    assert all(stored.values())

    for _ in range(2):
        ran = laptop.now.run("sync")
        assert ran.returncode == 0, ran.stderr
    laptop.append("S3", str(tmp_path / "work" / "shop"), "afterwards")
    laptop.append("S5", str(tmp_path / "work" / "plain"), "goeson")
    assert laptop.now.run("sync").returncode == 0
    for name, folder in remotes.items():
        now = objects_in(folder)
        assert {path: now.get(path) for path in stored[name]} == stored[name], f"{name} is what it was, and more"
    assert "run backscroll sync withdraw nas" in ran.stdout
    memory = "projects/-home-ada-client-x/memory/MEMORY.md"
    assert names(laptop, "nas") == {"S1", "S2", "S3", "S4", memory}, "S2 is undecided: its git remotes are not known"
    assert names(laptop, "vault") == {"S1", "S4", memory}
    assert names(laptop, "plain") == set()
    assert names(laptop, "metrics") == {"S1", "S2", "S3", "S4"}
    verified = laptop.now.run("sync", "verify", "--deep")
    assert verified.returncode == 0, verified.stdout

    assert desktop.before("sync")  # not upgraded yet
    chats = found_by(desktop.before)
    assert chats == {"wordS1", "wordS2", "wordS3", "wordS4", "wordS5", "movedaway", "goeson"}
    fresh = Machine(tmp_path, "fresh", "q <- - user: hello", "S8")
    assert fresh.run("sync", "add", "nas", remotes["nas"], "--mode", "off", "--yes").returncode == 0
    assert found_by(lambda *words: fresh.run(*words).stdout) == chats, "also what may not leave any more stays there"


def found_by(run: Callable[..., str]) -> set[str]:
    words = [*(f"word{name}" for name in FOLDERS), "movedaway", "goeson", "afterwards"]
    return {word for word in words if '"chats": []' not in run("search", word, "--json")}


@contextmanager
def server_before(source: Path, data: Path, url: str) -> Iterator[tuple[str, str]]:
    """The server of the version before: its address, and the first link."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONUNBUFFERED": "1"}
    words = ["server", "--data", str(data), "--database", url, "--port", "0"]
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "backscroll", *words], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert server.stdout
        said = "".join(server.stdout.readline() for _ in range(3))
        address, link = re.findall(r"http://\S+", said)[:2]
        yield address, link.partition("link=")[2]
        server.terminate()
        server.wait(PATIENCE)
    finally:
        server.kill()
        server.wait()
        if server.stdout:
            server.stdout.close()


def test_an_upgrade_removes_nothing_from_a_team_server(
    tmp_path: Path, source: Path, postgres: EmbeddedPostgres
) -> None:
    laptop, data = Upgraded(tmp_path, source), tmp_path / "server"
    laptop.fill()
    with fresh_database(postgres, has_tables=False) as url:
        with server_before(source, data, url) as (address, link), Browser(address) as browser:
            browser.submit("/welcome", link=link, password=PASSWORD)
            browser.submit("/project-rules", by="path", pattern="/home/ada/client/*", mode="off")
            connecting = threading.Thread(target=lambda: laptop.before("connect", address, "--yes", *GIT))
            connecting.start()
            until(lambda: _let_in(url, browser))
            connecting.join(PATIENCE)
            until(lambda: len(chats_in(postgres, url)) == len(FOLDERS))
        stored, chats = objects_in(data / "objects"), chats_in(postgres, url)
        with serving(url, data) as served:
            remotes = laptop.library / "sync" / "remotes.json"
            remotes.write_text(remotes.read_text().replace(address, served.url))
            for _ in range(2):
                ran = laptop.now.run("sync")
                assert ran.returncode == 0, ran.stderr
            laptop.append("S5", str(tmp_path / "work" / "plain"), "goeson")
            assert laptop.now.run("sync").returncode == 0
            now = objects_in(data / "objects")
            assert {path: now.get(path) for path in stored} == stored
            assert "run backscroll sync withdraw team" in ran.stdout
            assert names(laptop, "team") >= {"S1", "S2", "S3", "S4"}
            until(lambda: no_jobs_wait(url))
            assert chats_in(postgres, url) == chats


def _let_in(url: str, browser: Browser) -> bool:
    with psycopg.connect(url, options=TEAM) as connection:
        row = connection.execute("select code from device_request where person is null").fetchone()
    return row is not None and browser.submit("/connect", code=row[0], answer="yes").url.path == "/devices"


def chats_in(postgres: EmbeddedPostgres, url: str) -> set[str]:
    """The chats of everyone, as they stand in the tables."""
    name = str(conninfo_to_dict(url)["dbname"])
    with psycopg.connect(postgres.url(SUPERUSER, name), options=STORE) as connection:
        return {str(row[0]) for row in connection.execute("select name from chats").fetchall()}


def no_jobs_wait(url: str) -> bool:
    with psycopg.connect(url, options=TEAM) as connection:
        return connection.execute("select count(*) from job").fetchone() == (0,)
