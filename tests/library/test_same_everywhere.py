"""The same data gives the same answers, in the same order: in a library of this machine and on servers, whatever was
read first, and however often an update was cut off.
"""

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from backscroll.archive.capture import capture
from backscroll.archive.rewriting import Writer
from backscroll.files.homes import Home
from backscroll.library.archives import archive_folder
from backscroll.library.library import Library
from backscroll.library.postgres import postgres_store
from backscroll.settings import Settings
from tests.faults.stops import STOPPED, stopped_update
from tests.library.same import QUERIES, everything, first_difference, unequal
from tests.library.support import Shelf
from tests.support.command import forked_processes
from tests.support.homes import FAMILIES, write_home
from tests.support.postgres import migrated, new_organisation, postgres
from tests.support.samples import TRY_ALL

__all__ = ["migrated", "postgres"]
CORPUS: Final = Path(os.environ.get("BACKSCROLL_CORPUS", "../shared/corpus")) / "home"
RECORDED: Final = Path(__file__).parents[1] / "fixtures" / "transcripts"
FEW: Final = ("1.0 resume copies", "forks", "2.1.2 session folders")
MACHINE: Final = "ada/laptop"
STEPS: Final = 500 if TRY_ALL else 4
LONGEST: Final = 400_000
ASKED: Final = QUERIES if TRY_ALL else QUERIES[1::6]


def a_few(root: Path) -> Path:
    """What some versions leave on disk, with two recordings."""
    for family in FAMILIES:
        if family in FEW or TRY_ALL:
            write_home(root, FAMILIES[family])
    for case in sorted(RECORDED.glob("*/*"))[:: 6 if TRY_ALL else 80]:
        shutil.copytree(case, root, dirs_exist_ok=True)
    return root


def of_people(root: Path) -> Path:
    """Real sessions, without the longest."""
    if not CORPUS.is_dir():
        pytest.skip("no real sessions: set BACKSCROLL_CORPUS")
    chosen = [path for path in sorted(CORPUS.rglob("*.jsonl")) if path.stat().st_size < LONGEST]
    for path in chosen:
        target = root / path.relative_to(CORPUS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    return root


HOMES: Final = [pytest.param(a_few, id="a-few"), pytest.param(of_people, id="of-people", marks=pytest.mark.all)]


def files_of(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def shuffled(files: Iterable[Path], seed: int) -> list[list[Path]]:
    """The files in five parts, in another order."""
    order = list(files)
    Random(seed).shuffle(order)
    return [order[at::5] for at in range(5)]


def write(home: Path, whole: Path, files: Iterable[Path]) -> None:
    for file in files:
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(whole / file, home / file)


def on_this_machine(root: Path, whole: Path, name: str, parts: Iterable[list[Path]]) -> dict[str, Any]:
    """What a local library answers that read these files part by part."""
    shutil.rmtree(root / "home", ignore_errors=True)
    shelf = Shelf(root)
    shelf.folder = root / name
    for part in parts:
        write(shelf.home, whole, part)
        shelf.update()
    return settled(shelf)


def settled(shelf: Shelf) -> dict[str, Any]:
    """What a library answers, once nothing is new: what was written a moment ago is read again."""
    with shelf.open() as library:
        library.update()
        return everything(library, ASKED)


def on_a_server(root: Path, whole: Path, address: str, name: str, parts: Iterable[list[Path]]) -> dict[str, Any]:
    """What the library of a person answers whose machine sent these files part by part."""
    home = root / "home"
    shutil.rmtree(home, ignore_errors=True)
    settings = Settings(homes=(), library=root / name, file=root / "settings.toml", terminal=())
    number = new_organisation()
    with Library(settings, [], postgres_store(address, number)) as library:
        library.update()
        for part in parts:
            write(home, whole, part)
            with Writer(archive_folder(settings)) as writer:
                capture(writer, Home(home), MACHINE)
            library.update()
    with Library(settings, [], postgres_store(address, number), keeps=False) as library:
        return everything(library, ASKED)


def check_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert len(one["list by newest"]) > 3
    differences = [(name, *first_difference(one.get(name), other.get(name))) for name in unequal(one, other)]
    assert differences == []


@pytest.mark.slow
@pytest.mark.parametrize("write_whole", HOMES)
def test_libraries_and_servers_that_read_in_other_orders_answer_the_same(
    tmp_path: Path, migrated: str, write_whole: Callable[[Path], Path]
) -> None:
    whole = write_whole(tmp_path / "whole")
    files = files_of(whole)
    fresh = on_this_machine(tmp_path, whole, "fresh", [files])
    check_same(fresh, on_this_machine(tmp_path, whole, "in another order", shuffled(files, 1)))
    check_same(fresh, on_a_server(tmp_path, whole, migrated, "server", shuffled(files, 2)))
    check_same(fresh, on_a_server(tmp_path, whole, migrated, "another server", shuffled(files, 3)))


@pytest.mark.slow
def test_after_appends_and_updates_that_are_cut_off_a_library_answers_as_a_fresh_one(tmp_path: Path) -> None:
    """Each update ends as `kill -9` would end it, where something is made lasting, or ends well."""
    random = Random(11)
    whole = a_few(tmp_path / "whole")
    shelf = Shelf(tmp_path)
    texts = {file: (whole / file).read_bytes() for file in files_of(whole) if file.suffix == ".jsonl"}
    beside = [file for file in files_of(whole) if file not in texts]
    written = dict.fromkeys(texts, 0)
    processes = forked_processes()
    cut_off = 0
    for _ in range(STEPS):
        for file in random.sample(sorted(texts), max(1, len(texts) // 12)):
            more = random.randint(0, len(texts[file]) - written[file])
            (shelf.home / file).parent.mkdir(parents=True, exist_ok=True)
            with (shelf.home / file).open("ab") as out:
                out.write(texts[file][written[file] : written[file] + more])
            written[file] += more
        if beside:
            write(shelf.home, whole, [random.choice(beside)])
        _, sender = processes.Pipe(duplex=False)
        arguments = (shelf.home, shelf.folder, random.randint(1, 40), sender, False)
        child = processes.Process(target=stopped_update, args=arguments)
        child.start()
        child.join()
        assert child.exitcode in (0, STOPPED)
        cut_off += child.exitcode == STOPPED
    assert cut_off >= STEPS // 4
    write(shelf.home, whole, files_of(whole))
    shelf.update()
    check_same(settled(shelf), settled(shelf.rebuilt()))
