"""The system gives fewer bytes than it was asked for, or interrupts or refuses reading, as network file systems do.

A library that is loaded into the process does it to every file of the home, and where it says so of the library.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final

import pytest
from bench.generate import Mix, generate

from tests.support.samples import TRY_ALL, some

SOURCE: Final = Path(__file__).with_name("reads.c")
SHORT: Final = "SHORT"
BAD: Final = [
    pytest.param(SHORT, 1, id="short"),
    pytest.param(errno.EINTR, 2, id="interrupted", marks=pytest.mark.all),
]

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or sys.platform != "linux", reason="there is no C compiler, or this is not Linux"
)


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("reads") / "reads.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", built, SOURCE, "-ldl"], check=True)
    return built


class World:
    """A user whose disk reads badly when it is told to."""

    def __init__(self, root: Path, preloaded: Path) -> None:
        self.root, self.preloaded = root, preloaded
        self.home, self.library = root / "home" / ".claude", root / "home" / "library"
        generate(self.home, sessions=4, total_bytes=300_000 if TRY_ALL else 60_000, seed=5, mix=Mix(problems=0.0))

    def run(
        self, *words: object, fault: int | str | None = None, below: Path | None = None, every: int = 1
    ) -> CompletedProcess[str]:
        """A command; with a fault, each read of a file below a folder has it, or only every n-th."""
        own = {"HOME": str(self.root / "home"), "BACKSCROLL_LIBRARY": str(self.library), "LANG": "C.UTF-8"}
        if fault is not None:
            own |= {"LD_PRELOAD": str(self.preloaded), "READS_FAIL": str(fault), "READS_EVERY": str(every)}
            own["READS_BELOW"] = str(below or self.home)
        command = [sys.executable, "-P", "-m", "backscroll", *map(str, words)]
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "TMPDIR") if name in os.environ}
        return subprocess.run(command, env={**kept, **own}, capture_output=True, text=True, timeout=120, check=False)

    def must(self, *words: object, fault: int | str | None = None, below: Path | None = None, every: int = 1) -> str:
        done = self.run(*words, fault=fault, below=below, every=every)
        assert done.returncode == 0, done
        return done.stdout

    def answers(self, fault: int | str | None = None, every: int = 1) -> list[Any]:
        """What it shows of its library, whichever computer it is on."""

        def ask(*words: object) -> Any:  # noqa: ANN401 - whatever JSON says
            return json.loads(self.must(*words, "--json", fault=fault, below=self.root / "home", every=every))

        chats = ask("list", "--limit", 100)["chats"]
        for chat in chats:
            del chat["machines"]
        shown = ask("show", chats[0]["id"])["messages"]
        return [chats, shown, ask("search", "the error")["total"], ask("stats", "usage")["total"]]

    def sessions(self) -> list[Path]:
        return sorted(path for path in self.home.glob("projects/*/*.jsonl") if not path.name.startswith("agent-"))

    def check_kept(self) -> None:
        """Everything in the home is kept as it is, and nothing else."""
        out = self.root / "out"
        shutil.rmtree(out, ignore_errors=True)
        assert "everything is intact" in self.must("archive", "verify")
        for session in self.sessions():
            self.must("archive", "restore", session.stem, "--to", out)
            assert (out / session.relative_to(self.home)).read_bytes() == session.read_bytes()


@pytest.fixture
def world(tmp_path: Path, preloaded: Path) -> World:
    return World(tmp_path, preloaded)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "every"), BAD)
def test_reads_that_give_less_or_are_interrupted_change_nothing(world: World, fault: int | str, every: int) -> None:
    everything = world.root / "home"
    world.must("update", fault=fault, below=everything, every=every)
    found = world.answers(fault, every)
    backup = world.root / "home" / "backup"
    world.must("archive", "backup", backup, fault=fault, below=everything, every=every)
    world.check_kept()
    assert world.answers() == found
    shutil.rmtree(world.library)
    world.must("archive", "restore-backup", backup, fault=fault, below=everything, every=every)
    world.check_kept()
    assert world.answers() == found


@pytest.mark.parametrize(("fault", "every"), BAD)
def test_what_is_not_forgotten_survives_a_forgetting_with_short_reads(
    world: World, fault: int | str, every: int
) -> None:
    world.must("update")
    gone = world.sessions()[0]
    world.must("archive", "forget", gone.stem, "--yes", fault=fault, below=world.library, every=every)
    gone.unlink()
    world.check_kept()


@pytest.mark.parametrize(
    "fault", [pytest.param(errno.EIO, id="EIO", marks=pytest.mark.all), pytest.param(errno.EAGAIN, id="EAGAIN")]
)
@pytest.mark.slow
@pytest.mark.parametrize("every", some([2, 3, 5, 7, 11, 13, 17, 23], share=8))
def test_what_cannot_be_read_is_said_and_read_the_next_time(world: World, fault: int, every: int) -> None:
    world.must("update")
    expected = world.answers()
    shutil.rmtree(world.library)
    done = world.run("update", fault=fault, every=every)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1), done
    assert f"cannot be read: {world.home}" in done.stderr
    assert os.strerror(fault) in done.stderr
    world.must("update")
    world.check_kept()
    assert world.answers() == expected


@pytest.mark.parametrize(
    "fault", [pytest.param(errno.EIO, id="EIO", marks=pytest.mark.all), pytest.param(errno.EAGAIN, id="EAGAIN")]
)
def test_what_of_a_backup_could_not_be_read_is_restored_by_the_next_attempt(world: World, fault: int) -> None:
    backup = world.root / "backup"
    world.must("update")
    world.must("archive", "backup", backup)
    shutil.rmtree(world.library)
    done = world.run("archive", "restore-backup", backup, fault=fault, below=backup / "packs", every=2)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done
    assert "could not be read from the backup\n  next: run backscroll archive restore-backup" in done.stderr
    assert "restored only in part" in world.run("list").stderr
    world.must("archive", "restore-backup", backup)
    world.check_kept()
    assert "restored only in part" not in world.run("list").stderr
