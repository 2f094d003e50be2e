"""A small home, libraries of it in several states, and the commands that are disturbed.

All libraries are of the same home, which nothing changes while faults happen. A run begins with a copy of the library
that its scenario begins with, always at the same place.
"""

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from tests.support.early import early_uuid, talk, write_database

from backscroll.archive.archive import Archive
from backscroll.archive.verify import verify
from backscroll.files.homes import Home
from backscroll.library.indexing import tasks as tasks_module
from backscroll.library.indexing import words as words_module
from backscroll.library.local import local_library
from backscroll.library.marks import change_marks
from bench.faults.processes import PATIENCE, Child, Ended, answer_of, command, import_everything
from bench.faults.questions import Answers, Crashed, Plain, ask, differences, kept, lost, settings_of
from bench.follow import last_row, unique_word
from bench.generate import Mix, generate

SESSIONS: Final = 5
LIVE_WORD: Final = unique_word(99)
DATABASE: Final = "__store.db"
"""What an early client left in the home: one session that stays, and one that a scenario forgets."""
EARLY_STAYS, EARLY_FORGOTTEN, EARLY_NEW = (unique_word(number) for number in (50, 51, 52))


@dataclass(frozen=True)
class Scenario:
    """A command, and the library that it finds."""

    name: str
    begins_with: str
    """`nothing`, `behind` (the home has changed since), `current` (with a backup that is behind), `lost` (only that
    backup), or `damaged` (the same as `current`, with damage that the backup can mend).
    """
    arguments: tuple[str, ...]
    again: bool = False
    """Whether it must be repeated after a fault; otherwise an update is enough."""
    done_already: int = 0
    """The exit code of one that is repeated although all of it was done."""
    follows: bool = False
    """Whether it runs until it is stopped."""

    @property
    def forgets(self) -> bool:
        """Whether something must be gone afterwards."""
        return self.name.startswith("forget")


@dataclass
class World:
    """Where it all happens."""

    root: Path
    words: list[str] = field(default_factory=list)
    golden: dict[str, Answers] = field(default_factory=dict)
    backed_up: dict[str, list[bytes]] = field(default_factory=dict)
    before: dict[str, dict[str, list[bytes]]] = field(default_factory=dict)
    """What was kept of each file at the start of a scenario."""
    forgotten: str = ""
    live_size: int = 0

    @property
    def home(self) -> Path:
        """The home that Claude Code has written."""
        return self.root / "home"

    @property
    def library(self) -> Path:
        """The library of the present run."""
        return self.root / "run" / "library"

    @property
    def backup(self) -> Path:
        """Its backup."""
        return self.root / "run" / "backup"

    def arguments(self, scenario: Scenario) -> list[str]:
        """The command of a scenario."""
        names = {"BACKUP": str(self.backup), "FORGOTTEN": self.forgotten, "INSIDE": early_uuid("goes")}
        return self.options(*(names.get(argument, argument) for argument in scenario.arguments))

    def options(self, *arguments: str) -> list[str]:
        """A command on the library of the present run."""
        return [*arguments, "--home", str(self.home), "--library", str(self.library)]

    def prepare(self, begins_with: str) -> None:
        """Put the library in place with which a run begins."""
        shutil.rmtree(self.root / "run", ignore_errors=True)
        self.stop_living()
        if begins_with != "nothing":
            shutil.copytree(self.root / begins_with, self.root / "run")
        else:
            (self.root / "run").mkdir()

    def start(self, arguments: list[str], *, waits: bool = False) -> Child:
        """Run a command in a child."""
        return Child(command(arguments), self.root, waits=waits)

    def run(self, *arguments: str) -> Ended:
        """Run a command to its end."""
        return self.start(self.options(*arguments)).wait()

    def answers(self, *, refreshes: bool = False) -> tuple[Answers, Ended]:
        """The answers of the library of the current run."""
        answers, ended = answer_of(partial(ask, self.home, self.library, self.words, refreshes=refreshes), self.root)
        return answers or {"process": Crashed(ended.problem() or f"exit code {ended.code}: {ended.errors}")}, ended

    def follow(self, child: Child, *, is_disturbed: bool = False) -> Ended:
        """See a watching command through: it catches up, something is written to the home, and it is stopped.

        One that is disturbed may never come so far: that is not waited for as long.
        """
        child.wait_until(child.is_watching, 5 if is_disturbed else PATIENCE)
        self.go_on_living()
        child.wait_until(lambda: child.lines() > 0, 2 if is_disturbed else PATIENCE)
        child.signal(signal.SIGINT)
        return child.wait()

    def go_on_living(self) -> None:
        """Write one more row to the live session, unless it is there."""
        if self.live_session.stat().st_size == self.live_size:
            with self.live_session.open("ab") as file:
                file.write(row_after(self.live_session, f"live {LIVE_WORD}"))

    def stop_living(self) -> None:
        """Take back what was written to the home while a command followed it."""
        if self.live_size and self.live_session.stat().st_size != self.live_size:
            os.truncate(self.live_session, self.live_size)
            os.utime(self.live_session, ns=(MODIFIED_NS, MODIFIED_NS))

    @property
    def live_session(self) -> Path:
        """The session that is written to."""
        return min(self.home.glob("projects/*/*.jsonl"))

    def state_of_home(self) -> list[tuple[str, int, int]]:
        """Changes if anything in the home does, but for the live session."""
        live = self.live_session
        return sorted(
            (str(path), path.stat().st_size, path.stat().st_mtime_ns)
            for path in self.home.rglob("*")
            if path.is_file() and path != live
        )

    # After a fault

    def check(self, scenario: Scenario) -> tuple[str | None, Ended]:
        """Once the fault is gone: finish what was begun; what is wrong then, and how the update ended."""
        if scenario.name == "backup" and (problem := self._backup_problem(self.backed_up)):
            return problem, Ended(0, "", "")
        if scenario.again:
            ended = self.start(self.arguments(scenario)).wait()
            if problem := ended.problem(allowed=(0, scenario.done_already)):
                return f"done again: {problem}", ended
        updated = self.run("update")
        if problem := updated.problem(allowed=(0,)):
            return f"update: {problem}", updated
        answers, _ = self.answers()
        if wrong := differences(answers, self.golden[scenario.name]):
            name = min(wrong)
            return f"{len(wrong)} answers differ, such as {name}: {wrong[name]}", updated
        if failed := [f"{name}: {value.message}" for name, value in answers.items() if isinstance(value, Plain)]:
            return f"{len(failed)} questions fail, such as {failed[0]}", updated
        if problem := self._kept_problem(scenario, answers["kept"]):
            return problem, updated
        if scenario.name == "backup" and (problem := self._backup_problem(answers["kept"])):
            return problem, updated
        if scenario.forgets and (left := self._left_of_forgotten(scenario)):
            return f"what was forgotten is still in {left}", updated
        return None, updated

    def acknowledged_problem(self, scenario: Scenario) -> str | None:
        """What is missing although a successful command reported it as done."""
        if scenario.name == "backup":
            return self._backup_problem(self.before["current"])
        if scenario.name not in ("update", "keep"):
            return None
        held, ended = answer_of(partial(kept, self.library / "archive"), self.root)
        return ended.problem() if held is None else self._kept_problem(scenario, held)

    def _kept_problem(self, scenario: Scenario, held: dict[str, list[bytes]]) -> str | None:
        """Nothing that was kept is lost, and what is in the home now is kept as it is."""
        before = self.before.get(scenario.begins_with, {})
        if scenario.name == "forget":
            before = {name: versions for name, versions in before.items() if self.forgotten not in name}
        if scenario.name == "forget-inside":
            before = {name: versions for name, versions in before.items() if DATABASE not in name}
        if gone := lost(before, held):
            return f"the archive has lost {len(gone)} files, such as {gone[0]}"
        for path in self.home.rglob("*.jsonl"):
            versions = held.get(f"{self.home} {path.relative_to(self.home)}", [])
            if not versions or versions[-1] != path.read_bytes():
                return f"{path.name} is not kept as it is"
        versions = held.get(f"{self.home} {DATABASE}", [])
        if not versions or any(word.encode() not in versions[-1] for word in (EARLY_STAYS, EARLY_NEW)):
            return f"{DATABASE} is not kept as it is"
        return None

    def _backup_problem(self, expected: dict[str, list[bytes]]) -> str | None:
        """What is wrong with the backup, which must contain at least this."""

        def look() -> tuple[list[str], dict[str, list[bytes]]]:
            damages = [damage.what for damage in verify(Archive(self.backup)).damages]
            return damages, {} if damages else kept(self.backup)

        answer, ended = answer_of(look, self.root)
        if answer is None:
            return f"the backup cannot be read: {ended.errors[-300:]}"
        damages, held = answer
        if damages:
            return f"the backup is damaged: {damages[0]}"
        gone = lost(expected, held)
        return f"the backup has lost {len(gone)} files, such as {gone[0]}" if gone else None

    def _left_of_forgotten(self, scenario: Scenario) -> str | None:
        word = (self.words[1] if scenario.name == "forget" else EARLY_FORGOTTEN).encode()
        if any(word in data for versions in kept(self.library / "archive").values() for data in versions):
            return "the archive"
        for path in (self.root / "run" / "library").rglob("*"):
            if path.is_file() and word in path.read_bytes():
                return path.name
        return None


SCENARIOS: Final = {
    scenario.name: scenario
    for scenario in (
        Scenario("first", "nothing", ("update",)),
        Scenario("update", "behind", ("update",)),
        Scenario("keep", "behind", ("keep",)),
        Scenario("watch", "behind", ("watch",), follows=True),
        Scenario("backup", "current", ("archive", "backup", "BACKUP"), again=True),
        Scenario("forget", "current", ("archive", "forget", "FORGOTTEN", "--yes"), again=True, done_already=3),
        Scenario("forget-inside", "current", ("archive", "forget", "INSIDE", "--yes"), again=True, done_already=3),
        Scenario("restore", "lost", ("archive", "restore-backup", "BACKUP"), again=True, done_already=2),
        Scenario("repair", "damaged", ("archive", "repair", "--from", "BACKUP"), again=True),
        Scenario("rebuild", "current", ("update", "--rebuild")),
    )
}
MODIFIED_NS: Final = 1_760_000_000_000_000_000


def make_world(root: Path, names: Iterable[str] = ()) -> World:
    """A home that was read, kept and backed up, and has changed since; with what is right after these scenarios."""
    import_everything()
    # Several batches, transactions and commits even of so small a home.
    tasks_module.BATCH_FILES = 2  # type: ignore[misc]
    words_module.PASSAGES_AT_ONCE = 40  # type: ignore[misc]
    words_module.TEXT_PER_COMMIT = 8_000  # type: ignore[misc]
    (root / "tmp").mkdir()
    tempfile.tempdir = str(root / "tmp")  # so that the calls on copies of the database fail, too
    world = World(root)
    generate(world.home, sessions=SESSIONS, total_bytes=40_000, seed=4, mix=Mix(problems=0.0))
    sessions = sorted(world.home.glob("projects/*/*.jsonl"), key=lambda path: path.name)
    for number, path in enumerate(sessions):
        world.words.append(unique_word(number))
        with path.open("ab") as file:
            file.write(row_after(path, f"now look at {world.words[number]} please"))
    early = [("stays", EARLY_STAYS), ("goes", EARLY_FORGOTTEN)]
    rows = [row for name, word in early for row in talk(name, f"look at {word}", f"there is {word}")]
    write_database(world.home / DATABASE, rows)
    _settle(world.home)
    (root / "run").mkdir()
    _must(world.run("update"))
    _must(world.run("archive", "backup", str(world.backup)))
    shutil.copytree(root / "run", root / "behind")
    world.backed_up, _ = answer_of(partial(kept, world.backup), root)
    world.forgotten = sessions[1].stem
    _change(world, sessions)
    _settle(world.home)
    _must(world.run("update"))
    answer_of(partial(_say, world, sessions[0].stem), root)
    shutil.copytree(root / "run", root / "current")
    _lose(root)
    for state in ("lost", "damaged"):
        world.before[state] = world.backed_up
    for state in ("behind", "current"):
        world.before[state], _ = answer_of(partial(kept, root / state / "library" / "archive"), root)
    world.words += [LIVE_WORD, EARLY_STAYS, EARLY_FORGOTTEN, EARLY_NEW]
    world.live_size = world.live_session.stat().st_size
    for name in names:
        world.golden[name] = _golden(world, SCENARIOS[name])
    return world


def row_after(path: Path, text: str) -> bytes:
    """One more prompt of a session, in the shape of its last row."""
    last = last_row(path)
    row: dict[str, Any] = {"parentUuid": last["uuid"], "isSidechain": False, "userType": "external"}
    row |= {name: last[name] for name in ("cwd", "sessionId", "version", "gitBranch") if name in last}
    row |= {"type": "user", "message": {"role": "user", "content": text}}
    row |= {"uuid": str(uuid5(NAMESPACE_URL, f"{last['uuid']} {text}")), "timestamp": "2026-02-01T10:00:00.000Z"}
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def _change(world: World, sessions: list[Path]) -> None:
    """Change a home: sessions grow, are deleted, truncated, changed and started."""
    grown, gone, cut, changed, *_ = sessions
    for number, path in ((SESSIONS, grown), (SESSIONS + 1, changed)):
        world.words.append(unique_word(number))
        with path.open("ab") as file:
            file.write(row_after(path, f"and at {world.words[-1]} too"))
    gone.unlink()
    content = cut.read_bytes()
    cut.write_bytes(content[: content.rfind(b"\n", 0, len(content) * 2 // 3) + 1])
    new = changed.with_name("0a0a0a0a-1111-4222-8333-444455556666.jsonl")
    new.write_bytes(
        b"".join(changed.read_bytes().replace(changed.stem.encode(), new.stem.encode()).splitlines(True)[-1:])
    )
    world.words.append(unique_word(SESSIONS + 2))
    with new.open("ab") as file:
        file.write(row_after(new, f"begun with {world.words[-1]}"))
    write_database(world.home / DATABASE, talk("stays", f"and at {EARLY_NEW}"), begin=50)


def _lose(root: Path) -> None:
    """Two more states: the library is lost but for its backup, or damaged."""
    shutil.copytree(root / "current" / "backup", root / "lost" / "backup")
    shutil.copytree(root / "current", root / "damaged")
    archive = root / "damaged" / "library" / "archive"
    first = min((archive / "packs").iterdir())
    data = bytearray(first.read_bytes())
    for at in range(len(data) // 3, len(data) // 2):
        data[at] ^= 0xFF
    first.write_bytes(data)
    lines = (archive / "catalogue.jsonl").read_bytes().splitlines(True)
    (archive / "catalogue.jsonl").write_bytes(b"".join(lines[: len(lines) * 2 // 3]))
    shutil.rmtree(root / "damaged" / "library" / "index")


def _settle(home: Path) -> None:
    """Give every file the same past, so that nothing depends on when the home was made."""
    for path in home.rglob("*"):
        if path.is_file():
            os.utime(path, ns=(MODIFIED_NS, MODIFIED_NS))


def _say(world: World, session: str) -> None:
    """Add marks to chats, and a saved recall."""

    def change(marks: Any) -> None:  # noqa: ANN401
        marks.pin([session])
        marks.tag([session], ["important"])
        marks.note([session], "read this again")

    change_marks(world.library, change)
    recalls = world.library / "recalls"
    recalls.mkdir(mode=0o700)
    (recalls / "why.md").write_text('---\nquestion: "why?"\n---\nbecause\n')


def _golden(world: World, scenario: Scenario) -> Answers:
    """The answers of a fresh index after the command."""
    world.prepare(scenario.begins_with)
    child = world.start(world.arguments(scenario))
    _must(world.follow(child) if scenario.follows else child.wait(), allowed=(0, 130))
    shutil.rmtree(world.library / "index", ignore_errors=True)
    _must(world.run("update"))
    answers, ended = world.answers()
    _must(ended)
    assert not any(isinstance(value, Plain | Crashed) for value in answers.values()), answers
    return answers


def _must(ended: Ended, allowed: tuple[int, ...] = (0,)) -> None:
    if problem := ended.problem(allowed):
        raise AssertionError(f"without any fault: {problem}\n{ended.errors}")


def temporary_root(keep: Path | None = None) -> Path:
    """A folder for a world, in memory where that is possible."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=keep))
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="faults-", dir=memory if os.access(memory, os.W_OK) else None))


def held_open(world: World, target: Path) -> None:
    """Copy the library while it is open, and so with a log of writes that are not in the database yet."""

    def copy() -> None:
        with local_library(settings_of(world.home, world.library), [Home(world.home)]) as library:
            reader = local_library(settings_of(world.home, world.library), [Home(world.home)])
            reader.chats()
            library.update()
            shutil.copytree(world.library, target)
            reader.close()

    world.prepare("behind")
    answer_of(copy, world.root)
    for name in ("marks.json", "recalls"):
        source = world.root / "current" / "library" / name
        with suppress(FileNotFoundError):
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target / name)
