"""No path has two kept files, and what was kept at a path is never hidden by another file that comes there.

The archives of tests/fixtures/archives have several files at a path, or a file whose path another one took: earlier
versions of backscroll made them so.
"""

from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import AddedBytes
from backscroll.archive.merge import mend, merge
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import verify
from backscroll.archive.writer import now
from tests.archive.support import KeptHome, contents
from tests.support.homes import session_path
from tests.support.landed_archives import STORIES, lay_out, paths_of

APPLE = b'{"a":1}\n'
BANANA = b'{"b":2}\n'
MORE = b'{"more":3}\n'
LANDED_HOME = Path("/home/ada/.claude")


def shown(archive: Archive) -> dict[str, list[bytes]]:
    """What readers show of each path, the oldest version first."""
    assert len({file.key for file in archive.files.values()}) == len(archive.files)
    assert {file.number for file in archive.sources.values()} == set(archive.files)
    return {
        file.path: [b"".join(archive.content(version)) for version in file.shown_versions]
        for file in archive.files.values()
    }


def check_landed(archive: Archive, story: str) -> None:
    """Everything that the story tells of is shown: apple and banana, or all four lines of one session."""
    everything = shown(archive)
    texts = {path: b"".join(versions) for path, versions in everything.items()}
    first = texts[session_path("S1")]
    assert b"an apple" in first
    assert b"an apricot" in first
    if story == "repaired":
        assert b"a cherry" in first
        assert b"a cloudberry" in first
    elif story == "moved_on":
        assert b"banana" in texts[session_path("S3")]
    else:
        assert b"banana" in first
    assert verify(archive).damages == []


@pytest.mark.parametrize("story", STORIES)
def test_archives_of_an_earlier_version_are_mended_by_the_next_writer(tmp_path: Path, story: str) -> None:
    lay_out(story, tmp_path, LANDED_HOME, "box")
    before, paths = (tmp_path / "catalogue.jsonl").read_bytes(), paths_of(tmp_path)
    with Writer(tmp_path):
        pass
    check_landed(Archive(tmp_path), story)
    assert sorted(set(paths_of(tmp_path))) == sorted(paths_of(tmp_path))
    assert Archive(tmp_path).united == []
    copy = tmp_path / "catalogue.before-repair"
    assert (copy.read_bytes() if copy.exists() else None) == (before if len(paths) > len(set(paths)) else None)
    written = (tmp_path / "catalogue.jsonl").read_bytes()
    with Writer(tmp_path):
        pass
    assert (tmp_path / "catalogue.jsonl").read_bytes() == written, "there is nothing to mend a second time"


@pytest.mark.parametrize("story", ["moved_onto", "moved_on", "repaired"])
def test_archives_of_an_earlier_version_are_read_whole_where_nothing_can_be_written(tmp_path: Path, story: str) -> None:
    lay_out(story, tmp_path, LANDED_HOME, "box")
    archive = Archive(tmp_path)
    check_landed(archive, story)
    assert len(verify(archive).united) == (story != "moved_on")


@pytest.mark.parametrize("story", STORIES)
def test_a_file_in_an_earlier_archive_is_gone_as_long_as_before(tmp_path: Path, story: str) -> None:
    lay_out(story, tmp_path, LANDED_HOME, "box")
    gone = {file.path: file.gone_since for file in Archive(tmp_path).files.values()}
    with Writer(tmp_path):
        pass
    assert {file.path: file.gone_since for file in Archive(tmp_path).files.values()} == gone


def test_a_large_file_hides_no_small_one_that_was_at_its_path(kept: KeptHome) -> None:
    kept.write(a=APPLE, b=BANANA * 9).capture()
    kept.session("a").unlink()
    kept.capture()
    kept.session("b").rename(kept.session("a"))
    assert kept.capture().size == 0, "nothing is read or stored twice"
    assert shown(kept.archive) == {session_path("a"): [APPLE, BANANA * 9], session_path("b"): [BANANA * 9]}
    kept.append("a", MORE)
    kept.capture()
    assert shown(kept.archive)[session_path("a")] == [APPLE, BANANA * 9 + MORE]
    kept.check_whole()


def test_what_moves_over_a_file_hides_it_as_little(kept: KeptHome) -> None:
    kept.write(a=APPLE, b=BANANA * 9).capture()
    kept.session("b").replace(kept.session("a"))
    kept.capture()
    assert shown(kept.archive) == {session_path("a"): [APPLE, BANANA * 9], session_path("b"): [BANANA * 9]}


def test_a_file_that_moves_on_leaves_what_was_there_before_it(kept: KeptHome) -> None:
    kept.write(a=APPLE, b=BANANA).capture()
    kept.session("a").unlink()
    kept.capture()
    kept.session("b").rename(kept.session("a"))
    kept.capture()
    kept.session("a").rename(kept.session("c"))
    kept.append("c", MORE)
    kept.capture()
    assert shown(kept.archive)[session_path("a")] == [APPLE, BANANA]
    assert shown(kept.archive)[session_path("c")] == [BANANA + MORE]
    kept.check_whole()


def test_a_file_that_moves_back_goes_on_where_it_was(kept: KeptHome) -> None:
    kept.write(a=APPLE, b=BANANA).capture()
    kept.session("a").unlink()
    kept.capture()
    for old, new in (("b", "a"), ("a", "b"), ("b", "a")):
        kept.session(old).rename(kept.session(new))
        kept.append(new, MORE)
        kept.capture()
        kept.check_whole()
    assert shown(kept.archive)[session_path("b")] == [BANANA + MORE + MORE]
    assert shown(kept.archive)[session_path("a")][-1] == BANANA + MORE * 3
    assert APPLE in shown(kept.archive)[session_path("a")]


def test_two_files_that_change_places_are_both_kept_at_both(kept: KeptHome) -> None:
    kept.write(a=APPLE, b=BANANA * 2).capture()
    kept.session("a").rename(kept.session("x"))
    kept.session("b").rename(kept.session("a"))
    kept.session("x").rename(kept.session("b"))
    kept.capture()
    assert shown(kept.archive) == {
        session_path("a"): [APPLE, BANANA * 2],
        session_path("b"): [BANANA * 2, APPLE],
    }


def repair(kept: KeptHome, backup: KeptHome) -> None:
    with Writer(kept.folder, accepts_loss=True) as writer:
        mend(backup.archive, writer)
        merge(backup.archive, writer)


def rebuilt(kept: KeptHome) -> KeptHome:
    """The home kept anew, so that its files have other chunks than before; returns what was kept until then."""
    kept.write(a=APPLE).capture()
    kept.append("a", BANANA)
    kept.capture()
    backup = kept.copy("backup")
    kept.append("a", MORE)
    kept.folder = kept.folder.with_name("anew")
    kept.capture()
    return backup


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_repair_adds_nothing_of_a_backup_that_has_less(kept: KeptHome, is_gone: bool) -> None:
    backup = rebuilt(kept)
    if is_gone:
        kept.session("a").unlink()
        kept.capture()
    gone_since = kept.file("a").gone_since
    repair(kept, backup)
    assert shown(kept.archive) == {session_path("a"): [APPLE + BANANA + MORE]}
    assert kept.file("a").gone_since == gone_since
    kept.append("a", MORE) if not is_gone else kept.write(a=APPLE + BANANA + MORE)
    kept.capture()
    assert len(kept.versions("a")) == 1
    kept.check_whole()


def test_a_repair_takes_what_only_the_backup_has(kept: KeptHome) -> None:
    backup = rebuilt(kept)
    kept.folder, backup.folder = backup.folder, kept.folder  # the archive has less now, in other chunks
    repair(kept, backup)
    assert shown(kept.archive) == {session_path("a"): [APPLE + BANANA + MORE]}
    kept.capture()
    kept.check_whole()


def test_a_repair_with_another_file_of_the_path_keeps_both_and_goes_on(kept: KeptHome) -> None:
    kept.write(a=BANANA * 3).capture()
    backup = kept.copy("backup")
    kept.folder = kept.folder.with_name("anew")
    kept.write(a=APPLE).capture()
    repair(kept, backup)
    assert sorted(shown(kept.archive)[session_path("a")]) == sorted([APPLE, BANANA * 3])
    kept.append("a", MORE)
    kept.capture()
    kept.check_whole()
    count = len(kept.versions("a"))
    for _ in range(2):
        repair(kept, backup)
        assert len(kept.versions("a")) == count


def test_a_backup_of_an_archive_that_was_made_anew_grows_with_it(kept: KeptHome) -> None:
    backup = rebuilt(kept)
    for _ in range(4):
        kept.append("a", MORE)
        kept.capture()
        with Writer(backup.folder) as writer:
            done = merge(kept.archive, writer)
        assert shown(backup.archive)[session_path("a")] == [kept.session("a").read_bytes()]
        assert done.only_in_target == []
    assert len(contents(backup.archive, backup.file("a"))) == 2, "no more versions with each backup"
    with Writer(backup.folder) as writer:
        assert merge(kept.archive, writer).size == 0


def test_a_file_of_which_no_bookmark_is_known_is_not_kept_twice(kept: KeptHome) -> None:
    kept.write(a=APPLE).capture()
    with Writer(kept.folder) as writer:
        file = kept.file("a", writer)
        writer.add_chunks(
            AddedBytes(at=now(), file=file.number, version=0, size=len(APPLE), modified_ns=0, chunks=[], bookmark=[])
        )
    kept.append("a", BANANA)
    kept.capture()
    assert kept.versions("a") == [APPLE + BANANA]
    kept.check_whole()
