"""A sample of the damaged databases of `bench/fuzz_database.py`; a release tries thousands."""

from pathlib import Path

import pytest

from backscroll.files.discovery import HomeFile
from bench import fuzz_database


def test_a_damaged_database_is_read_as_far_as_possible_or_says_why_not(tmp_path: Path) -> None:
    outcome = fuzz_database.run(tmp_path, seed=1, first=0, inputs=40)

    assert outcome.failures == {}
    assert outcome.lines > 100
    assert outcome.said.total() > 20


def test_the_same_number_is_the_same_input(tmp_path: Path) -> None:
    sound = fuzz_database.sound_databases(tmp_path)
    made = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        fuzz_database.make(sound, 1, 7, tmp_path / name)
        made.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})

    assert made[0] == made[1]


def test_the_loop_finds_an_exception_and_a_file_that_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(container: HomeFile) -> list[HomeFile]:
        (container.path.parent / "left behind").touch()
        return []

    def failing(container: HomeFile) -> list[HomeFile]:
        raise KeyError(container.name)

    for read, failure in ((careless, "BrokenPromiseError"), (failing, "KeyError")):
        monkeypatch.setattr(fuzz_database, "find_inside", read)
        folder = tmp_path / failure
        folder.mkdir()
        outcome = fuzz_database.run(folder, seed=1, first=0, inputs=1)
        assert [name.partition(" ")[0] for name in outcome.failures] == [failure]
