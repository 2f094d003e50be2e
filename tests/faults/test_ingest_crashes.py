"""An update that is killed, anywhere and again and again: the next one makes the index what it would have been."""

import shutil
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.faults.stops import STOPPED, stopped_update, update
from tests.library.support import Shelf, differences
from tests.support.command import forked_processes
from tests.support.drawings import draw, jsonl
from tests.support.homes import FAMILIES, session_file, session_path
from tests.support.samples import SHARE, numbers

QUERIES: Final = ("the", "checkout", "role:title a", "seen", "line", "done", "release", "is:agent look")
SMALL: Final = ("1.0 resume copies", "2.1.250 titles", "forks", "damaged")


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    return forked_processes()


def first(root: Path) -> Shelf:
    """A home that was never read."""
    shelf = Shelf(root)
    for family in SMALL:
        shelf.write(FAMILIES[family])
    return shelf


def later(root: Path) -> Shelf:
    """One that was, and to which much has happened since."""
    shelf = first(root)
    shelf.update()
    shelf.append("titled", jsonl(draw("ti-z <- ti-d user: done at last\ncustom-title: The third release")))
    shelf.write(session_file("old-begun", "old-z <- - user: rewritten, all of it"))
    shelf.write(session_file("new", "nw-a <- - user: a new one\nnw-b <- nw-a assistant: done"))
    (shelf.home / session_path("old-kept")).unlink()
    moved = shelf.home / session_path("fork-second", "projects/-home-ada-store")
    moved.parent.mkdir(exist_ok=True)
    (shelf.home / session_path("fork-second")).replace(moved)
    return shelf


def in_library(shelf: Shelf, folder: Path) -> Shelf:
    """The same home with another library."""
    other = Shelf(shelf.root)
    other.folder = folder
    return other


@pytest.mark.parametrize(("prepare", "rebuild"), [(first, False), (later, False), (later, True)])
def test_an_update_that_is_stopped_at_any_point(
    tmp_path: Path, processes: ForkServerContext, prepare: Callable[[Path], Shelf], rebuild: bool
) -> None:
    shelf = prepare(tmp_path)
    golden = shelf.rebuilt().answers(QUERIES)
    failures = []
    for points in numbers(2 * (prepare is later) + rebuild):
        stopped = in_library(shelf, tmp_path / f"library-{points}")
        if shelf.folder.exists():
            shutil.copytree(shelf.folder, stopped.folder)
        receiver, sender = processes.Pipe(duplex=False)
        child = processes.Process(target=stopped_update, args=(shelf.home, stopped.folder, points, sender, rebuild))
        child.start()
        child.join()
        stopped.update()
        if found := differences(stopped.answers(QUERIES), golden):
            failures.append((points, found))
        if child.exitcode != STOPPED:
            break
        shutil.rmtree(stopped.folder)
    assert child.exitcode == 0
    names = receiver.recv()
    assert failures == []
    assert points > len(names) > 10
    assert {"before its commit", "after its commit", "before commit", "after commit"} <= set(names)


def test_an_update_that_is_killed_at_any_time(tmp_path: Path, processes: ForkServerContext) -> None:
    """Again and again in the same library, while the home goes on."""
    random = Random(7)
    shelf = first(tmp_path)
    killed = 0
    for number in range(300 // SHARE):
        shelf.write(
            session_file(f"K{number % 7}", f"k{number} <- - user: done {number}\nl{number} <- k{number} assistant: ok")
        )
        child = processes.Process(target=update, args=(shelf.home, shelf.folder))
        child.start()
        time.sleep(random.random() * random.choice([0.02, 0.07]))
        shelf.append("titled", jsonl(draw(f"z{number} <- ti-d assistant: the end {number}")))
        child.kill()
        child.join()
        killed += child.exitcode != 0
        if number % 8 == 0:
            shelf.update()
            shelf.check_rebuilt(QUERIES)
    shelf.update()
    shelf.check_rebuilt(QUERIES)
    assert killed > 10
