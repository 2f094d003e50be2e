"""Every library is what an independent record says, whatever happens to machines and remotes meanwhile.

Three machines share a remote. In each phase something random happens: sessions are begun, go on, are copied to another
machine, deleted and forgotten; other files are rewritten; a sync is killed; what a machine knows of the remote, or its
index, is lost; the remote loses, tears and gets objects, or is set back. Every few phases all of them sync in peace,
answer what they are asked, and are compared with `raw_record`, which knows the raw files only: every byte of the
archives, every row and answer of the indexes, and what the remote still has. In the end a new machine takes everything.
"""

import itertools
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final, Protocol

import pytest

from tests.attack.sync.honest_machines import kept_in
from tests.attack.sync.hostile_objects import indexes_of
from tests.support.command import place_options, run_command
from tests.sync.raw_record import TOKENS, Place, RawMachine, count, session_of
from tests.sync.seaweed import KEYS

NAMES: Final = ("laptop", "desktop", "tower")
PEACE_AFTER: Final = 7
"""Phases between two comparisons."""
MOST_ROUNDS: Final = 6
ROOT: Final = Path(__file__).parents[2]
OBJECT: Final = re.compile(r"backscroll/1/([^/]+)/([0-9a-f-]{15})/(\d{10})-(\d{10})\.\d+")
KEY: Final = "backscroll/1/key.json"
Files = dict[Place, list[bytes]]

KILLED: Final = """
import os, sys
from backscroll.cli.start import main
from backscroll.sync.state import SyncState
from tests.faults.stops import Stops
stops = Stops(int(sys.argv[1]))
for name in ("fsync", "link", "replace", "unlink"):
    stops.around(os, name)
for name in ("note_bundle", "note_received", "note_pulled", "note_removed", "note_unwanted"):
    stops.around(SyncState, name)
sys.argv = ["backscroll", *sys.argv[2:]]
main()
"""


class Objects(Protocol):
    """The remote, as who looks at it without the program sees it."""

    address: str

    def read(self) -> dict[str, bytes]:
        """Every object."""

    def put(self, name: str, data: bytes) -> None:
        """Put an object there, or replace it."""

    def delete(self, name: str) -> None:
        """Delete an object."""


class FolderObjects:
    """A folder."""

    def __init__(self, root: Path) -> None:
        self.root, self.address = root, str(root)
        root.mkdir()

    def read(self) -> dict[str, bytes]:
        files = (path for path in self.root.rglob("*") if path.is_file())
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in files}

    def put(self, name: str, data: bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def delete(self, name: str) -> None:
        (self.root / name).unlink()


class BucketObjects:
    """A part of a bucket."""

    def __init__(self, part: str) -> None:
        from obstore.store import from_url

        self.address = f"s3://bucket/{part}"
        self._store = from_url(self.address, client_options={"allow_http": True})

    def read(self) -> dict[str, bytes]:
        import obstore

        names = [found["path"] for batch in obstore.list(self._store) for found in batch]
        return {name: bytes(obstore.get(self._store, name).bytes()) for name in names}

    def put(self, name: str, data: bytes) -> None:
        import obstore

        obstore.put(self._store, name, data, use_multipart=False)

    def delete(self, name: str) -> None:
        import obstore

        obstore.delete(self._store, name)


class Machine:
    """A machine that runs the program, with its record."""

    def __init__(self, root: Path, name: str, remote: str, numbers: Iterator[int]) -> None:
        self.raw = RawMachine(name, root / name / "claude", numbers)
        self.name, self.library, self.remote = name, root / name / "library", remote
        self.id = ""

    def add(self) -> None:
        ran = self.run("sync", "add", "shared", self.remote, "--mode", "full", "--yes")
        assert ran.returncode == 0, ran.stderr
        self.id = json.loads((self.library / "machine.json").read_text())["id"]

    def run(self, *arguments: object) -> CompletedProcess[str]:
        return run_command(*arguments, *place_options(arguments, self.raw.home, self.library))

    def json(self, *arguments: object) -> Any:  # noqa: ANN401
        ran = self.run(*arguments, "--json")
        assert ran.returncode == 0 or (arguments[0], ran.returncode) == ("search", 3), (arguments, ran.stderr)
        return json.loads(ran.stdout)

    def sync(self) -> CompletedProcess[str]:
        """Sync; it may have something to say against the remote, and never fails."""
        self.raw.look()
        ran = self.run("sync")
        assert ran.returncode in (0, 1), ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr, ran.stderr
        return ran

    def keep(self) -> None:
        self.raw.look()
        ran = self.run("keep")
        assert ran.returncode == 0, ran.stderr

    def sync_until_killed(self, point: int) -> None:
        self.keep()
        words = ["sync", *map(str, place_options(["sync"], self.raw.home, self.library))]
        ran = subprocess.run(
            [sys.executable, "-c", KILLED, str(point), *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert ran.returncode in (0, 1, 99), ran.stderr
        assert "Traceback" not in ran.stderr, ran.stderr


class World:
    """The machines, their remote, and what happens to them."""

    def __init__(self, root: Path, objects: Objects, chance: random.Random) -> None:
        self.root, self.objects, self.chance = root, objects, chance
        numbers = itertools.count(1)
        self.machines = [Machine(root, name, objects.address, numbers) for name in NAMES]
        self.taken: dict[str, Files] = {name: {} for name in NAMES}
        """What each machine had of files whose sessions were forgotten elsewhere, at least: it refused."""
        self.at_peace: dict[str, Files] = {}
        """What each machine had when all were last compared."""
        self.known: set[str] = set()
        """The sessions that every machine has taken."""
        self.gone: set[str] = set()
        """The sessions that any machine has forgotten."""
        self.yesterday: dict[str, bytes] = {}
        self.done: list[str] = []
        for machine in self.machines:
            machine.raw.begin(chance)
            machine.add()

    # What happens

    def phase(self) -> None:
        """Something happens, and one or two machines sync."""
        weights = {
            self.begin: 4, self.go_on: 6, self.agent: 2, self.tear_line: 2, self.plan: 2, self.rewrite: 1, self.copy: 2,
            self.delete: 2, self.forget: 2, self.kill: 3, self.lose_state: 1, self.lose_index: 1, self.lose_object: 2,
            self.tear_object: 2, self.junk: 2, self.replay: 1, self.set_back: 1, self.lose_key: 1,
        }  # fmt: skip
        (happens,) = self.chance.choices(list(weights), list(weights.values()))
        self.done.append(happens.__name__)
        happens(self.chance.choice(self.machines))
        for machine in self.chance.sample(self.machines, self.chance.randint(0, 2)):
            machine.sync()

    def begin(self, machine: Machine) -> None:
        machine.raw.begin(self.chance)

    def go_on(self, machine: Machine) -> None:
        for path in self._some(machine):
            machine.raw.talk(path, self.chance)

    def agent(self, machine: Machine) -> None:
        for path in self._some(machine):
            if "/subagents/" not in path:
                name = f"agent-{self.chance.randint(1, 3):07}a.jsonl"
                machine.raw.talk(f"{path.removesuffix('.jsonl')}/subagents/{name}", self.chance)

    def tear_line(self, machine: Machine) -> None:
        for path in self._some(machine):
            machine.raw.tear(path)

    def plan(self, machine: Machine) -> None:
        number = self.chance.randint(1, 3)
        machine.raw.rewrite(f"plans/plan-{number}.md", f"# Plan {self.chance.random()}\n".encode())

    def rewrite(self, machine: Machine) -> None:
        """A file of the history is written anew: the one before stays a version."""
        rows = [{"display": f"prompt {self.chance.random()}", "timestamp": 1767607200000, "project": "/home/ada/work"}]
        machine.raw.rewrite("history.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in rows))

    def copy(self, machine: Machine) -> None:
        """A session that another machine has is continued here."""
        other = self.chance.choice([one for one in self.machines if one is not machine])
        for path in self._some(other):
            data = (other.raw.home / path).read_bytes()
            if session_of(path) not in machine.raw.forgotten and path not in machine.raw.files and data.endswith(b"\n"):
                machine.raw.copy(path, data)
                machine.raw.talk(path, self.chance)

    def delete(self, machine: Machine) -> None:
        for path in self._some(machine, 1):
            machine.keep()
            machine.raw.delete(path)

    def forget(self, machine: Machine) -> None:
        """A session that all of them have, wherever it is from."""
        if known := sorted(self.known - self.gone):
            session = self.chance.choice(known)
            self.gone.add(session)
            for name, files in self.at_peace.items():
                self.taken[name] |= {place: was for place, was in files.items() if session_of(place.path) == session}
            ran = machine.run("archive", "forget", session, "--yes")
            assert ran.returncode == 0, ran.stderr
            machine.raw.forgotten.add(session)

    def kill(self, machine: Machine) -> None:
        machine.sync_until_killed(self.chance.randint(1, 60))

    def lose_state(self, machine: Machine) -> None:
        for path in (machine.library / "sync").glob("shared.sqlite*"):
            path.unlink()

    def lose_index(self, machine: Machine) -> None:
        shutil.rmtree(machine.library / "index", ignore_errors=True)

    def lose_object(self, machine: Machine) -> None:
        if names := self._names(machine):
            self.objects.delete(self.chance.choice(names))

    def tear_object(self, machine: Machine) -> None:
        if names := self._names(machine):
            name = self.chance.choice(names)
            data = self.objects.read()[name]
            self.objects.put(name, data[: self.chance.choice([0, 1, len(data) // 2, len(data) - 1])])

    def junk(self, machine: Machine) -> None:
        """An object with a higher number, or a log that counts more, with nothing or with another's bundle in it."""
        name = self.chance.choice(self._names(machine) or [""])
        if match := OBJECT.fullmatch(name):
            device, log, _, last = match.groups()
            at = int(last) + self.chance.randint(1, 3)
            log = self.chance.choice([log, "999999-0badc0de"])
            data = self.chance.choice([b"", b"junk", self.objects.read()[name]])
            self.objects.put(f"backscroll/1/{device}/{log}/{at:010}-{at:010}.0", data)

    def replay(self, _: Machine) -> None:
        """An object that was there before is there again."""
        was = [name for name in self.yesterday if OBJECT.fullmatch(name)]
        if was:
            name = self.chance.choice(was)
            self.objects.put(name, self.yesterday[name])

    def set_back(self, _: Machine) -> None:
        """The whole remote is what it was in peace before."""
        if self.yesterday:
            for name in self.objects.read():
                self.objects.delete(name)
            for name, data in self.yesterday.items():
                self.objects.put(name, data)

    def lose_key(self, _: Machine) -> None:
        if KEY in self.objects.read():
            self.objects.delete(KEY)
            if self.chance.random() < 0.5:
                self.objects.put(KEY, b"{}")

    def _some(self, machine: Machine, most: int = 3) -> list[str]:
        there = machine.raw.there
        return self.chance.sample(there, min(len(there), self.chance.randint(1, most)))

    def _names(self, machine: Machine) -> list[str]:
        names = (name for name in self.objects.read() if OBJECT.fullmatch(name))
        return sorted(name for name in names if machine.id in name) or sorted(names)

    # Peace

    def peace(self) -> None:
        """Every machine syncs until none has anything to say, and answers; then all are compared."""
        for machine in self.machines:
            if self.chance.random() < 0.5:
                machine.raw.finish()
        self._settle()
        if not {"replay", "set_back"}.isdisjoint(self.done[-PEACE_AFTER:]):
            for machine in self.machines:  # what was there before may be as long as what is there now
                machine.run("sync", "verify", "--deep", "--repair")
            self._settle()
        for machine in self.machines:
            self.compare(machine)
            self.at_peace[machine.name] = self._files(machine, lambda _: True)
            ran = machine.run("sync", "verify", "--deep")
            assert ran.returncode == 0, (ran.stdout, self.done)
        self.check_remote()
        self.yesterday = self.objects.read()
        raw = [machine.raw for machine in self.machines]
        self.known = {session for one in raw for path in one.files if (session := session_of(path))} - self.gone

    def _settle(self) -> None:
        said = [""]
        for _ in range(MOST_ROUNDS):
            said = []
            for machine in self.machines:
                ran = machine.sync()
                said.append(ran.stdout + ran.stderr)
                self._answer(machine)
                is_silent = ran.returncode == 0 and "nothing to send; nothing new" in ran.stdout
                said[-1] = "" if is_silent and ran.stdout.count("\n") == 1 else said[-1]
            if not any(said):
                break
        assert not any(said), (said, self.done)

    def _answer(self, machine: Machine) -> None:
        asked = [chat["id"] for chat in machine.json("sync", "forgets")["chats"]]
        for session in asked:
            assert session in self.gone, "nobody forgot it"
            answer = self.chance.choice(["--agree", "--refuse"])
            ran = machine.run("sync", "forgets", session, answer)
            assert ran.returncode == 0, ran.stderr
            if answer == "--agree":
                machine.raw.forgotten.add(session)

    def _files(self, machine: Machine, wanted: Callable[[Place], bool]) -> Files:
        """What a machine can have of all files."""
        found: Files = {}
        for other in self.machines:
            for path, file in other.raw.files.items():
                versions = file.versions if other is machine else file.leaves(path)
                if wanted(place := Place(other.name, path)):
                    found[place] = [version for version in versions if version]
        return {place: versions for place, versions in found.items() if versions}

    def compare(self, machine: Machine) -> None:
        """What a machine keeps and shows is what the record says."""
        kept = self.kept(machine)
        forgotten = machine.raw.forgotten
        expected = self._files(machine, lambda place: session_of(place.path) not in self.gone)
        assert {place: kept.get(place) for place in expected} == expected, self.done
        others = kept.keys() - expected.keys()
        assert {session_of(place.path) for place in others} <= self.gone - forgotten, self.done
        for place, was in self.taken[machine.name].items():
            if session_of(place.path) not in forgotten:
                assert kept[place][-1].startswith(was[-1]), (place, self.done)
        self.compare_index(machine, kept)

    def compare_index(self, machine: Machine, files: Files) -> None:
        counted = count(files)
        rows = "select distinct uuid from v_messages where uuid is not null"
        assert {row[0] for row in self.sql(machine, rows)} == counted.uuids, self.done
        usage = {
            row[0]: tuple(row[1:]) for row in self.sql(machine, f"select message, {', '.join(TOKENS)} from v_usage")
        }
        assert usage == counted.usage, self.done
        words = {session: word for one in self.machines for session, word in one.raw.words.items()}
        shown = {session_of(place.path) for place in files}
        for session in self.chance.sample(sorted(words), min(3, len(words))):
            found = machine.json("search", words[session])
            assert bool(found["hits"] and not found["corrections"]) == (session in shown), (session, self.done)

    @staticmethod
    def sql(machine: Machine, statement: str) -> list[list[Any]]:
        rows: list[list[Any]] = machine.json("sql", statement, "--limit", "1000000")["rows"]
        return rows

    def kept(self, machine: Machine) -> Files:
        """What an archive has, read by its format alone."""
        names = {(one.id, str(one.raw.home)): one.name for one in self.machines}
        kept = kept_in(machine.library / "archive")
        assert {(key.machine, key.home) for key in kept} <= names.keys()
        files = {Place(names[key.machine, key.home], key.path): data for key, data in kept.items()}
        whole = {place: [version for version in versions if version] for place, versions in files.items()}
        return {place: versions for place, versions in whole.items() if versions}

    def check_remote(self) -> None:
        """Nothing is left there of what its machine has forgotten."""
        objects = self.objects.read()
        if KEY in objects:
            return  # who has no key cannot say
        forgotten = {machine.id: machine.raw.forgotten for machine in self.machines}
        for name, data in objects.items():
            match = OBJECT.fullmatch(name)
            assert match, name
            for index in indexes_of(data):
                there = {session_of(entry["file"]["path"]) for entry in index["entries"] if entry.get("file")}
                assert not there & forgotten[match[1]], (name, self.done)

    def newcomer(self) -> None:
        """A new machine takes everything that the remote has."""
        machine = Machine(self.root, "newcomer", self.objects.address, itertools.count(10**9))
        machine.add()
        kept = self.kept(machine)
        expected: Files = {}
        for other in self.machines:
            own = self._files(machine, lambda place, other=other: place.machine == other.name)  # type: ignore[misc]
            expected |= {
                place: versions for place, versions in own.items()
                if session_of(place.path) not in other.raw.forgotten
            }  # fmt: skip
        asked = {chat["id"] for chat in machine.json("sync", "forgets")["chats"]}
        assert asked == {session for place in expected if (session := session_of(place.path)) in self.gone}
        assert kept == expected, self.done
        shown = {place: data for place, data in kept.items() if session_of(place.path) not in asked}
        self.compare_index(machine, shown)


@pytest.fixture
def objects(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Objects:
    if request.param == "s3":
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": request.getfixturevalue("s3")}.items():
            monkeypatch.setenv(name, value)
        return BucketObjects(f"{tmp_path.parent.name}-{tmp_path.name}")
    if request.param == "encrypted":
        monkeypatch.setenv("BACKSCROLL_PASSPHRASE", "correct horse")
    return FolderObjects(tmp_path / "remote")


def play(root: Path, objects: Objects, seed: int, phases: int) -> None:
    world = World(root, objects, random.Random(seed))
    for number in range(1, phases + 1):
        world.phase()
        if number % PEACE_AFTER == 0 or number == phases:
            world.peace()
    world.newcomer()


@pytest.mark.slow
@pytest.mark.parametrize("objects", ["folder"], indirect=True)
def test_every_library_is_what_an_independent_record_says(tmp_path: Path, objects: Objects) -> None:
    play(tmp_path, objects, seed=7, phases=14)


@pytest.mark.all
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("objects", ["folder", "s3", "encrypted"], indirect=True)
def test_every_library_is_what_the_record_says_after_many_phases(tmp_path: Path, objects: Objects, seed: int) -> None:
    play(tmp_path, objects, seed, phases=28)
