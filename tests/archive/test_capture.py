import importlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture, capture_changed
from backscroll.archive.forgetting import keys_to_forget
from backscroll.archive.rewriting import Writer
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.files.reading import Bookmark, Reading
from backscroll.files.watching import ChangedFile
from tests.archive.support import MACHINE, KeptHome, contents
from tests.support.homes import CANARY, EVERYTHING, FAMILIES, SECRETS, session_path, write_home
from tests.support.samples import SHARE

TRANSCRIPTS = Path(__file__).parents[1] / "fixtures" / "transcripts"

CAPTURING = importlib.import_module("backscroll.archive.capture")  # the name is a function, too
BROKEN = Path(session_path("b")).name
TEN_YEARS_NS = 10 * 365 * 86_400 * 10**9


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_kept_byte_for_byte(kept: KeptHome, family: str) -> None:
    write_home(kept.home, FAMILIES[family])
    kept.capture()
    kept.check_whole()


def test_everything_is_kept_but_no_secret(kept: KeptHome, opened: list[str]) -> None:
    write_home(kept.home, EVERYTHING)
    opened.clear()
    done = kept.capture()
    touched = {Path(path).name for path in opened}
    archive = kept.archive
    files = {file.path: contents(archive, file) for file in archive.files.values()}
    found = discover(Home(kept.home)).files
    assert files == {file.relative: [EVERYTHING[file.relative]] for file in found}
    assert done.unreadable == []
    assert (done.files, done.size) == (sum(file.size > 0 for file in found), sum(file.size for file in found))
    assert not files.keys() & SECRETS
    assert not touched & {Path(path).name for path in SECRETS}
    assert CANARY.encode() not in kept.everything()


def test_a_home_is_not_written_to(kept: KeptHome) -> None:
    write_home(kept.home, EVERYTHING)
    before = {path: path.stat() for path in kept.home.rglob("*")}
    kept.capture()
    after = {path: path.stat() for path in kept.home.rglob("*")}
    assert {path: (now.st_mtime_ns, now.st_ctime_ns) for path, now in after.items()} == {
        path: (then.st_mtime_ns, then.st_ctime_ns) for path, then in before.items()
    }


def test_with_nothing_new_no_file_is_read_and_nothing_is_written_but_one_line(
    kept: KeptHome, opened: list[str]
) -> None:
    # A database that was written a moment ago is looked at again.
    write_home(kept.home, {path: content for path, content in EVERYTHING.items() if path != "__store.db"})
    kept.capture()
    packs, catalogue = kept.packs, kept.archive.catalogue.read_bytes()
    opened.clear()
    done = kept.capture()
    assert [path for path in opened if path.startswith(str(kept.home))] == []
    assert (done.files, done.size, done.moved, done.gone) == (0, 0, 0, 0)
    assert kept.packs == packs
    after = kept.archive.catalogue.read_bytes()
    assert after.startswith(catalogue)
    assert after[len(catalogue) :].count(b"\n") == 1
    assert b'"kind":"captured"' in after[len(catalogue) :]


def test_two_captures_by_one_writer_keep_everything_once(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=b"two\n")
    with Writer(kept.folder) as writer:
        capture(writer, Home(kept.home), MACHINE)
        second = capture(writer, Home(kept.home), MACHINE)
    assert second.size == 0
    kept.check_whole()


def test_that_everything_was_captured_is_said_after_everything_is(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    kinds = [line.split(b'"')[3] for line in kept.archive.catalogue.read_bytes().splitlines()]
    assert kinds == [b"archive", b"file", b"bytes", b"captured"]


def test_of_an_appended_line_only_that_is_stored(kept: KeptHome, opened: list[str]) -> None:
    kept.write(a=os.urandom(300_000) + b"\n", b=b"other\n").capture()
    before = kept.packs["000001.pack"]
    kept.append("a", b"one more line\n")
    opened.clear()
    done = kept.capture()
    assert (done.files, done.size) == (1, 14)
    assert kept.packs["000001.pack"].startswith(before)
    assert len(kept.packs["000001.pack"]) - len(before) < 14 + 32 + 300  # with the copy of its lines
    assert [path for path in opened if path.startswith(str(kept.home))] == [str(kept.session("a"))]
    kept.check_whole()


def test_half_a_line_is_kept_and_the_rest_when_it_comes(kept: KeptHome) -> None:
    kept.write(a='{"text":"grü'.encode()[:-1]).capture()
    kept.append("a", 'ü"}\n'.encode()[1:])
    kept.capture()
    assert kept.versions("a") == ['{"text":"grü"}\n'.encode()]


@pytest.mark.slow
def test_a_session_that_grows_often_is_compressed_and_not_stored_as_often(kept: KeptHome) -> None:
    """The text is what a client wrote: random bytes would hide that nothing is compressed."""
    text = b"".join(path.read_bytes() for path in sorted(TRANSCRIPTS.glob("*/*/projects/*/*.jsonl")))
    kept.write(a=b"")
    grown = 0
    for start in range(0, 1999 * min(1000 // SHARE, len(text) // 1999), 1999):
        grown += 2000
        kept.append("a", text[start : start + 1999] + b"\n")
        with Writer(kept.folder) as writer:
            assert capture(writer, Home(kept.home), MACHINE).size == 2000
    packs, catalogue = sum(map(len, kept.packs.values())), kept.archive.catalogue.stat().st_size
    assert packs < 0.6 * grown
    assert catalogue < 0.3 * grown
    kept.check_whole()


def truncated(path: Path) -> None:
    os.truncate(path, 4)


def rewritten(path: Path) -> None:
    path.write_bytes(b"quite another text that is longer\n")


def rewritten_to_the_same_size(path: Path) -> None:
    path.write_bytes(b"1ne\n2wo\n")


def replaced(path: Path) -> None:
    beside = path.with_name("beside.tmp")
    beside.write_bytes(b"one\nbut\n")
    beside.replace(path)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("change", [truncated, rewritten, rewritten_to_the_same_size, replaced, emptied])
def test_of_a_changed_source_both_versions_are_kept(kept: KeptHome, change: object) -> None:
    kept.write(a=b"one\ntwo\n").capture()
    assert callable(change)
    change(kept.session("a"))
    now = kept.session("a").read_bytes()
    kept.capture()
    assert kept.versions("a") == [b"one\ntwo\n", now]
    kept.append("a", b"and on\n")
    kept.capture()
    assert kept.versions("a") == [b"one\ntwo\n", now + b"and on\n"]
    kept.check_whole()


def test_a_moved_file_keeps_its_history(kept: KeptHome) -> None:
    kept.write(a=b"one\nold\n").capture()
    kept.write(a=b"one\n").capture()
    kept.session("b").parent.mkdir(exist_ok=True)
    kept.session("a").rename(kept.session("b"))
    kept.append("b", b"two\n")
    done = kept.capture()
    assert (done.moved, done.gone, done.size) == (1, 0, 4)
    assert kept.versions("b") == [b"one\nold\n", b"one\ntwo\n"]
    assert len(kept.archive.files) == 1


def test_a_file_moved_to_the_path_of_a_deleted_one_is_another_version_of_it(kept: KeptHome) -> None:
    kept.write(a=b"first\n", b="über\n".encode()).capture()
    kept.session("b").unlink()
    kept.capture()
    kept.session("a").rename(kept.session("b"))
    assert kept.capture().size == 0
    kept.append("b", b"second\n")
    kept.capture()
    kept.capture()
    assert kept.versions("a") == [b"first\n"]
    assert kept.versions("b") == ["über\n".encode(), b"first\nsecond\n"]
    assert [version.number for version in kept.file("b").shown_versions] == [1, 2]
    kept.check_whole()


def test_it_keeps_its_history_after_the_catalogue_was_rewritten(kept: KeptHome) -> None:
    kept.write(a=b"first\n", b=b"other\n", c=b"third\n").capture()
    for moved, deleted in (("a", "b"), ("b", "a")):  # whichever of them has the higher number
        kept.session(deleted).unlink()
        kept.capture()
        kept.session(moved).rename(kept.session(deleted))
        kept.capture()
        kept.forget("c")
        kept.append(deleted, b"more\n")
        kept.capture()
        kept.session("c").unlink(missing_ok=True)
        kept.check_whole()
        kept.write(**{moved: b"again\n"}).capture()


def test_a_file_moved_onto_another_loses_neither(kept: KeptHome) -> None:
    kept.write(a=b"first\n", b=b"second\n").capture()
    kept.session("a").replace(kept.session("b"))
    kept.capture()
    assert kept.versions("a") == [b"first\n"]
    assert kept.versions("b") == [b"second\n", b"first\n"]
    kept.check_whole()


def test_deleted_files_stay_kept_and_may_come_back(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=b"other\n").capture()
    kept.session("a").unlink()
    assert kept.capture().gone == 1
    assert kept.capture().gone == 0
    assert kept.versions("a") == [b"one\n"]
    assert kept.file("a").gone_since
    kept.write(a=b"one\ntwo\n").capture()
    assert kept.versions("a") == [b"one\ntwo\n"]
    assert kept.file("a").gone_since is None
    kept.session("a").unlink()
    kept.capture()
    kept.write(a=b"another one\n").capture()
    assert kept.versions("a") == [b"one\ntwo\n", b"another one\n"]
    kept.check_whole()


def test_a_home_that_is_away_for_a_moment_is_not_gone(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    kept.home.rename(kept.home.with_name("away"))
    done = kept.capture()
    assert done.gone == 0
    assert done.unreadable
    assert kept.file("a").gone_since is None


def test_other_users_cannot_read_it(kept: KeptHome) -> None:
    before = os.umask(0)
    try:
        kept.write(a=b"one\n", b=b"two\n").capture()
        kept.forget("b")
        kept.capture()
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [kept.folder, *kept.folder.rglob("*")]}
    assert len(modes) >= 5
    assert modes == {path: 0o700 if path.is_dir() else 0o600 for path in modes}


def test_forgotten_files_are_not_kept_again(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=b"secret\n").capture()
    kept.forget("b")
    kept.append("b", b"more\n")
    done = kept.capture()
    assert done.size == 0
    assert [file.path for file in kept.archive.files.values()] == [kept.file("a").path]


def test_a_file_is_kept_under_any_name(kept: KeptHome) -> None:
    folder = kept.session("a").with_suffix("") / "tool-results"
    folder.mkdir(parents=True)
    for name in (b"\xff.txt", b"new\nline.txt", b'quote".txt', "grüße.txt".encode()):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(name)
    kept.write(a=b"one\n").capture()
    kept.check_whole()


def test_a_home_may_have_any_name(kept: KeptHome) -> None:
    odd = Path(os.fsdecode(os.fsencode(kept.home) + b"-\xff"))
    kept.write(a=b"one\n")
    kept.home.rename(odd)
    kept.home = odd
    kept.capture()
    kept.capture()
    kept.check_whole()
    assert list(kept.archive.captured) == [(MACHINE, str(odd))]


class UnreadableSource(Reading):
    """A source that cannot be opened."""

    def __init__(self, path: Path, bookmark: Bookmark | None = None) -> None:
        if path.name == BROKEN:
            raise PermissionError(13, "Permission denied", str(path))
        super().__init__(path, bookmark)


class Breaking(Reading):
    """A source on a disk that fails after the first piece."""

    def rest(self, limit: int | None = None) -> Iterator[bytes]:
        for piece in super().rest(limit):
            yield piece
            if self.path.name == BROKEN:
                raise OSError(5, "Input/output error")


@pytest.mark.parametrize("source", [UnreadableSource, Breaking])
def test_a_source_that_cannot_be_read_costs_only_itself(
    kept: KeptHome, source: type[Reading], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.write(a=b"one\n", b=b"two\n", c=b"three\n")
    with monkeypatch.context() as patch:
        patch.setattr(CAPTURING, "Reading", source)
        done = kept.capture()
    assert [failure.path for failure in done.unreadable] == [kept.session("b")]
    assert kept.archive.captured == {}
    assert (kept.versions("a"), kept.versions("c")) == ([b"one\n"], [b"three\n"])
    assert kept.verify().damages == []
    kept.capture()
    kept.check_whole()
    kept.append("b", b"and on\n")
    with monkeypatch.context() as patch:
        patch.setattr(CAPTURING, "Reading", source)
        kept.capture()
    assert kept.versions("b") == [b"two\n"]
    kept.capture()
    kept.check_whole()


@pytest.mark.parametrize("shift", [-TEN_YEARS_NS, TEN_YEARS_NS, -(10**18) * 2])
def test_clocks_of_sources_do_not_matter(kept: KeptHome, shift: int) -> None:
    kept.write(a=b"one\n", b=b"two\n").capture()
    now = kept.session("a").stat().st_mtime_ns
    for name, data in (("a", b"one\nmore\n"), ("b", b"2wo\n")):
        kept.session(name).write_bytes(data)
        os.utime(kept.session(name), ns=(now + shift, now + shift))
    kept.capture()
    assert kept.versions("a") == [b"one\nmore\n"]
    assert kept.versions("b") == [b"two\n", b"2wo\n"]
    for name in "ab":
        os.utime(kept.session(name), ns=(now - shift, now - shift))
    assert kept.capture().size == 0
    kept.check_whole()
    latest = kept.file("a").latest
    assert latest
    assert latest.modified_ns == now - shift


def test_the_same_bytes_are_stored_once(kept: KeptHome) -> None:
    kept.write(a=b"the same\n" * 100, b=b"the same\n" * 100).capture()
    archive = kept.archive
    assert len(archive.chunks) == 1
    assert kept.versions("a") == kept.versions("b")


def test_a_large_file_is_kept_in_chunks(kept: KeptHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backscroll.archive.packing.CHUNK", 1000)
    monkeypatch.setattr("backscroll.archive.pack_writing.PACK_SIZE", 5000)
    monkeypatch.setattr("backscroll.archive.writer.COMMIT_AFTER", 7000)
    monkeypatch.setattr("backscroll.files.reading.PIECE", 300)
    kept.write(a=os.urandom(50_000), b=os.urandom(999)).capture()
    assert len(kept.packs) > 5
    assert max(map(len, kept.packs.values())) < 5000 + 1300
    kept.check_whole()


def test_two_homes_and_two_machines_are_kept_side_by_side(kept: KeptHome, tmp_path: Path) -> None:
    other = KeptHome(tmp_path)
    other.folder = kept.folder
    kept.write(a=b"one\n").capture()
    other.write(a=b"two\n").capture()
    with Writer(kept.folder) as writer:
        capture(writer, Home(kept.home), "another-machine")
    archive = Archive(kept.folder)
    assert [contents(archive, file) for file in archive.files.values()] == [[b"one\n"], [b"two\n"], [b"one\n"]]
    assert all(file.gone_since is None for file in archive.files.values())


def told(kept: KeptHome, *names: str, gone: bool = False) -> list[ChangedFile]:
    """What a watcher says of these sessions."""
    found = {file.path: file for file in discover(Home(kept.home)).files}
    return [ChangedFile(found[kept.session(name)], gone) for name in names]


def test_reported_changes_are_kept_and_nothing_else_is_read(kept: KeptHome, opened: list[str]) -> None:
    kept.write(a=b"one\n", b=b"two\n", c=b"three\n").capture()
    kept.append("a", b"more\n")
    kept.write(b=b"2\n", d=b"new\n")
    deleted = told(kept, "c", gone=True)
    kept.session("c").unlink()
    opened.clear()
    with Writer(kept.folder) as writer:
        done = capture_changed(writer, Home(kept.home), MACHINE, [*told(kept, "a", "b", "d"), *deleted])
    read = {path for path in opened if path.startswith(str(kept.home))}
    assert read == {str(kept.session(name)) for name in "abd"}
    assert (done.size, done.gone) == (11, 1)
    assert kept.versions("b") == [b"two\n", b"2\n"]
    assert kept.versions("c") == [b"three\n"]
    kept.check_whole()


def test_a_writer_that_captured_everything_continues_with_reported_changes(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=b"two\n")
    with Writer(kept.folder) as writer:
        capture(writer, Home(kept.home), MACHINE)
        for number in range(5):
            kept.append("a", b"more %d\n" % number)
            capture_changed(writer, Home(kept.home), MACHINE, told(kept, "a", "b"))
    assert kept.versions("a") == [kept.session("a").read_bytes()]
    kept.check_whole()


def test_forgotten_files_are_not_kept_when_a_watcher_reports_them(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    kept.forget("a")
    kept.append("a", b"more\n")
    with Writer(kept.folder) as writer:
        assert capture_changed(writer, Home(kept.home), MACHINE, told(kept, "a")).size == 0
    assert kept.archive.files == {}


@pytest.mark.parametrize(
    ("sizes", "shown", "fullest"),
    [
        ([5], [1], 1),
        ([9, 0], [1, 2], 1),
        ([9, 3, 5], [1, 3], 1),
        ([3, 9], [2], 2),
        ([9, 4, 9], [3], 3),
        ([9, 7, 2, 3], [1, 2, 4], 1),
    ],
)
def test_a_shrunken_file_does_not_hide_what_was_kept(
    kept: KeptHome, sizes: list[int], shown: list[int], fullest: int
) -> None:
    for number, size in enumerate(sizes):
        kept.write(a=(b"\n" + bytes([65 + number]) * size)[:size]).capture()
    file = kept.file("a")
    assert [version.size for version in file.versions] == sizes
    assert [version.number for version in file.versions] == list(range(1, len(sizes) + 1))
    assert [version.number for version in file.shown_versions] == shown
    assert file.fullest
    assert file.fullest.number == fullest
    assert file.version(fullest) is file.fullest
    assert file.version(0) is file.version(len(sizes) + 1) is None


def test_forgotten_files_stay_forgotten_after_the_machine_is_renamed(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=b"two\n").capture()
    with Writer(kept.folder) as writer:
        writer.forget([kept.file("a", writer)], keys_to_forget([(str(kept.home), session_path("a"))]))
    kept.append("a", b"more\n")
    with Writer(kept.folder) as writer:
        capture(writer, Home(kept.home), "another-name")
    assert session_path("a") not in {file.path for file in kept.archive.files.values()}


def test_an_old_key_is_honoured_after_the_machine_got_another_name(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=b"two\n").capture()
    kept.forget("a")
    with Writer(kept.folder) as writer:
        capture(writer, Home(kept.home), "another-name")
    assert session_path("a") not in {file.path for file in kept.archive.files.values()}


def test_forgotten_files_stay_forgotten_after_a_move(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=b"two\n").capture()
    with Writer(kept.folder) as writer:
        writer.forget([kept.file("a", writer)], keys_to_forget([(str(kept.home), session_path("a"))]))
    moved = kept.home / "projects" / "-elsewhere" / kept.session("a").name
    moved.parent.mkdir()
    kept.session("a").rename(moved)
    beside = moved.with_suffix("") / "tool-results" / "t.txt"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(b"of the same session")
    kept.capture()
    assert {file.path for file in kept.archive.files.values()} == {session_path("b")}


@pytest.mark.parametrize("size", [20_000, 600_000], ids=["short", "long"])
def test_an_edit_in_the_middle_with_an_append_is_kept_as_what_the_file_is(
    kept: KeptHome, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Of a long file that is so once it has been left alone."""
    before = b"".join(b"%08d\n" % number for number in range(size // 9))
    kept.write(a=before).capture()
    after = before[: size // 2] + b"#" + before[size // 2 + 1 :] + b"appended\n"
    kept.write(a=after).capture()
    monkeypatch.setattr("backscroll.files.reading.QUIET_NS", 0)
    kept.capture()
    assert kept.versions("a")[-1] == after
    assert [version.size for version in kept.file("a").shown_versions] == [len(after)]
    kept.check_whole()
