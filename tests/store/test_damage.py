"""A damaged index is rebuilt, whatever the damage. Nothing is lost, and the answers are the same."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from backscroll.errors import BackscrollError, Busy, NothingFound
from backscroll.store.local.database import RowsFileState, connect, create, examine
from tests.library.support import Answers, Shelf, differences
from tests.support.command import forked_processes
from tests.support.drawings import draw, jsonl
from tests.support.homes import FAMILIES, session_file
from tests.support.samples import some

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event

QUERIES: Final = ("zebra", "the", "role:title a", "checkout", "is:agent the", '"go on"')


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shelf, Answers]:
    """A library that is whole, and its answers."""
    shelf = Shelf(tmp_path_factory.mktemp("made"))
    shelf.write(FAMILIES["1.0 resume copies"]).write(FAMILIES["2.1.250 titles"]).write(FAMILIES["2.0.28 agents beside"])
    for number in range(6):
        rows = "\n".join(f"a{number}x{n} <- a{number}x{n - 1} user: the zebra {number} {n}" for n in range(60))
        shelf.write(session_file(f"Z{number}", rows))
    shelf.update()
    return shelf, shelf.answers(QUERIES)


@pytest.fixture
def shelf(made: tuple[Shelf, Answers], tmp_path: Path) -> Shelf:
    """A library of its own of the same home."""
    whole, _ = made
    shelf = Shelf(whole.root)
    shelf.folder = tmp_path / "library"
    shutil.copytree(whole.folder, shelf.folder)
    return shelf


def rows_of(shelf: Shelf) -> Path:
    return shelf.generation / "rows.sqlite"


def overwritten(path: Path) -> None:
    path.write_bytes(b"\xff" * 4096 + path.read_bytes()[4096:])


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def a_text(path: Path) -> None:
    path.write_text("this is no database\n" * 100)


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("create table files (path text)")
    connection.close()


@pytest.mark.parametrize("damage", [overwritten, cut, emptied, a_text, foreign])
def test_damaged_rows_are_rebuilt_with_a_notice(
    shelf: Shelf, made: tuple[Shelf, Answers], damage: Callable[[Path], None]
) -> None:
    damage(rows_of(shelf))
    old = shelf.generation
    updated = shelf.update()
    assert [notice for notice in updated.notices if "was made again" in notice]
    assert not old.exists()
    assert sorted(path.name for path in shelf.index.iterdir()) == sorted(["current", "lock", shelf.generation.name])
    assert differences(shelf.answers(QUERIES), made[1]) == []
    assert shelf.update().notices == []


@pytest.mark.parametrize("damage", [overwritten, cut, emptied, a_text, foreign])
def test_a_reader_gets_an_error_and_changes_nothing(shelf: Shelf, damage: Callable[[Path], None]) -> None:
    damage(rows_of(shelf))
    before = {path: path.read_bytes() for path in shelf.index.rglob("*") if path.is_file()}
    for ask in (lambda: shelf.found("zebra"), lambda: shelf.sql("select count(*) from v_chats")):
        with pytest.raises(BackscrollError) as told:
            ask()
        assert "backscroll update" in told.value.hint
    assert {path: path.read_bytes() for path in before} == before


def test_rows_that_are_gone_take_the_words_with_them(shelf: Shelf, made: tuple[Shelf, Answers]) -> None:
    rows_of(shelf).unlink()
    with pytest.raises(NothingFound):
        shelf.found("zebra")
    shelf.update()
    assert differences(shelf.answers(QUERIES), made[1]) == []


def test_leftovers_of_a_crash_next_to_missing_rows_are_harmless(shelf: Shelf, made: tuple[Shelf, Answers]) -> None:
    with shelf.open() as library:
        library.store.start_writing().note("a crash", "is near")
        left = {path: path.read_bytes() for path in shelf.generation.glob("rows.sqlite-*")}
    assert len(left) == 2
    rows_of(shelf).unlink()
    for path, data in left.items():
        path.write_bytes(data)
    shelf.update()
    assert differences(shelf.answers(QUERIES), made[1]) == []
    connection = connect(rows_of(shelf), write=False)
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


def test_damage_anywhere_in_the_rows_is_met_with_no_other_error(shelf: Shelf, made: tuple[Shelf, Answers]) -> None:
    """An update mends what it meets; what it does not meet, a rebuild does."""
    random = Random(5)
    whole = rows_of(shelf).read_bytes()
    words = shutil.copytree(shelf.generation / "text", shelf.folder / "words")
    noticed = 0
    for _ in range(25):
        broken = bytearray(whole)
        at = random.randrange(len(broken) - 600)
        broken[at : at + 600] = random.randbytes(600)
        for path in shelf.generation.glob("rows.sqlite*"):
            path.unlink()
        rows_of(shelf).write_bytes(broken)
        shutil.rmtree(shelf.generation / "text")
        shutil.copytree(words, shelf.generation / "text")
        try:
            shelf.answers(QUERIES)
        except BackscrollError:
            noticed += 1
        noticed += bool(shelf.update().notices)
    assert noticed > 10
    with shelf.open() as library:
        library.rebuild()
    assert differences(shelf.answers(QUERIES), made[1]) == []


@pytest.mark.all
@pytest.mark.parametrize("has_log", [False, True], ids=["without a log", "with a log"])
def test_rows_that_lost_their_end_give_no_answer(shelf: Shelf, has_log: bool) -> None:
    """SQLite reads what is behind the end of a file as zeros."""
    with shelf.open() as library:
        library.store.start_writing().note("something", "in the log")
        names = ("rows.sqlite-wal", "rows.sqlite-shm") if has_log else ()
        log = {name: (shelf.generation / name).read_bytes() for name in names}
    whole = rows_of(shelf).read_bytes()
    for length in range(200, len(whole), len(whole) // 30):
        for path in shelf.generation.glob("rows.sqlite*"):
            path.unlink()
        for name, data in {**log, "rows.sqlite": whole[:length]}.items():
            (shelf.generation / name).write_bytes(data)
        with pytest.raises(BackscrollError):
            shelf.sql("select count(*) from v_chats")
        assert examine(rows_of(shelf)) is RowsFileState.DAMAGED


def test_rows_whose_end_is_only_in_the_log_are_read(tmp_path: Path) -> None:
    """As after a crash while the log was being written into the file: its head comes first."""
    path = tmp_path / "rows.sqlite"
    create(path)
    connection = connect(path, write=True)
    connection.execute("pragma wal_autocheckpoint = 0")
    connection.execute("begin")
    for number in range(500):
        connection.execute("insert into marks values (?, ?)", (f"mark {number}", "x" * 500))
    connection.execute("commit")
    log, before = Path(f"{path}-wal").read_bytes(), path.read_bytes()
    connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    after = path.read_bytes()
    connection.close()
    assert len(after) > len(before)
    path.write_bytes(after[: len(before)])
    assert examine(path) is RowsFileState.DAMAGED
    Path(f"{path}-wal").write_bytes(log)
    assert examine(path) is RowsFileState.OURS
    connection = connect(path, write=False)
    assert connection.execute("select count(*) from marks where name like 'mark %'").fetchall() == [(500,)]
    connection.close()
    Path(f"{path}-wal").write_bytes(log[: len(log) // 2])
    assert examine(path) is RowsFileState.DAMAGED


# The words.


def gone(path: Path) -> None:
    path.unlink()


DAMAGES: Final = (gone, cut, emptied, overwritten)


@pytest.mark.parametrize("damage", DAMAGES)
def test_unusable_words_are_rebuilt(shelf: Shelf, made: tuple[Shelf, Answers], damage: Callable[[Path], None]) -> None:
    names = [path.name for path in sorted((shelf.generation / "text").iterdir()) if not path.name.endswith(".lock")]
    assert len(names) > 5
    wrong = []
    for name in some(names, DAMAGES.index(damage), share=3):
        broken = Shelf(shelf.root)
        broken.folder = shelf.folder.with_name(name)
        shutil.copytree(shelf.folder, broken.folder)
        file = broken.generation / "text" / name
        damage(file)
        before = {path.name: path.read_bytes() for path in file.parent.iterdir()}
        try:
            broken.found("zebra")
        except BackscrollError:
            pass
        except BaseException as error:
            wrong.append((name, "search", repr(error)))
        if {path.name: path.read_bytes() for path in file.parent.iterdir()} != before:
            wrong.append((name, "search", "a reader changed something"))
        try:
            broken.update()
            try:
                answers = broken.answers(QUERIES)
            except BackscrollError as error:
                assert "update --rebuild" in error.hint
                shutil.rmtree(broken.index)
                broken.update()
                answers = broken.answers(QUERIES)
            if found := differences(answers, made[1]):
                wrong.append((name, "update", str(found)[:200]))
        except BaseException as error:
            wrong.append((name, "update", repr(error)))
    assert wrong == []


def test_missing_words_are_rebuilt(shelf: Shelf, made: tuple[Shelf, Answers]) -> None:
    shutil.rmtree(shelf.generation / "text")
    with shelf.open() as library:
        found = library.search("zebra")
        assert (found.total, found.pending > 100) == (0, True)
    assert not (shelf.generation / "text").exists()
    shelf.update()
    assert differences(shelf.answers(QUERIES), made[1]) == []


# Several at once.


def test_a_second_writer_is_told_which_process_is_writing_and_readers_continue(shelf: Shelf) -> None:
    with shelf.open() as library:
        library.store.start_writing()
        with pytest.raises(Busy) as told:
            shelf.update()
        assert "another process is updating the library" in told.value.message
        assert "reading and searching work meanwhile" in told.value.hint
        assert len(shelf.found("checkout")) > 0
        shelf.write(session_file("new", "@ session=new\na <- - user: nobody has indexed this"))
        command = [sys.executable, "-m", "backscroll", "--library", str(shelf.folder), "--home", str(shelf.home)]
        done = subprocess.run([*command, "update"], capture_output=True, text=True, check=False)
        assert done.returncode == Busy.exit_code
        assert "another process is updating the library" in done.stderr
        assert "Traceback" not in done.stderr
    shelf.update()


def write(shelf: Shelf, stop: "Event", done: "Synchronized[int]") -> None:
    while not stop.is_set():
        try:
            shelf.update()
            with done.get_lock():
                done.value += 1
        except Busy:
            time.sleep(0.002)


def read(shelf: Shelf, stop: "Event", done: "Synchronized[int]") -> None:
    while not stop.is_set():
        try:
            with shelf.open() as library:
                found = library.search("zebra", limit=100, hits=100)
                for chat in found.chats:
                    shown = [(passage.hit.uuid, passage.hit.role) for passage in chat.passages if passage.hit.uuid]
                    assert len(shown) == len(set(shown)), "doubled"
                library.chats()
                library.sql("select count(*) from v_messages")
            with done.get_lock():
                done.value += 1
        except NothingFound:  # not made yet
            time.sleep(0.002)


def work(
    role: str, root: Path, stop: "Event", done: "Synchronized[int]", answers: "Queue[tuple[str, str | None]]"
) -> None:
    try:
        {"write": write, "read": read}[role](Shelf(root), stop, done)
        answers.put((role, None))
    except BaseException as error:
        answers.put((role, repr(error)))
        raise


@pytest.mark.all
def test_several_who_update_and_read_at_once(tmp_path: Path) -> None:
    """From nothing on, while the home goes on, until each has come to it several times."""
    shelf = Shelf(tmp_path)
    for number in range(4):
        shelf.write(session_file(f"Z{number}", f"a{number} <- - user: hello"))
    context = forked_processes()
    answers: Queue[tuple[str, str | None]] = context.Queue()
    stop = context.Event()
    done = {role: context.Value("i", 0) for role in ("write", "read")}
    roles = ("write", "write", "write", "read", "read")
    workers = [context.Process(target=work, args=(role, tmp_path, stop, done[role], answers)) for role in roles]
    for worker in workers:
        worker.start()
    written = 0
    while min(count.value for count in done.values()) < 6 and all(worker.is_alive() for worker in workers):
        name = f"Z{written % 4}"
        shelf.append(name, jsonl(draw(f"z{written} <- a{written % 4} assistant: zebra {written}")))
        written += 1
        time.sleep(0.01)
    stop.set()
    found = [answers.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(60)
    assert [error for _, error in found if error] == []
    shelf.update()
    assert shelf.total("zebra") == written
    shelf.check_rebuilt(["zebra", "hello"])
