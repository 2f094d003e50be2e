"""Texts that a second process prepares are prepared as here, and no failure of it is noticed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from backscroll.query.words import Preparation
from backscroll.store.local import preparing
from backscroll.store.local.preparing import Preparing
from tests.library.support import Shelf
from tests.support.homes import session_file

TEXTS = [
    "", "plain", "getUserName of HTTPServer",
    "全文検索 and \uff21\uff22", "lone \ud800 half", "a" * 500, "x" * 70_000, "é e\u0301",
]  # fmt: skip


@pytest.fixture(autouse=True)
def with_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "WORTH_A_PROCESS", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def here(texts: list[str]) -> list[tuple[str, str]]:
    return [Preparation().prepare(text) for text in texts]


def worker_of(some: Preparing) -> "subprocess.Popen[bytes]":
    assert some._worker is not None
    return some._worker._process


def test_the_process_prepares_as_we_do() -> None:
    some = Preparing()
    for texts in (TEXTS, TEXTS[::-1], TEXTS * 20):
        some.start(texts)
        assert some.is_elsewhere
        assert some.finish() == here(texts)
    process = worker_of(some)
    some.close()
    assert process.returncode is not None


def test_few_texts_are_not_worth_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "WORTH_A_PROCESS", 1_000_000)
    some = Preparing()
    some.start(TEXTS)
    assert not some.is_elsewhere
    assert some.finish() == here(TEXTS)


@pytest.mark.parametrize("moment", ["before", "between"])
def test_without_its_process_texts_are_prepared_here(moment: str) -> None:
    some = Preparing()
    some.start(TEXTS)
    if moment == "before":
        some.finish()
    process = worker_of(some)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if moment == "before":
        some.start(TEXTS * 20)
        assert some.finish() == here(TEXTS * 20)
    else:
        # It may have answered before it was killed: then that counts.
        assert some.finish() == here(TEXTS)
    some.start(TEXTS)
    assert some.finish() == here(TEXTS)
    some.close()


def test_a_process_that_cannot_be_started_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    some = Preparing()
    some.start(TEXTS)
    assert not some.is_elsewhere
    assert some.finish() == here(TEXTS)


def test_the_process_ends_when_its_pipe_does() -> None:
    some = Preparing()
    some.start(TEXTS)
    some.finish()
    process = worker_of(some)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=60) == 0


def test_an_index_that_it_helped_to_make_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(tmp_path)
    for number in range(3):
        said = f"a{number} <- - user: prompt {number}\nb{number} <- a{number} assistant: getUserName {number}"
        shelf.write(session_file(f"S{number}", said))
    shelf.update()
    shelf.write(session_file("S1", "a1 <- - user: another prompt"))
    shelf.update()
    made = shelf.answers(["prompt", "user", "another", "getUserName"])
    assert made["user"][0] == 3, "what was kept of the file that shrank is there, too"
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert shelf.rebuilt().answers(["prompt", "user", "another", "getUserName"]) == made
