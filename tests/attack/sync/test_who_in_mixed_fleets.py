"""A machine with an earlier version, which does not sign, beside one that does: the real code of both."""

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.attack.sync.who_forging import forge, last_index
from tests.support.command import place_options, run_command
from tests.support.homes import session_file, write_home
from tests.support.landed import checked_out, run_landed

pytestmark = pytest.mark.all
TALK = """
@ session={0} cwd=/home/ada/{0}
a{0} <- - user: ask about {0}
b{0} <- a{0} assistant(m{0}): told about {0}
"""


class Machine:
    """A machine with a home, a library, and one version or the other."""

    def __init__(self, root: Path, name: str, landed: Path | None) -> None:
        self.home, self.library, self.landed = root / name / "claude", root / name / "library", landed
        self.say(f"S{name}")

    def say(self, session: str) -> None:
        write_home(self.home, session_file(session, TALK.format(session)))

    def run(self, *arguments: object) -> CompletedProcess[str]:
        words = [*arguments, *place_options(arguments, self.home, self.library)]
        return run_landed(self.landed, *words) if self.landed else run_command(*words)

    def sync(self) -> str:
        ran = self.run("sync")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def finds(self, session: str) -> bool:
        """Whether it finds what was said in a session."""
        ran = self.run("search", "told", "--json")
        return f"told about {session}" in ran.stdout

    @property
    def name(self) -> str:
        return str(json.loads((self.library / "machine.json").read_text())["id"])


@pytest.fixture(scope="module")
def landed() -> Iterator[Path]:
    with checked_out() as source:
        yield source


@pytest.fixture
def nas(tmp_path: Path) -> Path:
    folder = tmp_path / "nas"
    folder.mkdir()
    return folder


@pytest.fixture
def fleet(tmp_path: Path, nas: Path, landed: Path) -> tuple[Machine, Machine]:
    """An older laptop and a newer desktop with one remote; each has taken what the other sent."""
    laptop, desktop = Machine(tmp_path, "laptop", landed), Machine(tmp_path, "desktop", None)
    for machine in (laptop, desktop):
        ran = machine.run("sync", "add", "nas", nas, "--mode", "full", "--yes")
        assert ran.returncode == 0, ran.stderr
    laptop.sync()
    return laptop, desktop


def test_each_version_takes_what_the_other_sends(fleet: tuple[Machine, Machine]) -> None:
    laptop, desktop = fleet
    assert (laptop.finds("Sdesktop"), desktop.finds("Slaptop")) == (True, True)
    for machine, other, session in ((laptop, desktop, "S3"), (desktop, laptop, "S4"), (laptop, desktop, "S5")):
        machine.say(session)
        machine.sync()
        other.sync()
        assert other.finds(session)


def test_the_older_one_asks_to_forget_once_it_is_updated(fleet: tuple[Machine, Machine]) -> None:
    laptop, desktop = fleet
    chats = json.loads(laptop.run("list", "--json").stdout)["chats"]
    own = next(chat["id"] for chat in chats if "Slaptop" in json.dumps(chat))
    assert laptop.run("archive", "forget", own, "--yes").returncode == 0
    laptop.sync()
    assert "does not sign" in desktop.sync()
    assert desktop.finds("Slaptop")
    laptop.landed = None
    laptop.sync()
    desktop.sync()
    assert json.loads(desktop.run("sync", "forgets", "--json").stdout)["chats"]


def test_an_updated_machine_signs_once_and_is_not_believed_unsigned_any_more(
    fleet: tuple[Machine, Machine], nas: Path
) -> None:
    laptop, desktop = fleet
    assert "key" not in last_index(nas, laptop.name)[1]
    laptop.landed = None
    laptop.sync()
    assert last_index(nas, laptop.name)[1]["key"]
    assert "known from now on by the key" in desktop.sync()
    number = last_index(nas, laptop.name)[1]["number"]
    laptop.sync()
    assert last_index(nas, laptop.name)[1]["number"] == number
    forge(nas, laptop.name, b'{"type":"user"}\n', path="projects/-x/11111111-1111-4111-8111-000000000001.jsonl")
    ran = desktop.run("sync")
    assert (ran.returncode, "is not signed" in ran.stdout) == (1, True)


def test_a_machine_that_goes_back_to_the_older_version_is_taken_once_the_user_accepts_it(
    fleet: tuple[Machine, Machine], landed: Path
) -> None:
    laptop, desktop = fleet
    laptop.landed = None
    laptop.sync()
    desktop.sync()
    laptop.landed = landed
    laptop.say("S6")
    laptop.sync()
    assert f"run backscroll sync trust {laptop.name}" in desktop.run("sync").stdout
    assert desktop.run("sync", "trust", laptop.name, "--yes").returncode == 0
    desktop.sync()
    assert desktop.finds("S6")
