"""Two devices and a folder: what one keeps, the other gets, byte for byte, and nothing twice."""

from pathlib import Path

import pytest

from backscroll.sync import own_streams
from backscroll.sync.bundles import read_bundles
from backscroll.sync.objects import devices_in
from backscroll.sync.policy import SyncMode
from backscroll.sync.pull import KINDS
from backscroll.sync.remotes import Folder, Remote
from backscroll.sync.removal import merge_small
from backscroll.sync.sender import CopiedLibraryError
from tests.sync.support import EACH_REMOTE, SESSION, CutRemote, Device

ONE, TWO = SESSION.format(1), SESSION.format(2)
LINE = b'{"type":"user","uuid":"u%d","message":{"role":"user","content":"hello"}}\n'


@pytest.fixture
def laptop(tmp_path: Path) -> Device:
    return Device(tmp_path, "laptop")


@pytest.fixture
def desktop(tmp_path: Path) -> Device:
    return Device(tmp_path, "desktop")


def sync(remote: Remote, *devices: Device) -> None:
    for device in devices:
        device.keep()
        device.push(remote)
    for device in devices:
        assert device.pull(remote).problems == []


@EACH_REMOTE
def test_each_device_has_the_files_of_the_other(remote: Remote, laptop: Device, desktop: Device) -> None:
    laptop.write(ONE, LINE % 1)
    laptop.write("todos/1.json", b"[]")
    desktop.write(TWO, LINE % 2 + LINE % 3)
    sync(remote, laptop, desktop)
    assert desktop.contents("laptop") == laptop.contents("laptop")
    assert laptop.contents("desktop") == desktop.contents("desktop") == {TWO: [LINE % 2 + LINE % 3]}


def test_an_append_sends_only_what_was_appended(remote: Remote, laptop: Device, desktop: Device) -> None:
    laptop.write(ONE, LINE % 1 * 1000)
    sync(remote, laptop, desktop)
    laptop.append(ONE, LINE % 2)
    laptop.keep()
    pushed = laptop.push(remote)
    assert (pushed.segments, pushed.size) == (1, len(LINE % 2))
    assert desktop.pull(remote).size == len(LINE % 2)
    assert desktop.contents("laptop") == {ONE: [LINE % 1 * 1000 + LINE % 2]}


def test_nothing_new_takes_one_request(remote: Remote, laptop: Device) -> None:
    laptop.write(ONE, LINE % 1)
    sync(remote, laptop)
    counting = CutRemote(remote)
    assert laptop.push(counting).objects == 0
    assert counting.requests == ["list"]


def test_a_line_that_is_being_written_leaves_when_it_is_whole(remote: Remote, laptop: Device, desktop: Device) -> None:
    laptop.write(ONE, LINE % 1 + b'{"type":"us')
    sync(remote, laptop, desktop)
    assert desktop.contents("laptop") == {ONE: [LINE % 1]}
    laptop.delete(ONE)
    sync(remote, laptop, desktop)  # it will never be finished now
    assert desktop.contents("laptop") == {ONE: [LINE % 1 + b'{"type":"us']}


def test_a_rewritten_file_is_a_new_version_on_both_sides(remote: Remote, laptop: Device, desktop: Device) -> None:
    laptop.write(ONE, LINE % 1 + LINE % 2)
    sync(remote, laptop, desktop)
    laptop.write(ONE, LINE % 9)
    sync(remote, laptop, desktop)
    assert desktop.contents("laptop") == {ONE: [LINE % 1 + LINE % 2, LINE % 9]}


@EACH_REMOTE
def test_a_forgotten_file_is_gone_from_the_remote_and_from_other_devices(
    remote: Remote, laptop: Device, desktop: Device
) -> None:
    laptop.write(ONE, b'{"content":"marzipan"}\n')
    laptop.write(TWO, LINE % 2)
    sync(remote, laptop, desktop)
    laptop.forget(ONE)
    sync(remote, laptop, desktop)
    assert desktop.contents("laptop") == {TWO: [LINE % 2]}
    for one in remote.list():
        assert ONE.encode() not in remote.get(one.name)
    fresh = Device(laptop.root.parent, "fresh")
    assert fresh.pull(remote).problems == []
    assert fresh.contents("laptop") == {TWO: [LINE % 2]}


@EACH_REMOTE
def test_a_push_whose_answer_was_lost_is_taken_over(remote: Remote, laptop: Device, desktop: Device) -> None:
    laptop.write(ONE, LINE % 1)
    laptop.keep()
    cut = CutRemote(remote)
    cut.fails_in, cut.loses_answer = 1, True
    with pytest.raises(Exception):  # noqa: B017
        laptop.push(cut)
    pushed = laptop.push(remote)
    assert (pushed.adopted, pushed.objects) == (1, 0)
    desktop.keep()
    desktop.pull(remote)
    assert desktop.contents("laptop") == {ONE: [LINE % 1]}


def test_a_lost_state_is_made_anew_from_the_remote(remote: Remote, laptop: Device) -> None:
    for number in range(3):
        laptop.append(ONE, LINE % number)
        sync(remote, laptop)
    laptop.state_path.unlink()
    pushed = laptop.push(remote)
    assert (pushed.adopted, pushed.objects) == (3, 0)
    assert laptop.verify(remote, deep=True).is_whole


def test_a_lost_state_is_made_anew_where_a_bundle_has_several_segments_of_a_file(
    remote: Remote, laptop: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_streams, "LONGEST_SEGMENT", 100)
    laptop.write(ONE, b"".join(LINE % number for number in range(9)))
    sync(remote, laptop)
    laptop.state_path.unlink()
    pushed = laptop.push(remote)
    assert (pushed.adopted, pushed.objects) == (1, 0)
    assert laptop.verify(remote, deep=True).is_whole


@EACH_REMOTE
def test_lost_objects_are_found_and_written_again(remote: Remote, laptop: Device, desktop: Device) -> None:
    for number in range(4):
        laptop.append(ONE, LINE % number)
        laptop.keep()
        laptop.push(remote)
    names = [one.name for one in remote.list()]
    remote.delete(names[1])
    assert laptop.verify(remote).lost == [2]
    assert desktop.pull(remote).problems
    assert laptop.push(remote).mended == 1
    assert laptop.verify(remote, deep=True).is_whole
    assert not desktop.pull(remote).problems
    assert desktop.contents("laptop") == laptop.contents("laptop")


def test_an_emptied_remote_is_filled_again(remote: Remote, laptop: Device, desktop: Device) -> None:
    laptop.write(ONE, LINE % 1)
    sync(remote, laptop, desktop)
    for one in list(remote.list()):
        remote.delete(one.name)
    assert laptop.push(remote).objects == 1
    assert laptop.verify(remote, deep=True).is_whole


def test_a_copied_library_is_told(remote: Remote, laptop: Device, tmp_path: Path) -> None:
    laptop.write(ONE, LINE % 1)
    sync(remote, laptop)
    twin = Device(tmp_path / "twin", "laptop")
    twin.home = laptop.home  # a copy has the same paths
    twin.keep()
    twin.push(remote)
    twin.write(ONE, LINE % 1 + LINE % 7)
    twin.keep()
    twin.push(remote)
    laptop.write(ONE, LINE % 1 + LINE % 8)
    with laptop.writer() as writer:
        writer.commit()
    laptop.keep()
    with pytest.raises(CopiedLibraryError, match="sync enroll"):
        laptop.push(remote)


def test_small_objects_are_merged_and_nothing_is_missing_meanwhile(
    remote: Remote, laptop: Device, desktop: Device
) -> None:
    from backscroll.sync.removal import MAX_SMALL_OBJECTS, merge_small

    for number in range(MAX_SMALL_OBJECTS + 3):
        laptop.append(ONE, LINE % number)
        laptop.keep()
        laptop.push(remote)
        if number == 5:
            desktop.pull(remote)
    assert merge_small(remote, "laptop") == MAX_SMALL_OBJECTS + 2
    assert len(devices_in(remote.list())["laptop"]) == 1
    assert laptop.push(remote).objects == 0
    assert laptop.verify(remote, deep=True).is_whole
    assert not desktop.pull(remote).problems
    assert desktop.contents("laptop") == laptop.contents("laptop")


def test_what_newer_rules_mask_is_gone_from_other_devices_too(remote: Remote, laptop: Device, desktop: Device) -> None:
    secret = b'{"type":"user","text":"the key is AKIAIOSFODNN7EXAMPLE"}\n'
    laptop.write(ONE, secret + LINE % 1)
    laptop.write(TWO, LINE % 2)
    sync(remote, laptop, desktop)
    assert desktop.contents("laptop")[ONE] == [secret + LINE % 1]
    laptop.mode = SyncMode.REDACTED
    laptop.append(ONE, LINE % 3)
    sync(remote, laptop, desktop)
    (masked,) = desktop.contents("laptop")[ONE]
    assert b"AKIA" not in masked
    assert masked.endswith(LINE % 1 + LINE % 3)
    archive = desktop.archive
    assert not any(b"AKIA" in archive.unpack(chunk) for chunk in archive.chunks.values())
    assert desktop.contents("laptop")[TWO] == [LINE % 2]
    laptop.append(ONE, LINE % 4)
    sync(remote, laptop, desktop)
    assert desktop.contents("laptop")[ONE] == [masked + LINE % 4]
    desktop.state_path.unlink()
    sync(remote, laptop, desktop)
    assert desktop.contents("laptop")[ONE] == [masked + LINE % 4]


def test_content_that_was_replaced_leaves_the_remote_although_the_state_was_lost(
    remote: Remote, laptop: Device
) -> None:
    laptop.write(ONE, LINE % 1)
    laptop.write(TWO, LINE % 2)
    sync(remote, laptop)
    laptop.forget(ONE)
    cut = CutRemote(remote)
    cut.fails_in, cut.loses_answer = 2, True  # the shortened object is there, and the old one is too
    with pytest.raises(Exception):  # noqa: B017
        laptop.push(cut)
    assert cut.requests[-1] == "put"
    laptop.state_path.unlink()
    laptop.push(remote)
    assert not any(ONE.encode() in content_of(remote, one.name) for one in remote.list())


def content_of(remote: Remote, name: str) -> bytes:
    entries = [entry for bundle in read_bundles(remote.get(name)) for entry in bundle.index.entries]
    return b" ".join(entry.file.path.encode() for entry in entries if entry.file)


def test_an_older_version_that_comes_again_stays_the_older_one(remote: Remote, laptop: Device, desktop: Device) -> None:
    secret = b'{"type":"user","text":"the key is AKIAIOSFODNN7EXAMPLE"}\n'
    laptop.write(ONE, secret)
    sync(remote, laptop, desktop)
    laptop.write(ONE, LINE % 1)
    for mode in (SyncMode.FULL, SyncMode.REDACTED, SyncMode.FULL, SyncMode.REDACTED):
        laptop.mode = mode
        sync(remote, laptop, desktop)
        first, last = desktop.contents("laptop")[ONE]
        assert (b"AKIA" in first) is (mode is SyncMode.FULL)
        assert last == LINE % 1
    laptop.append(ONE, LINE % 2)
    sync(remote, laptop, desktop)
    assert desktop.contents("laptop")[ONE][1:] == [LINE % 1 + LINE % 2]


def test_files_of_a_kind_that_this_version_does_not_know_are_left_for_one_that_does(
    remote: Remote, laptop: Device, desktop: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = "plans/new.plan"
    laptop.write(ONE, LINE % 1)
    sync(remote, laptop, desktop)
    laptop.keep_as(newer, "hologram", b"first ")
    laptop.write(TWO, LINE % 2)
    laptop.keep()
    laptop.push(remote)
    pulled = desktop.pull(remote)
    assert (pulled.unknown, pulled.problems) == (1, [])
    assert desktop.contents("laptop") == {ONE: [LINE % 1], TWO: [LINE % 2]}
    laptop.keep_as(newer, "hologram", b"second")
    laptop.append(ONE, LINE % 3)
    laptop.keep()
    laptop.push(remote)
    merge_small(remote, "laptop", most=1)
    again = desktop.pull(remote)
    assert (again.unknown, again.size, again.problems) == (0, len(LINE % 3), [])
    assert not desktop.has_news(remote)
    before = desktop.contents("laptop")

    monkeypatch.setattr("backscroll.sync.pull.KINDS", KINDS | {"hologram"})
    assert desktop.has_news(remote)
    updated = desktop.pull(remote)
    assert (updated.unknown, updated.files, updated.size, updated.problems) == (0, 1, len(b"first second"), [])
    assert desktop.contents("laptop") == before | {newer: [b"first second"]}
    assert not desktop.has_news(remote)
    assert desktop.pull(remote).size == 0


def test_what_another_device_forgot_is_asked_and_nothing_is_removed(tmp_path: Path) -> None:
    remote, laptop, desktop = Folder(tmp_path / "remote"), Device(tmp_path, "laptop"), Device(tmp_path, "desktop")
    desktop.agrees = False
    for device in (laptop, desktop):
        device.append(ONE, LINE % 1)
    sync(remote, laptop, desktop)
    laptop.forget(ONE)
    sync(remote, laptop, desktop)
    assert desktop.asked == laptop.archive.forgotten != set()
    assert not desktop.archive.forgotten
    assert desktop.contents("desktop") == desktop.contents("laptop") == {ONE: [LINE % 1]}
    assert desktop.verify(remote, deep=True).is_whole
    # A device that sends everything again does not make it forget either.
    desktop.state_path.unlink()
    sync(remote, laptop, desktop)
    assert desktop.contents("desktop") == {ONE: [LINE % 1]}
