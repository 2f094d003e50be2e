"""Two versions of Claude Code write to twenty sessions for minutes, while queries run: is anything lost or leaked?

    python -m bench.soak [--minutes 10] [--rate 500] [--json FILE]

`backscroll watch` follows a generated home. Two processes append to ten sessions each, in the formats of two versions;
lines are written in halves, and sessions are deleted, truncated, emptied, forked, continued by the other version, and
restored. One process reads all the time: it searches, lists and shows, also through the command line. The viewer and
an MCP server run too and get requests all the time; every minute a backup is made, and files of the home are compared
with the archive and the backup. Every half minute each word that was written more than five seconds ago must be found
once, in its own session, and the memory and descriptors of all three processes are recorded, which must not grow. At
the end, a fresh library of the same home and archive must give the same answers.
"""

import argparse
import json
import multiprocessing
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty
from random import Random
from typing import Any, Final

from backscroll.archive.archive import Archive
from backscroll.demo.player import append
from backscroll.errors import NothingFound
from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.settings import Settings
from bench.follow import Watcher, unique_word
from bench.generate import Mix, generate
from bench.generator.play import _latest_sound_sessions, _Session
from bench.generator.rows import Tally, client, new_uuid
from bench.generator.texts import GeneratedTexts
from bench.running import Backups, Companion, Memory, RunningViewer

VERSIONS: Final = ("2.0.76", "2.1.325")
SESSIONS_EACH: Final = 10
HOME_BYTES: Final = 30_000_000
SETTLED: Final = 5.0
"""Seconds after which a written word is searched for."""
LATEST: Final = 300.0
"""Seconds after which it must be found, however busy the machine is."""
UNSURE: Final = 3.0
"""Seconds: words written this shortly before their file was deleted may not have been kept."""
EVENT_SECONDS: Final = 7.0
CHECK_SECONDS: Final = 30.0
TORN: Final = 0.05
OLD_WORDS: Final = 300
"""How many of the words found before are searched for again in each check."""
WORD: Final = re.compile(rb"zq[bcdfghjklmnpqrstvwxz]{6,}qz")
UUID: Final = re.compile(rb'"uuid":"([0-9a-f-]{36})","timestamp"')
COMMON: Final = (
    "parser",
    "error",
    "the test",
    '"in the"',
    "tool:bash error",
    "role:prompt file",
    "after:30d the",  # a limit that no chat crosses between the queries of two libraries
    "cach*",
)
BACKUP_SECONDS: Final = 60.0
EVENTS: Final = (
    "cut", "delete", "fork", "other version", "delete at once", "come back", "cut and go on", "begin", "empty",
)  # fmt: skip
EXPECTED: Final = {
    "there": (1,),
    # The earlier version is shown until the session has grown longer than it.
    "cut": (0, 1),
    "emptied": (1,),
    "unsure": (0, 1),
}
"""How often a word is found."""


@dataclass
class WordState:
    """The expected state of a word."""

    path: str
    since: float
    state: str = "there"
    """`there`, `cut`, `emptied`, or `unsure` if both outcomes are right."""
    copies: int = 0


class SpillingSession(_Session):
    """A session that writes spilled results after the row of their call, as the client does."""

    early = 0.0
    """The share of results that are written before it."""

    def put(self, path: str, text: str, now: int) -> None:
        """Write a small file at once; spilled results are queued."""
        if "/tool-results/" in path and self._story.rng.random() >= self.early:
            self.waiting.append((self._root / path, text.encode()))
        else:
            super().put(path, text, now)


class WrittenSession:
    """A session that a writer appends to."""

    def __init__(self, writer: "SessionWriter", path: Path, last: dict[str, str]) -> None:
        self.path = path
        self.last = last
        self.words: list[tuple[str, int, float]] = []
        """Each word, the offset where its line ends, and when it was written."""
        self.parked_until = 0.0
        self._writer = writer
        self.torn: tuple[Path, bytes, bytes] | None = None
        self.resume_from(last)

    def resume_from(self, last: dict[str, str]) -> None:
        """Continue after this row."""
        self.last = last
        writer = self._writer
        self._session = SpillingSession(
            writer.home, self.path, {"uuid": "", **last}, writer.texts, Tally(), writer.mix, Random(writer.rng.random())
        )
        if "uuid" not in last:
            self._session._story.transcript.last = None

    def lines(self) -> tuple[Path, list[bytes]]:
        """The next one to four lines of one file."""
        session = self._session
        if not session.waiting:
            story = session._story
            story.transcript.now = time.time_ns() // 1_000_000
            story.turn()
            word = self._writer.new_word()
            if self._writer.rng.random() < 0.5:
                story.transcript.user(f'"now look at {word} please"')
            else:
                story._write_blocks([f'{{"type":"text","text":"It was {word} after all."}}'], "end_turn")
        path, first = session.waiting.popleft()
        lines = [first]
        for _ in range(int(self._writer.rng.random() * 4)):
            if not session.waiting or session.waiting[0][0] != path:
                break
            lines.append(session.waiting.popleft()[1])
        return path, lines


class SessionWriter:
    """One version of Claude Code, which appends to its sessions at a steady rate."""

    def __init__(self, home: Path, number: int, paths: list[tuple[Path, dict[str, str]]], ledger: "Queue[Any]") -> None:
        self.home = home
        self.rng = Random(f"soak {number}")
        self.texts = GeneratedTexts(number + 1, 300_000)
        self.mix = Mix(agents=0.02, rewinds=0.3)
        self._ledger = ledger
        self._number = number
        self._words = 0
        self._events = 0
        self._deleted: list[tuple[WrittenSession, bytes]] = []
        self._doomed: WrittenSession | None = None
        self.sessions = [WrittenSession(self, path, {**last, "version": VERSIONS[number]}) for path, last in paths]

    def new_word(self) -> str:
        """A word that was not used before."""
        self._words += 1
        return unique_word(2 * self._words + self._number)

    def write_until(self, rate: float, seconds: float) -> None:
        """Write for this long, then complete all torn lines."""
        started = time.monotonic()
        next_event = started + EVENT_SECONDS
        lines = 0
        while (now := time.monotonic()) < started + seconds:
            if now >= next_event:
                next_event = now + EVENT_SECONDS
                self._apply_next_event()
            lines += self._step()
            ahead = started + lines / rate - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
            elif ahead < -1:
                started, seconds = (
                    started - ahead,
                    seconds + ahead,
                )  # do not catch up on lines that the machine was too slow for
        for session in self.sessions:
            self._finish(session)

    def _step(self) -> int:
        now = time.monotonic()
        session = self.rng.choice([session for session in self.sessions if session.parked_until < now])
        if session.torn:
            return self._finish(session)
        path, lines = session.lines()
        content = b"".join(lines)
        if self.rng.random() < TORN:
            cut = len(content) - 1 - self.rng.randrange(max(1, len(lines[-1]) - 1))
            session.torn = (path, content[:cut], content[cut:])
            return self._write(session, path, content[:cut], b"")
        return self._write(session, path, content, b"")

    def _finish(self, session: WrittenSession) -> int:
        """Write the rest of a line that was torn."""
        if session.torn is None:
            return 0
        path, before, rest = session.torn
        session.torn = None
        return self._write(session, path, rest, before.rpartition(b"\n")[2])

    def _write(self, session: WrittenSession, path: Path, content: bytes, before: bytes) -> int:
        """Append, and record the words whose lines are complete now; `before` is the first part of the first line."""
        step = append(path, content)
        end = path.stat().st_size - len(content)
        now = time.monotonic()
        whole = before + content
        end -= len(before)
        for line in whole.splitlines(keepends=True):
            end += len(line)
            for word in WORD.findall(line) if line.endswith(b"\n") else ():
                session.words.append((word.decode(), end, now))
                self._ledger.put(("said", word.decode(), str(path), now))
        lines = step.lines if path.suffix == ".jsonl" else 0
        self._ledger.put(("lines", VERSIONS[self._number], lines, step.bytes))
        return lines

    def _apply_next_event(self) -> None:
        """Apply the next event to a session."""
        kind = EVENTS[self._events % len(EVENTS)]
        self._events += 1
        if self._doomed is not None:
            self._delete(self._doomed)
            self._doomed = None  # first of all: no event may reach a session that is about to be deleted
        session = self.rng.choice(self.sessions)
        self._finish(session)
        if kind == "delete":
            session.parked_until = time.monotonic() + 10 * EVENT_SECONDS
            self._doomed = session  # deleted at the next event, when all of it has been kept
        elif kind == "delete at once":
            self._delete(session)
        elif kind in ("cut", "cut and go on"):
            self._cut(session, goes_on=kind == "cut and go on")
        elif kind == "fork":
            self._fork(session)
        elif kind == "empty":
            self._empty(session)
        elif kind == "other version":
            other = VERSIONS[1 - VERSIONS.index(session.last["version"])]
            session._session._story.transcript.set_client(client(other), "main")
            session.last["version"] = other
        elif kind == "come back" and self._deleted:
            self._come_back()
        else:
            self._start_session(session)
        self._ledger.put(("event", kind, str(session.path)))

    def _delete(self, session: WrittenSession) -> None:
        self._deleted.append((session, session.path.read_bytes()))
        session.path.unlink()
        now = time.monotonic()
        self._change([word for word, _, said in session.words if now - said < UNSURE], "unsure")
        self._start_session(session)
        self.sessions.remove(session)

    def _come_back(self) -> None:
        """Restore a deleted session and continue it."""
        session, content = self._deleted.pop(0)
        session.path.write_bytes(content)
        self._change([word for word, _, _ in session.words], "there")
        session.parked_until = 0.0
        self.sessions.append(session)
        self._retire()

    def _cut(self, session: WrittenSession, *, goes_on: bool) -> None:
        """Truncate a session, and continue it from the rest, at once or a little later."""
        content = session.path.read_bytes()
        start = content.rfind(b"\n", 0, int(len(content) * 0.9)) + 1
        row = _last_row(content[:start])
        if row is None:
            return
        os.truncate(session.path, start)
        self._change([word for word, end, _ in session.words if end > start], "cut")
        session.words = [said for said in session.words if said[1] <= start]
        session.resume_from({**row, "version": session.last["version"]})
        session.parked_until = 0.0 if goes_on else time.monotonic() + 2
        if goes_on:
            while session.path.stat().st_size <= start:
                path, lines = session.lines()
                self._write(session, path, b"".join(lines), b"")

    def _empty(self, session: WrittenSession) -> None:
        """Empty the file of a session: what was kept of it is still found."""
        os.truncate(session.path, 0)
        now = time.monotonic()
        self._change([word for word, _, said in session.words if now - said >= UNSURE], "emptied")
        self._change([word for word, _, said in session.words if now - said < UNSURE], "unsure")
        self._start_session(session)
        if session in self.sessions:
            self.sessions.remove(session)

    def _fork(self, session: WrittenSession) -> None:
        """Start a session with a copy of all rows of this one."""
        fork = new_uuid(self.rng)
        content = session.path.read_bytes()
        name = session.path.stem.encode()
        rows = []
        for line in content.splitlines():
            found = re.search(rb'"uuid":"([^"]+)"', line)
            if line.startswith(b'{"parentUuid"') and found:
                origin = b',"forkedFrom":{"sessionId":"' + name + b'","messageUuid":"' + found[1] + b'"}}'
                rows.append(line.replace(name, fork.encode())[:-1] + origin)
        row = _last_row(content)
        if row is None or not rows:
            return
        path = session.path.with_name(f"{fork}.jsonl")
        path.write_bytes(b"\n".join(rows) + b"\n")
        self._ledger.put(("copied", [word for word, _, _ in session.words], time.monotonic()))
        self._ledger.put(("lines", VERSIONS[self._number], len(rows), path.stat().st_size))
        self.sessions.append(WrittenSession(self, path, {**row, "sessionId": fork, "version": VERSIONS[self._number]}))
        self.sessions.remove(session)

    def _start_session(self, like: WrittenSession) -> None:
        """Start a new session in the same project."""
        session = new_uuid(self.rng)
        path = like.path.with_name(f"{session}.jsonl")
        path.touch()
        last = {"version": VERSIONS[self._number], "sessionId": session, "cwd": like.last["cwd"]}
        self.sessions.append(WrittenSession(self, path, last))
        if len(self.sessions) > SESSIONS_EACH + 1:
            self._retire()

    def _retire(self) -> None:
        """Stop writing to one of the sessions."""
        session = next(session for session in self.sessions if session is not self._doomed)
        self._finish(session)
        self.sessions.remove(session)

    def _change(self, words: list[str], state: str) -> None:
        self._ledger.put(("changed", words, state, time.monotonic()))


def _last_row(content: bytes) -> dict[str, str] | None:
    for line in reversed(content.splitlines()):
        if line.startswith(b'{"parentUuid"') and b'"isSidechain":false' in line:
            return {name: value for name, value in json.loads(line).items() if isinstance(value, str)}
    return None


def write_all_the_time(
    home: Path, number: int, paths: list[tuple[Path, dict[str, str]]], rate: float, seconds: float, early: float,
    ledger: "Queue[Any]",
) -> None:  # fmt: skip
    """Run a writer; the target of its process."""
    SpillingSession.early = early
    try:
        SessionWriter(home, number, paths, ledger).write_until(rate, seconds)
    except BaseException:
        ledger.put(("failed", f"the writer of {VERSIONS[number]}", traceback.format_exc()))
        raise


def read_all_the_time(home: Path, folder: Path, stop: Any, ledger: "Queue[Any]") -> None:  # noqa: ANN401
    """Query the library until stopped; the target of the reader's process."""
    rng = Random("reader")
    times: dict[str, list[float]] = defaultdict(list)
    library = None
    done = 0
    next_command = time.monotonic() + 5
    while not stop.is_set():
        if library is None or done % 25 == 0:
            if library is not None:
                library.close()
            library = open_library(home, folder)
        done += 1
        kind = rng.choice(("search", "search", "search", "list", "show", "regex"))
        if time.monotonic() >= next_command:
            next_command, kind = time.monotonic() + 5, "command"
        began = time.monotonic()
        try:
            if problem := ask(library, kind, home, folder, rng):
                ledger.put(("failed", f"a reader's {kind}", problem))
        except Exception:  # any exception is a finding
            ledger.put(("failed", f"a reader's {kind}", traceback.format_exc()))
        times[kind].append(time.monotonic() - began)
        time.sleep(0.01)
    if library is not None:
        library.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    ledger.put(
        ("read", {kind: (len(some), statistics.median(some), max(some)) for kind, some in times.items()}, memory)
    )


def ask(library: Library, kind: str, home: Path, folder: Path, rng: Random) -> str | None:
    """Run one query; return what is wrong with the answer."""
    if kind == "search":
        found = library.search(rng.choice(COMMON))
        return None if found.chats else f"nothing found for {found.query.text}"
    if kind == "regex":
        library.search("/pars(er|ing)/", limit=3)
        return None
    chats = library.chats(limit=50)
    if kind == "list":
        return None if chats else "no chats"
    chat = rng.choice(chats).overview.id
    if kind == "show":
        return lasting(lambda: show(library, chat))
    command = rng.choice((["search", rng.choice(COMMON)], ["list", "-n", "20"], ["show", chat]))
    arguments = [*command, "--json", "--home", str(home), "--library", str(folder)]
    return lasting(lambda: run_command(arguments))


def show(library: Library, chat: str) -> str | None:
    """Open a chat; return what is wrong with it."""
    library.renew()
    try:
        opened = library.open(library.find(chat))
    except NothingFound:
        return None  # deleted before it was kept
    messages = sum(len(opened.messages(branch)) for branch in opened.chat.branches)
    return None if messages or opened.chat.shown_agents else f"{chat} has no messages"


def run_command(arguments: list[str]) -> str | None:
    """Run the command line; return what is wrong with its answer."""
    run = subprocess.run([sys.executable, "-m", "backscroll", *arguments], capture_output=True, text=True, check=False)
    if run.returncode == NothingFound.exit_code and arguments[0] == "show":
        return None
    if run.returncode or run.stderr:
        return f"{' '.join(arguments)}: exit code {run.returncode}, stderr: {run.stderr[-2000:]}"
    json.loads(run.stdout)
    return None


def lasting(check: Callable[[], str | None]) -> str | None:
    """A problem that lasts. Lines that are deleted right after the watcher indexed them may not have been kept: part of
    their chat is missing until the watcher has noticed."""
    ends = time.monotonic() + LATEST
    while (problem := check()) and time.monotonic() < ends:
        time.sleep(1)
    return problem


def open_library(home: Path, folder: Path) -> Library:
    """Open a library for reading."""
    return local_library(Settings(homes=(home,), library=folder, file=folder / "settings.toml"), [Home(home)])


@dataclass
class SoakSample:
    """Memory, descriptors and progress at one moment."""

    second: float
    memory: int
    own_memory: int
    descriptors: int
    cpu: float
    lines: int
    words: int
    checked: int
    pending: int
    others: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """The viewer and the MCP server: memory, anonymous memory, descriptors."""


@dataclass
class Soak:
    """The state of a run."""

    home: Path
    folder: Path
    words: dict[str, WordState] = field(default_factory=dict)
    lines: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    events: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    samples: list[SoakSample] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    checked: int = 0
    reading: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    reader_memory: int = 0
    fresh: set[str] = field(default_factory=set)
    """Words that no check has searched for yet."""
    shrunken: set[str] = field(default_factory=set)
    """Files that were truncated or emptied."""
    doubts: dict[str, float] = field(default_factory=dict)
    """Words that were not found as expected, and since when."""
    lateness: list[float] = field(default_factory=list)
    """How long it took until late words were found as expected."""

    def fail(self, text: str) -> None:
        """Record and print a failure."""
        self.failures.append(text)
        print(f"WRONG: {text}", flush=True)

    def take(self, ledger: "Queue[Any]", seconds: float) -> list[str]:
        """Process events of the other processes for this long; return the written words."""
        until = time.monotonic() + seconds
        said = []
        while (left := until - time.monotonic()) > 0:
            try:
                kind, *rest = ledger.get(timeout=left)
            except Empty:
                break
            if kind == "said":
                self.words[rest[0]] = WordState(rest[1], rest[2])
                self.fresh.add(rest[0])
                said.append(rest[0])
            elif kind == "lines":
                self.lines[rest[0]] += rest[1]
                self.bytes += rest[2]
            elif kind == "changed":
                for word in rest[0]:
                    self.words[word].state, self.words[word].since = rest[1], rest[2]
                    self.fresh.add(word)
            elif kind == "copied":
                for word in rest[0]:
                    self.words[word].copies += 1
                    self.words[word].since = rest[1]
                    self.fresh.add(word)
            elif kind == "event":
                self.events[rest[0]] += 1
                if rest[0] in ("cut", "cut and go on", "empty"):
                    self.shrunken.add(rest[1])
            elif kind == "failed":
                self.fail(f"{rest[0]}: {rest[1]}")
            elif kind == "read":
                self.reading, self.reader_memory = rest
        return said

    def check(self, names: Sequence[str], library: Library) -> None:
        """Search for words; each settled word must be found once, in its own session.

        A wrong result is checked again, because the watcher is late on a busy machine. It fails only if it stays wrong.
        """
        now = time.monotonic()
        for name in dict.fromkeys([*names, *self.doubts]):
            if now - self.words[name].since < SETTLED:
                continue
            self.fresh.discard(name)
            self.checked += 1
            problem = self._problem(name, library)
            if problem is None:
                if first := self.doubts.pop(name, None):
                    self.lateness.append(now - first)
                continue
            first = max(self.doubts.setdefault(name, now), self.words[name].since)
            if now - first > LATEST:
                del self.doubts[name]
                self.fail(f"{name} is not found as expected: {problem}")

    def _problem(self, name: str, library: Library) -> str | None:
        """What is wrong with the search results for a word."""
        word = self.words[name]
        found = library.search(f'"{name}"', limit=5, hits=5)  # in quotes: a missing word would be corrected
        hits = [passage.hit for chat in found.chats for passage in chat.passages]
        expected = (1,) if word.copies else EXPECTED[word.state]  # the copy stays, whatever happens to the original
        # The rest of a truncated file is in the file, and also in the version that was kept.
        counts = not word.copies and word.path not in self.shrunken
        if len(hits) not in expected or (counts and found.total not in expected):
            if not hits and not self._is_kept(word.path, name):
                return None  # it was deleted before it could be kept
            age = time.monotonic() - word.since
            return (
                f"{word.state} for {age:.0f} s, {word.copies} copies, {len(hits)} hits, total {found.total}, "
                f"said in {word.path}, found in {[hit.path for hit in hits]}"
            )
        if hits and not word.copies and not hits[0].path.startswith(word.path):
            return f"said in {word.path}, found in {hits[0].path}"
        return None

    def _is_kept(self, path: str, name: str) -> bool:
        """Whether a word is in its file, or in a kept version that must be shown."""
        try:
            if name.encode() in Path(path).read_bytes():
                return True
        except OSError:
            pass
        archive = Archive(self.folder / "archive")
        versions = [
            version for file in archive.files.values() if str(file.source) == path for version in file.shown_versions
        ]
        return any(name.encode() in b"".join(archive.content(version)) for version in versions)

    def wait_for(self, name: str, library: Library) -> None:
        """Measure how long it takes until a word is found."""
        word = self.words[name]
        while time.monotonic() - word.since < SETTLED:
            if library.search(f'"{name}"', limit=1, hits=1).chats:
                self.delays.append(time.monotonic() - word.since)
                return
            time.sleep(0.01)
        self.delays.append(SETTLED)


def run(options: argparse.Namespace, root: Path) -> tuple[Soak, dict[str, Any]]:
    """Run everything."""
    home, folder = root / "home", root / "library"
    generate(home, sessions=40, total_bytes=HOME_BYTES, seed=options.seed, mix=Mix(problems=0.0))
    soak = Soak(home, folder)
    watcher = Watcher(home, folder)
    while not any((folder / "index").glob("*/text/meta.json")) and watcher.is_running:
        time.sleep(0.2)
    time.sleep(8)
    context = multiprocessing.get_context("spawn")
    ledger: Queue[Any] = context.Queue()
    stop = context.Event()
    chosen = _latest_sound_sessions(home, 2 * SESSIONS_EACH)
    seconds = options.minutes * 60
    others = [
        context.Process(
            target=write_all_the_time,
            args=(home, number, chosen[number::2], options.rate / 2, seconds, options.early, ledger),
        )
        for number in (0, 1)
    ]
    reader = context.Process(target=read_all_the_time, args=(home, folder, stop, ledger))
    started = time.monotonic()
    for process in (*others, reader):
        process.start()
    companions = [RunningViewer(home, folder, soak.fail, COMMON), Memory(home, folder, soak.fail, COMMON)]
    backups = Backups(home, folder, root / "backup", soak.fail)
    ending = threading.Event()
    backing_up = threading.Thread(target=back_up_now_and_then, args=(backups, ending, soak), daemon=True)
    backing_up.start()
    next_check = started + CHECK_SECONDS
    rng = Random("checks")
    library = open_library(home, folder)
    while any(process.is_alive() for process in others):
        said = soak.take(ledger, 1.0)
        if said and time.monotonic() > started + 5:
            soak.wait_for(said[-1], library)
        if not watcher.is_running:
            code, errors = watcher.stop()
            soak.fail(f"the watcher stopped with exit code {code}: {errors}")
            for process in (*others, reader):
                process.terminate()
            return soak, {"seconds": time.monotonic() - started}
        if time.monotonic() >= next_check:
            next_check += CHECK_SECONDS
            library.close()
            library = open_library(home, folder)
            old = [name for name in soak.words if name not in soak.fresh]
            soak.check([*soak.fresh, *rng.sample(old, min(OLD_WORDS, len(old)))], library)
            soak.samples.append(_sample(soak, watcher, library, time.monotonic() - started, companions))
            print(soak.samples[-1], flush=True)
    wrote = time.monotonic() - started
    stop.set()
    soak.take(ledger, 3)
    for process in (*others, reader):
        process.join(30)
        if process.exitcode != 0:
            soak.fail(f"a writer or the reader stopped with exit code {process.exitcode}")
    soak.take(ledger, SETTLED)
    library.close()
    ending.set()
    backing_up.join()
    for companion in companions:
        companion.stop()
    with open_library(home, folder) as library:
        soak.check(list(soak.words), library)
        while soak.doubts:
            time.sleep(1)
            soak.check([], library)
        count_lines(soak, library)
    code, errors = watcher.stop()
    if code != 130 or errors:
        soak.fail(f"watch stopped with exit code {code}: {errors or 'no output'}")
    judge(soak, options.limit * 1_000_000)
    done = {
        "asked": {companion.name: dict(companion.asked) for companion in companions},
        "backups": backups.done,
        "files compared with archive and backup": backups.compared,
    }
    return soak, {"seconds": wrote, **done, **compare(soak, root)}


def back_up_now_and_then(backups: Backups, ending: threading.Event, soak: Soak) -> None:
    """Back up every `BACKUP_SECONDS`, in a separate thread."""
    try:
        while not ending.wait(BACKUP_SECONDS):
            backups.run(LATEST)
        backups.run(LATEST)
    except Exception:  # any exception is a finding
        soak.fail(f"a backup: {traceback.format_exc()}")


def _sample(
    soak: Soak, watcher: Watcher, library: Library, second: float, companions: Sequence[Companion] = ()
) -> SoakSample:
    memory = watcher.memory()
    return SoakSample(
        round(second, 1), memory["VmRSS"], memory["RssAnon"], watcher.descriptors(), watcher.cpu(),
        sum(soak.lines.values()), len(soak.words), soak.checked, library.reader.pending().passages,
        {companion.name: companion.sample() for companion in companions if companion.is_running},
    )  # fmt: skip


def count_lines(soak: Soak, library: Library) -> None:
    """Check that every row of every transcript is one record."""
    counted = {
        path: (uuids, starts, count)
        for path, uuids, starts, count in rows(
            library,
            "select path, count(distinct iif(uuid like '________-____-____-____-____________', uuid, null)),"
            " count(distinct start), count(*) from v_messages group by path",
        )
    }
    wrong = []
    for path in soak.home.glob("projects/**/*.jsonl"):
        lines = [line for line in path.read_bytes().split(b"\n") if line.startswith(b'{"parentUuid"')]
        uuids = {found[1] for line in lines if (found := UUID.search(line))}
        indexed, starts, count = counted.get(str(path), (0, 0, 0))
        if indexed != len(uuids) or starts != count:
            wrong.append(f"{path}: {len(uuids)} rows, {indexed} indexed, {count} records at {starts} positions")
    if wrong:
        soak.fail(f"in {len(wrong)} files, records and rows differ, for example {wrong[0]}")


def rows(library: Library, statement: str) -> list[Any]:
    """All rows of a statement."""
    return [tuple(row) for row in library.sql(statement, limit=10**7, seconds=120).rows]


def compare(soak: Soak, root: Path) -> dict[str, Any]:
    """Check that a fresh library of the same home and archive gives the same answers."""
    fresh = root / "fresh"
    shutil.copytree(soak.folder / "archive", fresh / "archive")
    arguments = ["update", "--quiet", "--home", str(soak.home), "--library", str(fresh)]
    ran = subprocess.run([sys.executable, "-m", "backscroll", *arguments], capture_output=True, text=True, check=False)
    if ran.returncode or ran.stderr:
        soak.fail(f"update of a fresh library stopped with exit code {ran.returncode}: {ran.stderr}")
    with open_library(soak.home, soak.folder) as followed, open_library(soak.home, fresh) as anew:
        ours, theirs = ({chat.overview.id: chat for chat in library.chats()} for library in (followed, anew))
        counts = {}
        for name, statement in COUNTS.items():
            one, other = (rows(library, statement) for library in (followed, anew))
            counts[name] = one[0][0] if len(one) == 1 else len(one)
            if one != other:
                extra = (
                    [row for row in one if row not in set(other)][:2],
                    [row for row in other if row not in set(one)][:2],
                )
                soak.fail(f"{name}: a fresh library differs, for example {extra}")
        if ours.keys() != theirs.keys():
            soak.fail(f"different chats: {sorted(ours.keys() ^ theirs.keys())[:5]}")
        for name in ours.keys() & theirs.keys():
            if (ours[name].overview, ours[name].archived) != (theirs[name].overview, theirs[name].archived):
                differing = [
                    (part, getattr(ours[name].overview, part), getattr(theirs[name].overview, part))
                    for part in ours[name].overview.__struct_fields__
                    if getattr(ours[name].overview, part) != getattr(theirs[name].overview, part)
                ]
                soak.fail(f"chat {name} differs in a fresh library: {differing[:3]}")
                break
        some = Random("compare").sample(sorted(soak.words), min(500, len(soak.words)))
        for query in (*COMMON, *some):
            totals = [(found.total, found.total_chats) for found in (followed.search(query), anew.search(query))]
            if totals[0] != totals[1]:
                soak.fail(f"{query}: {totals[0]} matches, but {totals[1]} in a fresh library")
    return {"chats": len(ours), "compared searches": len(COMMON) + len(some), **counts}


def judge(soak: Soak, limit: int) -> None:
    """Check that the memory and descriptors of each process did not grow."""
    if len(soak.samples) < 4:
        return
    for name, series in figures(soak.samples).items():
        memory, descriptors = series["own memory"], series["descriptors"]
        torn = len(memory) // 2
        before, after = max(memory[:torn]), max(memory[torn:])
        if after > limit or after > 1.3 * before + 50_000_000:
            soak.fail(f"memory of the {name} grew from {before / 1e6:.0f} to {after / 1e6:.0f} MB")
        before, after = max(descriptors[:torn]), max(descriptors[torn:])
        if after > before + 40:  # a round opens up to 32 files, and a sample may be taken during it
            soak.fail(f"descriptors of the {name} grew from {before} to {after}")


def figures(samples: Sequence[SoakSample]) -> dict[str, dict[str, list[int]]]:
    """Memory, anonymous memory and descriptors of each process, sample by sample."""
    rows = [{"watcher": (one.memory, one.own_memory, one.descriptors), **one.others} for one in samples]
    return {
        name: {
            what: [row[name][number] for row in rows if name in row]
            for number, what in enumerate(("memory", "own memory", "descriptors"))
        }
        for name in dict.fromkeys(name for row in rows for name in row)
    }


def _course(values: Sequence[int], unit: int = 1) -> dict[str, int]:
    """The medians of the first, middle and last fifth of a series, and its maximum."""
    fifth = max(1, len(values) // 5)
    middle = (len(values) - fifth) // 2
    parts = {"start": values[:fifth], "middle": values[middle : middle + fifth], "end": values[-fifth:]}
    course = {name: round(statistics.median(some) / unit) for name, some in parts.items() if some}
    return {**course, "most": round(max(values) / unit)} if values else course


def as_results(soak: Soak, more: dict[str, Any]) -> dict[str, Any]:
    """The results of a run."""
    samples = soak.samples
    seconds = more["seconds"]
    return {
        "lines": dict(soak.lines),
        "lines a second": round(sum(soak.lines.values()) / seconds, 1),
        "bytes a second": round(soak.bytes / seconds),
        "words": len(soak.words),
        "words looked for": soak.checked,
        "events": dict(soak.events),
        "append to found, median": round(statistics.median(soak.delays), 3) if soak.delays else None,
        "append to found, p95": round(statistics.quantiles(soak.delays, n=20)[-1], 3) if len(soak.delays) > 1 else None,
        "append to found, slowest": round(max(soak.delays), 3) if soak.delays else None,
        "words that were late": len(soak.lateness),
        "the latest, seconds": round(max(soak.lateness), 1) if soak.lateness else None,
        **{
            f"{name}, {what}{' (MB)' if unit > 1 else ''}": _course(series[what], unit)
            for name, series in figures(samples).items()
            for what, unit in (("own memory", 1_000_000), ("memory", 1_000_000), ("descriptors", 1))
        },
        "watcher cpu seconds": round(samples[-1].cpu, 1) if samples else None,
        "reads (count, median, slowest)": soak.reading,
        "reader memory, MB": round(soak.reader_memory / 1e6),
        **more,
        "wrong": soak.failures,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description="Many writers, a watcher and a reader.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=500.0, help="lines a second, of all writers together")
    parser.add_argument(
        "--limit", type=int, default=600, help="megabytes that the watcher may take, pages of files aside"
    )
    parser.add_argument("--early", type=float, default=0.0, help="share of the spilled results that precede their call")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work in this new folder, and leave it")
    options = parser.parse_args(arguments)
    if options.keep:
        options.keep.mkdir(parents=True)
        results = as_results(*run(options, options.keep.resolve()))
    else:
        with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder:
            results = as_results(*run(options, Path(folder).resolve()))
    for name, value in results.items():
        if name != "wrong":
            print(f"{name}: {value}")
    print(f"wrong: {len(results['wrong'])}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 1 if results["wrong"] else 0


COUNTS: Final = {
    "records": "select count(*) from v_messages",
    "tool calls": "select count(*) from v_tool_calls",
    "problems": "select count(*) from v_problems",
    "files touched": "select count(*) from v_files_touched",
    "tokens": "select sum(input_tokens + output_tokens) from v_usage",
    "files": "select path, session, agent, chat_id, archived from v_sessions order by path",
    "records of each file": "select path, count(*), count(distinct uuid) from v_messages group by path order by path",
}

if __name__ == "__main__":
    sys.exit(main())
