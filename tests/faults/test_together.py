"""Several processes at once: writers take turns, readers and verifiers never wait and never see anything half done."""

import multiprocessing
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench.generate import Player, generate

from backscroll.archive import Archive, KeptReading, Writer, capture, verify
from backscroll.errors import Busy
from backscroll.files import Home, discover

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

MACHINE = "together"
SECONDS = 4.0


def write(folder: Path, home: Path, ends: float) -> int:
    done = 0
    while time.time() < ends:
        try:
            with Writer(folder) as writer:
                capture(writer, Home(home), MACHINE)
            done += 1
            time.sleep(0.002)
        except Busy:
            time.sleep(0.001)
    return done


def read(folder: Path, home: Path, ends: float) -> int:  # noqa: ARG001
    done = 0
    while time.time() < ends:
        archive = Archive(folder)
        assert archive.bad_lines == []
        for file in archive.files.values():
            for version in file.versions:
                assert sum(line.end - line.start for line in KeptReading(archive, version)) <= version.size
        done += 1
    return done


def look(folder: Path, home: Path, ends: float) -> int:  # noqa: ARG001
    done = 0
    while time.time() < ends:
        damages = [damage.what for damage in verify(Archive(folder)).damages]
        assert damages == []
        done += 1
    return done


def work(role: str, folder: Path, home: Path, ends: float, answers: "Queue[tuple[str, int, str | None]]") -> None:
    try:
        answers.put((role, {"write": write, "read": read, "verify": look}[role](folder, home, ends), None))
    except BaseException as error:
        answers.put((role, 0, repr(error)))
        raise


@pytest.mark.parametrize("writers", [2, 4])
def test_writers_readers_and_verifiers_at_once(tmp_path: Path, writers: int) -> None:
    home, folder = tmp_path / "home", tmp_path / "archive"
    generate(home, sessions=5, total_bytes=300_000, seed=3)
    player = Player(home, seed=3, tear=0.2)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["backscroll.archive", "bench.generate"])
    answers: Queue[tuple[str, int, str | None]] = context.Queue()
    roles = ["write"] * writers + ["read", "verify"]
    ends = time.time() + SECONDS
    workers = [context.Process(target=work, args=(role, folder, home, ends, answers)) for role in roles]
    for worker in workers:
        worker.start()
    while time.time() < ends:
        player.step()
        time.sleep(0.002)
    found = [answers.get(timeout=30) for _ in workers]
    for worker in workers:
        worker.join(30)
    assert [error for _, _, error in found if error] == []
    assert all(done > 0 for role, done, _ in found if role != "write")
    assert sum(done for role, done, _ in found if role == "write") > 5
    with Writer(folder) as writer:
        capture(writer, Home(home), MACHINE)
    archive = Archive(folder)
    assert verify(archive).damages == []
    assert [path for path, count in Counter(file.path for file in archive.files.values()).items() if count > 1] == []
    live = {file.relative: file.path.read_bytes() for file in discover(Home(home)).files}
    assert {
        file.path: b"".join(archive.content(file.versions[-1]))
        for file in archive.files.values()
        if not file.gone_since
    } == live
    assert verify(archive).unclaimed == 0, "something was stored twice"
