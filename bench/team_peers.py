"""A team server beside agentsview's `pg push` and `pg serve`, on the same PostgreSQL, with the same sessions.

    scripts/bench team_peers HOME [--cache DIR] [--words 20] [--json FILE]

A full push, a push with nothing new, and one prompt appended to the longest session, each until it can be searched on
the server; CPU time with that of PostgreSQL, rows touched, and the bytes of its log. Then rare words, and the tokens
beside those that the same sessions have on one machine. agentsview first reads the sessions into its own database,
which is not counted.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlsplit

import psycopg

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.rewriting import Writer
from backscroll.files.homes import Home
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.library.local import local_library
from backscroll.settings import Settings
from backscroll.store.postgres.embedded import SUPERUSER
from backscroll.sync.http_remote import HttpRemote
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.policy import SyncMode
from backscroll.sync.push import push
from backscroll.sync.sender import Sender
from backscroll.sync.state import SyncState
from backscroll.team.arrival.libraries import Libraries
from bench.peers import DEFAULT_CACHE, AgentsView, Server, UnableError, free_port, run
from bench.team_load.server import LoadServer, connect_devices, have_people, running_server, sign_in
from bench.team_load.watching import FLUSH_SECONDS, cpu_seconds

LIMIT = 1800.0
LOOK_SECONDS = 0.01
PEER_DATABASE = "peer"
PROMPT = (
    '{{"type":"user","uuid":"{uuid}","parentUuid":"{parent}","isSidechain":false,"userType":"external","cwd":"/work",'
    '"sessionId":"{session}","version":"2.1.20","timestamp":"2026-01-01T00:00:00.000Z",'
    '"message":{{"role":"user","content":"one more prompt with the word {needle}"}}}}\n'
)
UUID = re.compile(r'"uuid":\s*"([0-9a-f-]{36})"')
WORD = re.compile(r"(?<![\w.-])[a-z]{6,14}(?![\w.-])")
ROWS = """
select coalesce(sum(n_tup_ins), 0), coalesce(sum(n_tup_upd), 0), coalesce(sum(n_tup_del), 0) from pg_stat_user_tables
"""


@dataclass
class PushCost:
    """What a push took."""

    who: str
    step: str
    seconds: float
    cpu: float
    megabytes_a_second: float
    rows: tuple[int, ...]
    """New, changed, removed."""
    log_bytes: int


class Meter:
    """Measures a step in PostgreSQL and in our own processes."""

    def __init__(self, server: LoadServer, size: int) -> None:
        self._server, self._size = server, size

    def measure(self, who: str, step: str, database: str, act: Callable[[], float]) -> PushCost:
        """`act` returns the CPU seconds of a process that has ended."""
        before, rows, log = self._cpu(), self._rows(database), self._log()
        began = time.perf_counter()
        ended = act()
        seconds = time.perf_counter() - began
        cpu = self._cpu() - before + ended
        after = self._rows(database)
        touched = tuple(now - then for now, then in zip(after, rows, strict=True))
        rate = self._size / 1e6 / seconds if step == "full" else 0.0
        found = PushCost(who, step, round(seconds, 2), round(cpu, 2), round(rate, 2), touched, self._log() - log)
        print(f"{who:12} {step:12} {found.seconds:8.2f} s  {found.cpu:7.2f} s CPU  {rate:7.2f} MB/s  rows {touched}"
              f"  log {found.log_bytes:,} bytes", flush=True)  # fmt: skip
        return found

    def _cpu(self) -> float:
        return time.process_time() + sum(cpu_seconds(pids) for pids in self._server.pids().values())

    def database_bytes(self, database: str) -> int:
        """The size of a database."""
        with self._connect(database) as connection:
            return int((connection.execute("select pg_database_size(current_database())").fetchone() or (0,))[0])

    def _connect(self, database: str) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self._server.postgres.url(SUPERUSER, database), autocommit=True)

    def _rows(self, database: str) -> tuple[int, ...]:
        with self._connect(database) as connection:
            connection.execute("select pg_stat_force_next_flush()")
            time.sleep(FLUSH_SECONDS)
            return tuple(int(count) for count in connection.execute(ROWS).fetchone() or ())

    def _log(self) -> int:
        with self._connect("postgres") as connection:
            return int((connection.execute("select pg_current_wal_lsn() - '0/0'::pg_lsn").fetchone() or (0,))[0])


class Ours:
    """A machine with a real archive that pushes with the code of sync."""

    def __init__(self, server: LoadServer, home: Path, root: Path) -> None:
        root.mkdir()
        self._server, self._home, self._root = server, home, root
        (self.person,) = have_people(server.database, 1)
        (let_in,) = connect_devices(server.database, [self.person], "laptop")
        self._device = let_in.device
        self._remote = HttpRemote(server.urls[0], let_in.secret)
        (self.session,) = sign_in(server.database, [self.person])

    def keep(self) -> None:
        """Archive what is new; agentsview reads its sessions before a push, too."""
        with Writer(self._root / "archive") as writer:
            capture(writer, Home(self._home), self._device)

    def push(self) -> float:
        """Send what is new, and wait until the worker has nothing left to do."""
        state = SyncState(self._root / "state.sqlite")
        archive = Archive(self._root / "archive")
        sender = Sender(
            self._device, self._device, archive, lambda machine: machine == self._device, lambda _: SyncMode.FULL,
            Outgoing(b"key"),
        )  # fmt: skip
        began = time.perf_counter()
        try:
            sent = push(sender, self._remote, state)
        finally:
            state.close()
        self.receipt_seconds = time.perf_counter() - began
        with self._server.superuser() as connection:
            while sent.objects and connection.execute("select 1 from job where kind = 'pull'").fetchone():
                time.sleep(LOOK_SECONDS)
        return 0.0

    def search(self, word: str) -> bool:
        """Whether a word is found."""
        place = urlsplit(self._server.urls[0])
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        cookie = {"cookie": f"backscroll-team-{place.port}={self.session}"}
        connection.request("GET", f"/api/v1/search?q={quote(json.dumps(word))}", headers=cookie)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return bool(answer["chats"])


class Theirs(AgentsView):
    """agentsview with PostgreSQL."""

    url = ""

    def _environment(self, **more: str) -> dict[str, str]:
        more = {"AGENTSVIEW_NO_DAEMON": "1", **more}
        pushing = {"URL": self.url, "ALLOW_INSECURE": "1", "MACHINE": "laptop"}
        return super()._environment(**{f"AGENTSVIEW_PG_{name}": value for name, value in pushing.items()}, **more)

    def push(self) -> float:
        """`agentsview pg push`."""
        cost, code, text = run([self._executable, "pg", "push", "--no-vectors"], self._environment(), LIMIT)
        if code:
            print(f"agentsview pg push ended with {code}:", *text.splitlines()[-8:], sep="\n  ", flush=True)
        return cost.cpu

    def served(self) -> Server:
        """`agentsview pg serve`."""
        port = free_port()
        command = [self._executable, "pg", "serve", "--no-browser", "--port", str(port)]
        return Server(command, self._environment(), port, "/api/v1/sessions?limit=1")


def rare_words(home: Path, count: int) -> list[str]:
    """Words that stand in one line of one session only."""
    seen: Counter[str] = Counter()
    for path in sorted(home.rglob("*.jsonl")):
        for line in path.read_text(errors="replace").splitlines():
            try:
                content = json.loads(line)["message"]["content"]
            except (ValueError, KeyError, TypeError):
                continue
            seen.update(set(WORD.findall(" ".join(_texts(content)))))
    return Random("rare").sample(sorted(word for word, times in seen.items() if times == 1), count)


def _texts(content: Any) -> list[str]:  # noqa: ANN401
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [text for part in content for text in _texts(part)]
    if isinstance(content, dict):
        return [text for name in ("text", "content", "thinking", "input") for text in _texts(content.get(name))] + [
            value for value in content.values() if isinstance(value, str) and content.get("type") is None
        ]
    return []


def tokens(server: LoadServer, ours: Ours, home: Path, root: Path) -> tuple[int, int]:
    """All tokens on the server, and of the same sessions on one machine."""

    def counted(rows: list[dict[str, Any]]) -> int:
        return sum(value for row in rows for name, value in row.items() if name.endswith("_tokens") and value)

    with Libraries(server.folder / "data", server.database).to_read(ours.person.handle) as library:
        there = counted(usage(library, ReportRequest(), "model").as_dicts())
    settings = Settings(homes=(home,), library=root / "local", file=root / "settings.toml")
    with local_library(settings, [Home(home)]) as library:
        library.update()
        return there, counted(usage(library, ReportRequest(), "model").as_dicts())


def compare(home: Path, folder: Path, cache: Path, words: int) -> dict[str, Any]:
    """Both, one after the other."""
    copy = shutil.copytree(home, folder / "copy")
    longest = max((copy / "projects").glob("*/*.jsonl"), key=lambda path: path.read_bytes().count(b"\n"))
    size = sum(path.stat().st_size for path in copy.rglob("*.jsonl"))
    theirs = Theirs(cache)
    theirs.install()
    theirs.prepare(copy, folder / "peer")
    found: list[PushCost] = []
    with running_server(folder / "server") as server:
        with psycopg.connect(server.postgres.url(SUPERUSER, "postgres"), autocommit=True) as connection:
            connection.execute(f"create database {PEER_DATABASE}")
        sockets = re.search("host='([^']+)'", server.postgres.url())
        assert sockets is not None
        theirs.url = f"postgres:///{PEER_DATABASE}?host={sockets[1]}&user={SUPERUSER}&sslmode=disable"
        ours = Ours(server, copy, folder / "machine")
        meter = Meter(server, size)
        wanted = rare_words(copy, words)
        lines = longest.read_bytes().count(b"\n")
        print(f"{size / 1e6:.0f} MB, the longest session has {lines:,} lines; agentsview"
              f" {theirs.version}; load average {os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip
        parent = UUID.findall(longest.read_text(errors="replace"))[-1]
        theirs.sync()
        ours.keep()
        for step in ("full", "nothing new", "one append"):
            if step == "one append":
                with longest.open("a", encoding="utf-8") as file:
                    file.write(PROMPT.format(uuid="00000000-0000-4000-8000-00000000beef", session=longest.stem,
                                             parent=parent, needle="appendedneedle"))  # fmt: skip
                theirs.sync()
                ours.keep()
            found.append(meter.measure("backscroll", step, "backscroll", ours.push))
            print(f"             (receipts after {ours.receipt_seconds:.2f} s)", flush=True)
            found.append(meter.measure("agentsview", step, PEER_DATABASE, theirs.push))
        there, here = tokens(server, ours, copy, folder / "one")
        told: dict[str, Any] = {
            "steps": [asdict(one) for one in found], "tokens on the server": there, "tokens on one machine": here,
            "rare words found by backscroll": sum(map(ours.search, wanted)), "rare words": words,
            "append found by backscroll": ours.search("appendedneedle"),
            "megabytes of the database of backscroll": round(meter.database_bytes("backscroll") / 1e6, 1),
            "megabytes of the database of agentsview": round(meter.database_bytes(PEER_DATABASE) / 1e6, 1),
        }  # fmt: skip
        try:
            with theirs.served() as serving:
                for name, path in (("ranked", "/api/v1/search"), ("content", "/api/v1/search/content")):
                    told[f"rare words found by agentsview, {name}"] = _asked(serving, path, wanted)
        except UnableError as error:
            told["agentsview pg serve"] = str(error)
    return told


def _asked(serving: Server, path: str, words: Sequence[str]) -> int | str:
    try:
        if path.endswith("content"):
            return sum(bool(serving.get(path, pattern=word, mode="substring", limit=5, include_children="true",
                                        include_automated="true", include_one_shot="true")["matches"])
                       for word in words)  # fmt: skip
        return sum(bool(serving.get(path, q=word, limit=5)["results"]) for word in words)
    except (UnableError, KeyError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.team_peers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("home", type=Path)
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    parser.add_argument("--words", type=int, default=20)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="backscroll-bench-", dir="/tmp"))
    folder.chmod(0o711)
    try:
        told = compare(given.home, folder, given.cache, given.words)
    except (UnableError, subprocess.SubprocessError) as error:
        print(f"agentsview cannot be compared: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for name, value in told.items():
        if name != "steps":
            print(f"{name}: {value}")
    if given.json:
        given.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
