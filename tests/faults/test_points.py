"""Stop at every point where the disk is touched; the archive is whole again after the next capture."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.merge import merge
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import verify
from backscroll.errors import BackscrollError
from tests.archive.support import KeptHome, contents
from tests.faults.disk import ERRORS, PowerCut, failing_disk
from tests.support.samples import numbers

SECRET = b"correct horse battery staple"
Action = Callable[[KeptHome], None]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several chunks, packs and commits even of a small home."""
    monkeypatch.setattr("backscroll.files.reading.CLOCK_TICK_NS", -(10**18))
    monkeypatch.setattr("backscroll.files.reading.PIECE", 50)
    monkeypatch.setattr("backscroll.archive.packing.CHUNK", 100)
    monkeypatch.setattr("backscroll.archive.pack_writing.PACK_SIZE", 300)
    monkeypatch.setattr("backscroll.archive.writer.COMMIT_AFTER", 250)
    monkeypatch.setattr("backscroll.archive.writer.MAX_WAITING", 2)


def text(name: str, lines: int) -> bytes:
    return b"".join(b"%s line %d\n" % (name.encode(), number) for number in range(lines))


def prepared(root: Path) -> KeptHome:
    """An archive with something in it, and a home that has gone on since."""
    kept = KeptHome(root)
    kept.write(a=text("a", 30), b=SECRET + text("b", 20), c=text("c", 5), d=text("d", 9)).capture()
    kept.write(c=text("other", 3)).capture()
    kept.append("a", text("more", 20))
    kept.write(e=text("e", 40), d=text("another", 12))
    kept.session("c").unlink()
    return kept


def first_capture(root: Path) -> KeptHome:
    return KeptHome(root).write(a=text("a", 30), b=text("b", 20), c=b"")


def capture(kept: KeptHome) -> None:
    kept.capture()


def forget(kept: KeptHome) -> None:
    kept.forget("b")


def acknowledged(kept: KeptHome) -> dict[int, list[bytes]]:
    archive = kept.archive
    return {file.number: contents(archive, file) for file in archive.files.values()}


def check_kept(before: dict[int, list[bytes]], after: dict[int, list[bytes]], but: set[int]) -> None:
    """Every version from before is there, or what it has grown to."""
    for number in before.keys() - but:
        assert number in after
        assert len(after[number]) >= len(before[number])
        for old, new in zip(before[number], after[number], strict=False):
            assert new.startswith(old)


def numbers_of(kept: KeptHome, name: str) -> set[int]:
    return {file.number for file in kept.archive.files.values() if file.source == kept.session(name)}


def backed_up(root: Path) -> KeptHome:
    """An archive and a backup of it, after which it has gone on: growth, a rewriting, a forgetting."""
    kept = KeptHome(root)
    kept.write(a=text("a", 30), b=SECRET + text("b", 20), c=text("c", 5), d=text("d", 9)).capture()
    back_up(kept)
    kept.append("a", text("more", 20))
    kept.write(e=text("e", 40), d=text("another", 12))
    kept.session("c").unlink()
    kept.capture()
    kept.forget("b")
    return kept


def back_up(kept: KeptHome) -> None:
    with Writer(kept.folder.with_name("backup"), accepts_loss=True) as backup:
        merge(kept.archive, backup)


def check_backup(kept: KeptHome, before: dict[int, list[bytes]], loss: set[int]) -> None:
    """The backup is whole and holds what it held; once the fault is gone it holds what the archive does."""
    backup = Archive(kept.folder.with_name("backup"))
    assert verify(backup).damages == []
    check_kept(before, {file.number: contents(backup, file) for file in backup.files.values()}, loss)
    back_up(kept)
    backup, own = Archive(backup.folder), kept.archive
    assert verify(backup).damages == []
    assert {file.path: contents(backup, file) for file in backup.files.values()} == {
        file.path: contents(own, file) for file in own.files.values()
    }
    copy = KeptHome(kept.folder.parent)
    copy.folder = backup.folder
    assert SECRET not in copy.everything()


def in_backup(kept: KeptHome) -> tuple[dict[int, list[bytes]], set[int]]:
    backup = Archive(kept.folder.with_name("backup"))
    forgotten = {file.number for file in backup.files.values() if file.source == kept.session("b")}
    return {file.number: contents(backup, file) for file in backup.files.values()}, forgotten


@pytest.mark.parametrize("loses", [False, True], ids=["all written", "only the flushed written"])
def test_a_power_cut_at_every_point_of_a_backup(tmp_path: Path, loses: bool) -> None:
    for points in numbers(loses):
        kept = backed_up(tmp_path / str(points))
        before, forgotten = in_backup(kept)
        with failing_disk(kept.folder.with_name("backup"), points, PowerCut) as disk:
            try:
                back_up(kept)
                break
            except PowerCut:
                pass
        if loses:
            disk.lose_what_was_not_flushed()
        check_backup(kept, before, forgotten)
    assert points > 10
    assert {"write", "fsync", "unlink"} <= set(disk.calls)


@pytest.mark.parametrize("forever", [False, True], ids=["once", "forever"])
@pytest.mark.parametrize("error", ERRORS)
def test_an_error_at_every_point_of_a_backup(tmp_path: Path, error: str, forever: bool) -> None:
    silent = 0
    for points in numbers(2 * list(ERRORS).index(error) + forever):
        kept = backed_up(tmp_path / str(points))
        before, forgotten = in_backup(kept)
        backup = kept.folder.with_name("backup")
        with failing_disk(backup, points, lambda: OSError(ERRORS[error], error), forever=forever) as disk:
            try:
                back_up(kept)
                if len(disk.calls) < points:
                    break
                silent += disk.calls[points - 1] != "mkdir"
            except (OSError, BackscrollError):
                pass
        check_backup(kept, before, forgotten)
    assert points > 10
    assert silent == 0, f"{silent} of {points} failures did not reach the caller"


def taken(root: Path) -> KeptHome:
    """A session has moved to where a deleted one was kept, and has grown there."""
    kept = KeptHome(root)
    kept.write(a=text("a", 30), b=text("b", 20), c=text("c", 5)).capture()
    kept.session("a").unlink()
    kept.capture()
    kept.session("b").rename(kept.session("a"))
    kept.append("a", text("more", 20))
    return kept


CASES = [(first_capture, capture), (prepared, capture), (prepared, forget), (taken, capture)]
NAMES = ["first capture", "capture", "forget", "onto a taken path"]


def check_caught_up(kept: KeptHome, before: dict[int, list[bytes]], forgotten: set[int], action: Action) -> None:
    """Once the fault is gone: look, finish what was begun, and everything is whole."""
    assert kept.verify().damages == []
    check_kept(before, acknowledged(kept), forgotten)
    action(kept)
    kept.capture()
    if action is forget:
        kept.session("b").unlink(missing_ok=True)
    kept.check_whole()
    check_kept(before, acknowledged(kept), forgotten)


@pytest.mark.parametrize(("prepare", "action"), CASES, ids=NAMES)
@pytest.mark.parametrize("loses", [False, True], ids=["all written", "only the flushed written"])
def test_a_power_cut_at_every_point(
    tmp_path: Path, prepare: Callable[[Path], KeptHome], action: Action, loses: bool
) -> None:
    for points in numbers(loses):
        kept = prepare(tmp_path / str(points))
        before = acknowledged(kept)
        forgotten = numbers_of(kept, "b") if action is forget else set()
        with failing_disk(kept.folder, points, PowerCut) as disk:
            try:
                action(kept)
                break
            except PowerCut:
                pass
        if loses:
            disk.lose_what_was_not_flushed()
        check_caught_up(kept, before, forgotten, action)
    assert points > 10
    assert {"write", "fsync"} <= set(disk.calls)
    assert action is not forget or {"replace", "unlink"} <= set(disk.calls) or "rename" in disk.calls


def test_after_a_power_cut_at_any_point_of_forgetting_doing_it_again_removes_every_byte(tmp_path: Path) -> None:
    left = []
    for points in numbers():
        kept = prepared(tmp_path / str(points))
        with failing_disk(kept.folder, points, PowerCut) as disk:
            try:
                kept.forget("b")
                break
            except PowerCut:
                pass
        kept.forget("b")
        if SECRET in kept.everything():
            left.append((points, disk.calls[-1]))
    assert left == []


def test_after_a_power_cut_in_a_forgetting_another_file_can_be_forgotten_entirely(tmp_path: Path) -> None:
    """What the first one copied and then left lying must not outlive the second."""
    left = []
    for points in numbers():
        kept = prepared(tmp_path / str(points))
        with failing_disk(kept.folder, points, PowerCut) as disk:
            try:
                kept.forget("d")
                break
            except PowerCut:
                pass
        kept.forget("b")
        if SECRET in kept.everything():
            left.append((points, disk.calls[-1]))
    assert left == []


@pytest.mark.parametrize("forever", [False, True], ids=["once", "forever"])
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(("prepare", "action"), CASES, ids=NAMES)
def test_an_error_at_every_point(
    tmp_path: Path, prepare: Callable[[Path], KeptHome], action: Action, error: str, forever: bool
) -> None:
    silent = 0
    for points in numbers(2 * list(ERRORS).index(error) + forever):
        kept = prepare(tmp_path / str(points))
        before = acknowledged(kept)
        forgotten = numbers_of(kept, "b") if action is forget else set()
        with failing_disk(kept.folder, points, lambda: OSError(ERRORS[error], error), forever=forever) as disk:
            try:
                action(kept)
                if len(disk.calls) < points:
                    break
                silent += disk.calls[points - 1] != "mkdir"  # a folder that is there need not be made
            except (OSError, BackscrollError):
                pass
        check_caught_up(kept, before, forgotten, action)
    assert points > 10
    assert silent == 0, f"{silent} of {points} failures did not reach the caller"


def test_no_descriptor_is_left_open_after_an_error(tmp_path: Path) -> None:
    for points in numbers():
        kept = prepared(tmp_path / str(points))
        open_before = len(list(Path("/proc/self/fd").iterdir()))
        with failing_disk(kept.folder, points, lambda: OSError(5, "EIO")) as disk, contextlib.suppress(OSError):
            kept.capture()
        assert len(list(Path("/proc/self/fd").iterdir())) == open_before
        if len(disk.calls) < points:
            break


def test_readers_survive_every_state_that_a_cut_leaves(tmp_path: Path) -> None:
    for points in numbers():
        kept = first_capture(tmp_path / str(points))
        with failing_disk(kept.folder, points, PowerCut):
            try:
                kept.capture()
                break
            except PowerCut:
                pass
        assert Archive(kept.folder).bad_lines == []
