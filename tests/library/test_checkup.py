"""`doctor --deep`: what is wrong with a library is found, and named with what to do about it."""

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from backscroll.library.marks import change_marks
from backscroll.library.setup import checkup
from backscroll.library.setup.checkup import Check, check_library
from tests.library.support import Shelf, local_store
from tests.support.command import run_command
from tests.support.homes import FAMILIES

SMALL = ("1.0 resume copies", "2.1.250 titles", "forks")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    found = Shelf(tmp_path)
    for family in SMALL:
        found.write(FAMILIES[family])
    found.update()
    change_marks(found.folder, lambda marks: marks.pin(["0a0a0a0a-1111-4222-8333-444455556666"]))
    return found


def check(shelf: Shelf) -> dict[str, Check]:
    return {found.name: found for found in check_library(shelf.settings, shelf.open().homes)}


def unsound(shelf: Shelf) -> list[str]:
    return [name for name, found in check(shelf).items() if not found.is_sound]


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0x10
    put(path, bytes(content))


def put(path: Path, content: bytes) -> None:
    """As another file: the engine may still have the first one mapped."""
    fresh = path.with_suffix(".fresh")
    fresh.write_bytes(content)
    fresh.replace(path)


def test_a_sound_library_is_said_to_be_sound(shelf: Shelf) -> None:
    assert unsound(shelf) == []
    assert list(check(shelf)) == ["place", "archive", "index", "marks", "permissions", "free space"]


def test_a_library_that_is_not_there_yet_is_sound(tmp_path: Path) -> None:
    assert unsound(Shelf(tmp_path)) == []


def test_looking_changes_nothing(shelf: Shelf) -> None:
    before = {path: path.read_bytes() for path in shelf.folder.rglob("*") if path.is_file() and path.suffix != ".lock"}
    check(shelf)
    assert {path: path.read_bytes() for path in before} == before


def test_a_changed_byte_in_a_pack_is_found(shelf: Shelf) -> None:
    damage(next((shelf.folder / "archive" / "packs").glob("*.pack")))
    assert unsound(shelf) == ["archive"]
    assert "backscroll keep" in check(shelf)["archive"].hint


def test_a_changed_byte_in_any_file_of_the_words_is_found(shelf: Shelf) -> None:
    with shelf.open() as library:
        folder = local_store(library).text.folder
    segments = [path for path in folder.iterdir() if path.suffix not in (".json", ".lock")]
    assert len(segments) >= 6
    for path in segments:
        before = path.read_bytes()
        damage(path)
        assert unsound(shelf) == ["index"], path.name
        put(path, before)
    assert unsound(shelf) == []


def test_rows_that_are_cut_off_are_found(shelf: Shelf) -> None:
    with shelf.open() as library:
        rows = local_store(library).file
    put(rows, rows.read_bytes()[: rows.stat().st_size // 2])
    assert unsound(shelf) == ["index"]
    assert "backscroll update" in check(shelf)["index"].hint


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("delete from blocks where id = (select max(id) from blocks)", "words point to passages that are not there"),
        ("delete from files where id = 1", "records without their file"),
    ],
)
def test_rows_and_words_that_do_not_agree_are_found(shelf: Shelf, statement: str, said: str) -> None:
    with shelf.open() as library:
        local_store(library).start_writing().connection.execute(statement)
    assert any(said in problem for problem in check(shelf)["index"].problems)


def test_a_passage_that_no_word_leads_to_is_found(shelf: Shelf) -> None:
    with shelf.open() as library:
        store = local_store(library).start_writing()
        [(block,)] = store.connection.execute("select min(id) from blocks where role = 'prompt'").fetchall()
        store.text.delete([int(str(block))])
        store.text.commit()
    assert check(shelf)["index"].problems == ["1 passages cannot be found by their words"]


def test_passages_that_wait_to_be_indexed_are_no_problem(shelf: Shelf) -> None:
    shelf.write(FAMILIES["damaged"])
    with shelf.open() as library:
        library.refresh(with_text=False)
        assert library.reader.pending().passages > 0
    assert unsound(shelf) == []


def test_marks_that_cannot_be_read_are_found(shelf: Shelf) -> None:
    (shelf.folder / "marks.json").write_text("{")
    assert unsound(shelf) == ["marks"]


def test_a_library_that_others_can_enter_is_found(shelf: Shelf) -> None:
    shelf.folder.chmod(0o755)
    assert unsound(shelf) == ["permissions"]
    assert "chmod -R go=" in check(shelf)["permissions"].hint


def test_a_disk_without_room_is_found(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "LEAST_FREE", 10**18)
    assert unsound(shelf) == ["free space"]


def test_the_command_says_so_and_ends_with_1(shelf: Shelf) -> None:
    def doctor(*arguments: str) -> CompletedProcess[str]:
        return run_command("doctor", *arguments, "--home", shelf.home, "--library", shelf.folder)

    sound = doctor("--deep", "--json")
    assert (sound.returncode, [found["ok"] for found in json.loads(sound.stdout)["checks"]]) == (0, [True] * 6)
    damage(next((shelf.folder / "archive" / "packs").glob("*.pack")))
    found = doctor("--deep")
    assert found.returncode == 1
    assert "archive      PROBLEM" in found.stdout
    assert "the library needs attention: archive" in found.stderr
    assert "checks" not in json.loads(doctor("--json").stdout)
