"""Words never point at rows that a power cut took, and damage anywhere gives the right answer or none."""

import re
import shutil
from pathlib import Path
from random import Random
from typing import Final

import pytest

from backscroll.errors import BackscrollError
from backscroll.store.local.text import TextIndex
from tests.library.support import Shelf, differences, local_store
from tests.support.drawings import draw, jsonl
from tests.support.homes import FAMILIES, session_file
from tests.support.samples import mostly_in_all

QUERIES: Final = ("zebra", "the", "role:title a", "beta3", "gamma3", "is:agent the", '"go on"')


def test_words_of_rows_that_a_power_cut_took_are_not_searched(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.write(session_file("M", "m0 <- - user: alpha0"))
    shelf.update()
    rows = (shelf.generation / "rows.sqlite").read_bytes()
    beta = "\n".join(f"m{n} <- m{n - 1} assistant: beta{n}" for n in range(1, 6))
    shelf.append("M", jsonl(draw(beta)))
    shelf.update()
    assert shelf.total("beta3") == 1
    # The power is cut: the words are there, the rows are not.
    (shelf.generation / "rows.sqlite").write_bytes(rows)
    gamma = "\n".join(f"g{n} <- g{n - 1} user: gamma{n}" for n in range(1, 6))
    shelf.write(session_file("A", "g0 <- - user: before all others\n" + gamma))
    with shelf.open() as library, pytest.raises(BackscrollError):
        library.search("beta3")
    shelf.update()
    assert [text for text in shelf.found("beta3") if "beta3" not in text] == []
    shelf.check_rebuilt(QUERIES)


def test_a_commit_while_a_reader_opens_the_words_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's list of files is another one each time that it is read."""
    shelf = Shelf(tmp_path)
    shelf.write(session_file("M", "m0 <- - user: alpha0")).update()
    read = TextIndex._meta
    commits = 0

    def committing(self: TextIndex) -> object:
        nonlocal commits
        found = read(self)
        if commits < 8 and self._writer is None:
            commits += 1
            with monkeypatch.context() as patch:
                patch.setattr(TextIndex, "_meta", read)
                shelf.append("M", jsonl(draw(f"m{commits} <- m{commits - 1} assistant: beta{commits}")))
                shelf.update()
        return found

    monkeypatch.setattr(TextIndex, "_meta", committing)
    with shelf.open() as library:
        assert library.search("alpha0").total_chats == 1
    assert commits > 2


def test_rows_are_flushed_before_the_words_that_point_at_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that was written before the words are committed survives, if what SQLite was told to flush does."""
    shelf = Shelf(tmp_path)
    shelf.write(session_file("M", "m0 <- - user: alpha0"))
    told: list[str] = []
    real = TextIndex.commit

    def commit(self: TextIndex) -> int:
        told.append("words")
        return real(self)

    monkeypatch.setattr(TextIndex, "commit", commit)
    with shelf.open() as library:
        store = local_store(library).start_writing()

        def trace(_: object, statement: str, __: object) -> bool:
            if re.match(r"insert|update|delete|pragma synchronous", statement.strip(), re.IGNORECASE):
                told.append(statement.strip())
            return True

        store.connection.exec_trace = trace
        library.update()
        at = told.index("words")
    *_, full, write, normal = told[:at]
    assert full.endswith("full")
    assert write.startswith("insert")
    assert normal.endswith("normal")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    shelf = Shelf(tmp_path_factory.mktemp("whole"))
    shelf.write(FAMILIES["1.0 resume copies"]).write(FAMILIES["2.1.250 titles"])
    for number in range(3):
        rows = "\n".join(f"a{number}x{n} <- a{number}x{n - 1} user: the zebra {number} {n}" for n in range(30))
        shelf.write(session_file(f"Z{number}", rows))
    shelf.update()
    shelf.write(session_file("Z1", "b1 <- - user: another zebra"))  # so that the words have deletions
    shelf.update()
    return shelf


@pytest.mark.parametrize("seed", mostly_in_all(range(8), each=4))
def test_a_changed_byte_anywhere_gives_the_right_answer_or_none(whole: Shelf, tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    golden = whole.answers(QUERIES)
    shelf = Shelf(whole.root)
    shelf.folder = tmp_path / "library"
    wrong = []
    files = [path for path in whole.index.rglob("*") if path.is_file() and path.stat().st_size]
    assert len(files) > 10
    for number in range(8):
        shutil.rmtree(shelf.folder, ignore_errors=True)
        shutil.copytree(whole.folder, shelf.folder)
        sizes = [path.stat().st_size for path in files]
        file = random.choice(files) if number % 2 else random.choices(files, sizes)[0]
        target = shelf.folder / file.relative_to(whole.folder)
        data = bytearray(target.read_bytes())
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        target.write_bytes(data)
        try:
            if found := differences(shelf.answers(QUERIES), golden):
                wrong.append((target.name, "asked", str(found)[:200]))
        except BackscrollError:
            pass
        shelf.update()
        if found := differences(shelf.answers(QUERIES), golden):
            wrong.append((target.name, "updated", str(found)[:200]))
    assert wrong == []


def test_damage_that_nothing_has_read_yet_is_mended_by_an_update(whole: Shelf, tmp_path: Path) -> None:
    """Every page of the rows, and every file of the words, whether or not the update itself needs it."""
    random = Random(1)
    shelf = Shelf(whole.root)
    shelf.folder = tmp_path / "library"
    names = [path.relative_to(whole.folder) for path in (whole.generation / "text").glob("*.*") if len(path.stem) == 32]
    names += [(whole.generation / "rows.sqlite").relative_to(whole.folder)] * 8
    for name in names:
        shutil.rmtree(shelf.folder, ignore_errors=True)
        shutil.copytree(whole.folder, shelf.folder)
        data = bytearray((shelf.folder / name).read_bytes())
        end = len(data)
        if name.suffix != ".sqlite":  # not every byte of the engine's footer means something
            end = max(1, end - 8 - int.from_bytes(data[-8:-4], "little"))
        data[random.randrange(4096 if len(data) > 9000 else 0, end)] ^= 1 << random.randrange(8)
        (shelf.folder / name).write_bytes(data)
        assert [notice for notice in shelf.update().notices if "is damaged" in notice], name
