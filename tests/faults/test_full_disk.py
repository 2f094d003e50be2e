"""A disk that is really full."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archive.support import Kept, contents


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
        subprocess.run(["umount", mounted], check=True)


def test_a_full_disk_loses_nothing_that_was_kept(tiny_disk: Path, tmp_path: Path) -> None:
    kept = Kept(tmp_path)
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
    kept = Kept(tmp_path)
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
