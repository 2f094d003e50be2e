"""Several processes at once: writers take turns, readers and verifiers never wait and never see anything half done."""

import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import BrokenBarrierError, Thread
from typing import TYPE_CHECKING

import pytest
from bench.generate import GeneratedPlayer, generate

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.reading import KeptReading
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import verify
from backscroll.errors import Busy
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from tests.support.command import forked_processes
from tests.support.samples import mostly_in_all

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

MACHINE = "together"
ROUNDS = 10
"""Every process does its work this often while the others work."""


def write(folder: Path, home: Path) -> bool:
    try:
        with Writer(folder) as writer:
            capture(writer, Home(home), MACHINE)
    except Busy:
        return False
    return True


def read(folder: Path, home: Path) -> bool:  # noqa: ARG001
    archive = Archive(folder)
    assert not archive.bad_lines, archive.bad_lines
    for file in archive.files.values():
        for version in file.versions:
            assert sum(line.end - line.start for line in KeptReading(archive, version)) <= version.size
    return True


def look(folder: Path, home: Path) -> bool:  # noqa: ARG001
    damages = [damage.what for damage in verify(Archive(folder)).damages]
    assert not damages, damages
    return True


WORK = {"write": write, "read": read, "verify": look}


def work(role: str, folder: Path, home: Path, all_done: "Barrier", errors: "Queue[str]") -> None:
    """Work until every process has worked often enough; a process that fails stops all of them."""
    done = 0
    waiting: Thread | None = None
    try:
        while waiting is None or waiting.is_alive():
            done += WORK[role](folder, home)
            if done >= ROUNDS and waiting is None:
                waiting = Thread(target=wait_at, args=(all_done,))
                waiting.start()
            time.sleep(0.001)  # lets the others have the lock
    except BaseException as error:
        errors.put(repr(error))
        all_done.abort()
        raise


def wait_at(barrier: "Barrier") -> None:
    with suppress(BrokenBarrierError):
        barrier.wait()


@pytest.mark.parametrize("writers", mostly_in_all([4, 2], each=2))
def test_writers_readers_and_verifiers_at_once(tmp_path: Path, writers: int) -> None:
    home, folder = tmp_path / "home", tmp_path / "archive"
    generate(home, sessions=5, total_bytes=300_000, seed=3)
    player = GeneratedPlayer(home, seed=3, tear=0.2)
    context = forked_processes()
    errors: Queue[str] = context.Queue()
    roles = ["write"] * writers + ["read", "verify"]
    all_done = context.Barrier(len(roles))
    workers = [context.Process(target=work, args=(role, folder, home, all_done, errors)) for role in roles]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        player.step()
        time.sleep(0.002)  # leaves the processors to the others
    assert [worker.exitcode for worker in workers] == [0] * len(roles), errors.get()
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
