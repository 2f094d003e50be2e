"""A disk that is really full."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.errors import DiskFull
from tests.archive.support import KeptHome, contents
from tests.library.support import Shelf
from tests.support.homes import session_file


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", mounted], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {done.stderr.decode().strip()}")
    try:
        yield mounted
    finally:
        subprocess.run(["umount", "--lazy", mounted], check=True)  # the text index has its files mapped for a while


def test_a_full_disk_loses_nothing_that_was_kept(tiny_disk: Path, tmp_path: Path) -> None:
    kept = KeptHome(tmp_path)
    kept.folder = tiny_disk / "archive"
    kept.write(a=os.urandom(300_000)).capture()
    filler = tiny_disk / "filler"
    before = kept.versions("a")
    kept.append("a", os.urandom(1000))
    kept.write(b=os.urandom(500_000), c=os.urandom(3_000_000))
    for left in (0, 4096, 100_000, 600_000, 1_200_000):
        filler.unlink(missing_ok=True)
        free = os.statvfs(tiny_disk).f_bavail * 4096
        filler.write_bytes(b"\0" * max(0, free - left))
        with pytest.raises(OSError) as failure:
            kept.capture()
        assert failure.value.errno == errno.ENOSPC
        assert kept.verify().damages == []
        assert kept.versions("a")[0].startswith(before[0])
    filler.unlink()
    kept.session("c").unlink()
    # What was cut off stays in the packs: should that fill the disk, it needs more room than the files have.
    subprocess.run(["mount", "-o", "remount,size=16m", tiny_disk], check=True)
    kept.capture()
    kept.check_whole()
    archive = kept.archive
    assert len(contents(archive, kept.file("a", archive))) == 1


def test_trying_again_on_a_full_disk_does_not_fill_it_further(tiny_disk: Path, tmp_path: Path) -> None:
    """What a failed capture wrote and never spoke of is room that the next one needs."""
    kept = KeptHome(tmp_path)
    kept.folder = tiny_disk / "archive"
    kept.write(a=b"one\n").capture()
    kept.write(b=os.urandom(5_000_000))
    free = os.statvfs(tiny_disk).f_bavail
    with pytest.raises(OSError, match="No space left"):
        kept.capture()
    assert os.statvfs(tiny_disk).f_bavail >= free - 2
    kept.session("b").unlink()
    kept.write(c=os.urandom(500_000)).capture()
    kept.check_whole()


def test_an_update_on_a_full_disk_says_so_and_the_next_one_continues(tiny_disk: Path, tmp_path: Path) -> None:
    """The index: what was there is still answered, and nothing of it is thrown away."""
    subprocess.run(["mount", "-o", "remount,size=24m", tiny_disk], check=True)
    shelf = Shelf(tmp_path)
    shelf.folder = tiny_disk / "library"
    shelf.write(session_file("S1", "a <- - user: a zebra\nb <- a assistant: done")).update()
    generation, before = shelf.generation, shelf.found("zebra")
    assert set(before) == {"a zebra"}
    words = " ".join(f"word{number}" for number in range(300_000))
    shelf.write(session_file("S2", f"c <- - user: a lion {words}\nd <- c assistant: done"))
    filler = tiny_disk / "filler"
    for left in (0, 20_000, 200_000, 1_000_000):
        filler.unlink(missing_ok=True)
        free = os.statvfs(tiny_disk).f_bavail * 4096
        filler.write_bytes(b"\0" * max(0, free - left))
        with pytest.raises((DiskFull, OSError)) as failure:  # of the index, or of the archive
            shelf.update()
        assert getattr(failure.value, "errno", errno.ENOSPC) == errno.ENOSPC
        assert shelf.generation == generation
        assert shelf.found("zebra") == before
    filler.unlink()
    shelf.update()
    assert shelf.generation == generation
    shelf.check_rebuilt(("zebra", "lion", "word299999"))
