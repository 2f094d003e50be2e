"""An archive of an earlier version is mended when it is opened to be written, and the disk fails, or the power."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import verify
from backscroll.errors import BackscrollError
from tests.archive.support import contents
from tests.faults.disk import ERRORS, PowerCut, failing_disk
from tests.support.landed_archives import lay_out, paths_of
from tests.support.samples import numbers

STORIES = ("moved_onto", "repaired")
HOME = Path("/home/ada/.claude")


def everything(folder: Path) -> Counter[bytes]:
    """The bytes of every version, as a reader finds them."""
    archive = Archive(folder)
    assert verify(archive).damages == []
    return Counter(data for file in archive.files.values() for data in contents(archive, file))


def open_to_write(folder: Path) -> None:
    with Writer(folder):
        pass


def check_mended(folder: Path, before: Counter[bytes]) -> None:
    assert everything(folder) == before, "whatever state it is in"
    open_to_write(folder)
    assert everything(folder) == before
    paths = paths_of(folder)
    assert sorted(set(paths)) == sorted(paths), "and now no path has two files"


def mend_on(folder: Path, points: int, failure: Callable[[], BaseException], *, loses: bool, forever: bool) -> bool:
    """Open the archive on a disk that fails; whether it came to that."""
    with failing_disk(folder, points, failure, forever=forever) as disk:
        try:
            open_to_write(folder)
        except (PowerCut, OSError, BackscrollError):
            pass
        else:
            assert len(disk.calls) < points or disk.calls[points - 1] == "mkdir", "a failure reaches the caller"
    if loses:
        disk.lose_what_was_not_flushed()
    return len(disk.calls) >= points


@pytest.mark.parametrize("loses", [False, True], ids=["all written", "only the flushed written"])
@pytest.mark.parametrize("story", STORIES)
def test_a_power_cut_at_every_point_of_mending(tmp_path: Path, story: str, loses: bool) -> None:
    for points in numbers(loses):
        folder = tmp_path / str(points)
        lay_out(story, folder, HOME, "box")
        before = everything(folder)
        has_failed = mend_on(folder, points, PowerCut, loses=loses, forever=False)
        check_mended(folder, before)
        if not has_failed:
            break
    assert points > 10


@pytest.mark.parametrize("forever", [False, True], ids=["once", "forever"])
@pytest.mark.parametrize("error", ERRORS)
def test_an_error_at_every_point_of_mending(tmp_path: Path, error: str, forever: bool) -> None:
    for points in numbers(2 * list(ERRORS).index(error) + forever):
        folder = tmp_path / str(points)
        lay_out("moved_onto", folder, HOME, "box")
        before = everything(folder)
        has_failed = mend_on(folder, points, partial(OSError, ERRORS[error], error), loses=False, forever=forever)
        check_mended(folder, before)
        if not has_failed:
            break
    assert points > 10
