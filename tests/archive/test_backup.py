"""A backup never loses anything, whatever happens to the archive that it is a copy of."""

import contextlib
import random
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.forgetting import keys_to_forget
from backscroll.archive.line_copies import NAME as COPY
from backscroll.archive.merge import Merged, mend, merge
from backscroll.archive.rewriting import Writer
from backscroll.archive.stamp import END_NOTE
from backscroll.archive.verify import verify
from backscroll.errors import BackscrollError
from tests.archive.support import KeptHome, contents
from tests.support.homes import EVERYTHING, session_path, write_home

SECRET = b"correct horse battery staple"
State = dict[str, list[bytes]]


def back_up(kept: KeptHome) -> Merged:
    with Writer(backup_folder(kept), accepts_loss=True) as backup:
        return merge(kept.archive, backup)


def backup_folder(kept: KeptHome) -> Path:
    return kept.folder.with_name("backup")


def state(folder: Path) -> State:
    """Every version of every file, by path."""
    archive = Archive(folder)
    return {file.path: contents(archive, file) for file in archive.files.values()}


def check_backup(kept: KeptHome, expected: State) -> None:
    archive = Archive(backup_folder(kept))
    assert verify(archive).damages == []
    assert state(backup_folder(kept)) == expected


@pytest.fixture
def grown(kept: KeptHome) -> KeptHome:
    """Some captures, each backed up: growth, rewriting, equal files, one that is gone."""
    kept.write(a=b"one\n" * 50, b=b"first\n", c=b"not for long\n", d=b"one\n" * 50, e=b"").capture()
    back_up(kept)
    kept.append("a", b"two\n")
    kept.write(b=b"2\n")
    kept.session("c").unlink()
    kept.capture()
    back_up(kept)
    return kept


def test_a_backup_holds_every_version_of_everything(kept: KeptHome) -> None:
    write_home(kept.home, EVERYTHING)
    kept.capture()
    assert back_up(kept).refused == []
    check_backup(kept, state(kept.folder))


def test_a_backup_follows_what_is_kept(grown: KeptHome) -> None:
    check_backup(grown, state(grown.folder))
    own, copy = grown.archive, Archive(backup_folder(grown))
    assert {file.path for file in own.files.values() if file.gone_since} == {session_path("c")}
    assert {file.path for file in copy.files.values() if file.gone_since} == {session_path("c")}
    assert own.captured == copy.captured
    moved = grown.home / "projects" / "-elsewhere" / grown.session("a").name
    moved.parent.mkdir()
    grown.session("a").rename(moved)
    grown.capture()
    done = back_up(grown)
    assert (done.size, done.only_in_target) == (0, [])
    check_backup(grown, state(grown.folder))


def test_a_backup_with_nothing_new_writes_nothing(grown: KeptHome) -> None:
    before = {path: path.read_bytes() for path in backup_folder(grown).rglob("*") if path.is_file()}
    done = back_up(grown)
    assert (done.size, done.files, done.refused, done.only_in_target) == (0, 0, [], [])
    assert {path: path.read_bytes() for path in backup_folder(grown).rglob("*") if path.is_file()} == before


def test_no_damage_of_the_archive_reaches_the_backup(grown: KeptHome) -> None:
    """Bytes changed, files cut or gone: the backup holds what it held, and says what it refused."""
    expected = state(backup_folder(grown))
    chosen = random.Random(7)
    paths = [path for path in grown.folder.rglob("*") if path.is_file() and path.name != "lock"]
    whole = {path: path.read_bytes() for path in paths}
    for number in range(120):
        path = chosen.choice(paths)
        data = bytearray(whole[path])
        at = chosen.randrange(len(data))
        if number % 3 == 0:
            data[at] ^= 1 << chosen.randrange(8)
        elif number % 3 == 1:
            del data[at:]
        else:
            data[at:] = bytes(len(data) - at)
        path.write_bytes(data)
        with contextlib.suppress(BackscrollError):
            back_up(grown)
        path.write_bytes(whole[path])
        assert verify(Archive(backup_folder(grown))).damages == [], (number, path)
        held = state(backup_folder(grown))
        assert {name: held[name][: len(versions)] for name, versions in expected.items()} == expected
    back_up(grown)
    assert state(backup_folder(grown)) == expected


def test_damaged_new_files_are_refused_and_sound_ones_are_copied(grown: KeptHome) -> None:
    size = (grown.folder / "packs" / "000001.pack").stat().st_size
    grown.write(x=b"x" * 1000 + b"\n", y=b"y" * 1000 + b"\n").capture()
    pack = grown.folder / "packs" / "000001.pack"
    data = bytearray(pack.read_bytes())
    data[size + 12] ^= 0xFF
    pack.write_bytes(data)
    done = back_up(grown)
    (refused,) = done.refused
    assert "damaged" in refused.what
    held = state(backup_folder(grown))
    (other,) = {session_path("x"), session_path("y")} - {refused.file.path}
    assert held[other]
    assert verify(Archive(backup_folder(grown))).damages == []


def test_a_pack_that_is_gone_takes_nothing_from_the_backup(grown: KeptHome) -> None:
    expected = state(backup_folder(grown))
    for pack in (grown.folder / "packs").iterdir():
        pack.unlink()
    assert back_up(grown).refused == []  # there is nothing new
    check_backup(grown, expected)


def test_a_catalogue_that_was_cut_is_refused_or_takes_nothing(grown: KeptHome) -> None:
    expected = state(backup_folder(grown))
    data = grown.archive.catalogue.read_bytes()
    grown.archive.catalogue.write_bytes(data.splitlines(keepends=True)[0])
    with pytest.raises(BackscrollError) as failure:
        back_up(grown)
    assert "repair" in failure.value.hint
    check_backup(grown, expected)
    packs = [(pack, pack.read_bytes()) for pack in (grown.folder / "packs").iterdir()]
    for at in (at + 1 for at, byte in enumerate(data) if byte == 0x0A):  # also without all that shows it
        grown.archive.catalogue.write_bytes(data[:at])
        (grown.folder / END_NOTE).unlink(missing_ok=True)
        for pack, content in packs:
            pack.write_bytes(content.replace(COPY, b"damaged!"))
        done = back_up(grown)
        lacking = {name for name, versions in expected.items() if state(grown.folder).get(name) != versions}
        known = bool(grown.archive.machines)
        assert not known or {file.path for file in done.only_in_target} >= lacking - {session_path("e")}
        check_backup(grown, expected)


def test_only_what_is_forgotten_leaves_the_backup(grown: KeptHome) -> None:
    grown.write(s=SECRET * 20).capture()
    back_up(grown)
    with Writer(grown.folder) as writer:
        writer.forget([grown.file("s", writer)], keys_to_forget([(str(grown.home), session_path("s"))]))
    assert back_up(grown).forgotten == 1
    check_backup(grown, state(grown.folder))
    copy = grown.copy("copy")
    copy.folder = backup_folder(grown)
    assert SECRET not in copy.everything()
    assert grown.session("s").name.encode() not in copy.everything()
    assert Archive(copy.folder).is_forgotten(str(grown.home), session_path("s"))


def test_a_damaged_archive_is_mended_from_its_backup(grown: KeptHome) -> None:
    expected = state(grown.folder)
    pack = grown.folder / "packs" / "000001.pack"
    data = bytearray(pack.read_bytes())
    for at in (12, len(data) - 12):
        data[at] ^= 0xFF
    pack.write_bytes(data)
    assert grown.verify().damages
    with Writer(grown.folder) as writer:
        assert mend(Archive(backup_folder(grown)), writer) > 0
    assert grown.verify().damages == []
    assert state(grown.folder) == expected
    grown.append("a", b"three\n")
    grown.capture()
    grown.check_whole()


def test_a_lost_end_is_brought_back_from_the_backup(grown: KeptHome) -> None:
    expected = state(grown.folder)
    data = grown.archive.catalogue.read_bytes()
    for at in [at + 1 for at, byte in enumerate(data) if byte == 0x0A][:-1]:
        copy = grown.copy("cut")
        copy.archive.catalogue.write_bytes(data[:at])
        with Writer(copy.folder, accepts_loss=True) as writer:
            merge(Archive(backup_folder(grown)), writer)
        assert copy.verify().damages == []
        assert copy.archive.is_complete
        assert state(copy.folder) == expected


def test_a_backup_is_private_also_where_it_was_not(grown: KeptHome) -> None:
    folder = backup_folder(grown)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    back_up(grown)
    for path in (folder, *folder.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
