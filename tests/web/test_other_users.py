"""What another user of the machine can read, hold up or take over: nothing."""

import fcntl
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from backscroll.disk import open_private
from backscroll.library.marks import change_marks
from backscroll.library.memory.saved_recalls import save_recall
from backscroll.library.prompts.prompt import new_prompt
from backscroll.library.prompts.prompt_file import PromptFile
from backscroll.library.setup.plugin import plan_plugin
from backscroll.web.running_server import FILE
from backscroll.web.state import MAX_CHANGES, MAX_WAITING
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path
from tests.web.served import HttpAnswer, ask, serving

CHAT = session_uuid("S1")
SHOP = """
@ cwd=/home/ada/shop
a <- - user: fix the parser
b <- a assistant: done
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    before = os.umask(0o022)
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(SHOP))})
    shelf.update()
    yield shelf
    os.umask(before)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """As a process holds a lock that never lets go of it."""
    descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@pytest.mark.all
@pytest.mark.slow
def test_a_lock_that_is_never_released_costs_only_the_changes_that_need_it(shelf: Shelf) -> None:
    with serving(shelf) as served, locked(shelf.folder / "marks.lock"):
        answers: list[HttpAnswer] = []

        def pin() -> None:
            headers = [("Origin", served.url), ("Content-Type", "application/x-www-form-urlencoded")]
            answers.append(ask(served, f"/chats/{CHAT}/marks", "POST", headers=headers, body=b"pin=1"))

        threads = [threading.Thread(target=pin) for _ in range(60)]
        for thread in threads:
            thread.start()
        while not answers:  # those that are too many are refused at once
            assert ask(served, "/api/v1/chats").status == 200
        assert any(thread.is_alive() for thread in threads)  # the others still wait for the lock
        assert ask(served, "/").status == 200
        for thread in threads:
            thread.join()
        assert {answer.status for answer in answers} == {503}
        assert all("retry-after" in answer.headers for answer in answers)
        refused = [answer for answer in answers if b"too many changes" in answer.body]
        assert 1 <= len(refused) <= 60 - MAX_CHANGES - 1
        assert len(threads) > MAX_WAITING
    with serving(shelf) as served:
        pin()
        assert answers[-1].status < 400


def open_to_others(folder: Path) -> list[str]:
    return [
        f"{stat.S_IMODE(path.lstat().st_mode):o} {path.relative_to(folder)}"
        for path in (folder, *sorted(folder.rglob("*")))
        if not path.is_symlink() and stat.S_IMODE(path.lstat().st_mode) & 0o077
    ]


def test_what_the_doors_write_is_for_its_owner_alone_also_where_it_was_not(shelf: Shelf) -> None:
    ours = ("recalls", "plugin", "marks.json", "marks.lock", "prompts.json", "prompts.lock", FILE)
    for again in (False, True):
        if again:
            for path in (shelf.folder, *shelf.folder.rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)
        save_recall(shelf.folder, "where does the parser fail?", "in line 12", [])
        plan = plan_plugin(shelf.open().homes, shelf.settings, program=("backscroll",))
        replace(plan, first=(), then=()).carry_out()
        change_marks(shelf.folder, lambda marks: marks.note([CHAT], "a note"))
        PromptFile(shelf.folder).add(new_prompt(f"again-{again}".lower(), "text"))
        with serving(shelf):
            assert stat.S_IMODE(shelf.folder.stat().st_mode) == 0o700
            assert stat.S_IMODE((shelf.folder / FILE).stat().st_mode) == 0o600
        left = open_to_others(shelf.folder)
        # Files saved before keep their mode, in a folder that no other user can enter.
        assert [line for line in left if line.split()[1].startswith(ours) and not line.endswith(".md")] == []
