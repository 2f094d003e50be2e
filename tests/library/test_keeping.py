"""Keeping, verifying and forgetting, through a library."""

import errno
import os
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.files.homes import Home
from backscroll.library.archives import find_archive
from backscroll.library.keeping.keep import keep
from backscroll.library.keeping.verify import prove
from backscroll.settings import Settings
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path, write_home

TALK = """
@ session=S1 cwd=/home/ada/shop
a <- - user: fix the parser
b <- a assistant: done
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    home = write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(TALK))})
    found = Settings(homes=(home,), library=tmp_path / "library", file=tmp_path / "settings.toml")
    keep(found, [Home(home)])
    return found


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """A library on a file system that cannot be written to, also not by root."""
    real = os.open

    def refusing(path: object, flags: int, *arguments: int, **named: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and str(path).startswith(str(settings.library)):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return real(path, flags, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refusing)


@pytest.mark.usefixtures("read_only")
def test_a_read_only_library_can_be_verified(settings: Settings) -> None:
    proof = prove(settings, [Home(settings.homes[0])], quick=False)
    assert proof.report.damages == []
    assert proof.same == 1
    assert proof.not_noted
    assert "Read-only" in proof.not_noted


def test_what_could_not_be_read_is_not_suspected(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pread

    def refuse(descriptor: int, *rest: int) -> bytes:
        if Path(f"/proc/self/fd/{descriptor}").readlink().suffix == ".pack":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", refuse)
        proof = prove(settings, [], quick=False)
    assert proof.report.unreadable
    assert not any(file.is_suspect for file in Archive(settings.library / "archive").files.values())


def test_the_libraries_of_a_process_share_one_archive_until_more_is_kept(settings: Settings) -> None:
    first, second = find_archive(settings), find_archive(settings)
    assert first is not None
    assert first is second
    write_home(settings.homes[0], {session_path("S2"): jsonl(draw(TALK.replace("S1", "S2")))})
    keep(settings, [Home(settings.homes[0])])
    third = find_archive(settings)
    assert third is not None
    assert len(third.files) == len(first.files) + 1
