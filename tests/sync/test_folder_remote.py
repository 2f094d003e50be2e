"""A folder that others can write to, too: links and special files, permissions, and what other programs leave there."""

import os
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backscroll.errors import BackscrollError, NoPermission
from backscroll.sync.buckets import Bucket
from backscroll.sync.folder_objects import RefusedObjectError
from backscroll.sync.remotes import Folder
from tests.sync.seaweed import KEYS

NAME = "backscroll/1/{}/000001-00000000/{:010}-{:010}.0"
NOBODY = 65534


def name_of(device: str, number: int = 1) -> str:
    return NAME.format(device, number, number)


@contextmanager
def as_another_user() -> Iterator[None]:
    """Who may not read everything, as root may."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def nas() -> Iterator[Path]:
    """A folder that every user can reach."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        yield root / "nas"


def make_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # an address of a socket has at most 100 characters
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize(("make", "kind"), [(make_link, "a link"), (os.mkfifo, "a FIFO"), (make_socket, "a socket")])
def test_links_and_special_files_are_neither_listed_nor_opened(
    tmp_path: Path, make: Callable[[Path], None], kind: str
) -> None:
    folder = Folder(tmp_path)
    good, bad = name_of("laptop"), name_of("laptop", 2)
    assert folder.put(good, b"x")
    make(tmp_path / bad)
    assert [one.name for one in folder.list()] == [good]
    assert folder.findings.problems() == [f"not followed or opened: {bad} ({kind})"]
    with pytest.raises(RefusedObjectError, match=kind):
        folder.get(bad)
    assert not folder.put(bad, b"x")


def test_a_linked_folder_below_the_root_is_not_entered(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    Folder(outside).put("000001-00000000/0000000001-0000000001.0", b"x")
    root = tmp_path / "nas"
    (root / "backscroll" / "1").mkdir(parents=True)
    (root / "backscroll" / "1" / "laptop").symlink_to(outside)
    folder = Folder(root)
    assert list(folder.list("backscroll/1/")) == []
    assert "backscroll/1/laptop (a link)" in folder.findings.problems()[0]
    for act in (folder.get, folder.delete, lambda name: folder.put(name, b"y")):
        with pytest.raises(RefusedObjectError, match="is a link"):
            act(name_of("laptop"))
    assert [one.size for one in Folder(outside).list()] == [1]


def test_the_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "Sync").symlink_to(tmp_path / "there")
    folder = Folder(tmp_path / "Sync")
    assert folder.put(name_of("laptop"), b"x")
    assert [one.name for one in folder.list("backscroll/1/")] == [name_of("laptop")]
    assert folder.get(name_of("laptop")) == b"x"


def test_an_object_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    folder = Folder(tmp_path, largest=1 << 30)
    path = tmp_path / name_of("laptop")
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(40 << 30)  # a hole: it takes no room
    assert [one.size for one in folder.list()] == [40 << 30]
    for read in (folder.get, lambda name: list(folder.pieces(name))):
        with pytest.raises(RefusedObjectError, match=r"no object has more than 1,073,741,824"):
            read(name_of("laptop"))


def test_a_bucket_refuses_it_too(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": s3}.items():
        monkeypatch.setenv(name, value)
    bucket = Bucket("s3://bucket/large", largest=10)
    assert bucket.put(name_of("laptop"), b"x" * 11)
    for read in (bucket.get, lambda name: list(bucket.pieces(name))):
        with pytest.raises(RefusedObjectError):
            read(name_of("laptop"))


def test_what_may_not_be_read_is_said(nas: Path) -> None:
    folder = Folder(nas)
    for device, number in (("laptop", 1), ("laptop", 2), ("laptop", 3), ("desktop", 1)):
        folder.put(name_of(device, number), b"x")
    for path in nas.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for number in (1, 2):
        (nas / name_of("laptop", number)).chmod(0)
    (nas / "backscroll/1/desktop").chmod(0)
    with as_another_user():
        assert [one.name for one in folder.list()] == [name_of("laptop", 3)]
        assert folder.findings.problems(lambda device: f"the {device}") == [
            "objects of the desktop cannot be read: permission denied",
            "2 objects of the laptop cannot be read: permission denied",
        ]
        with pytest.raises(NoPermission):
            folder.get(name_of("laptop", 1))
    (nas / "backscroll/1/desktop").chmod(0o755)
    nas.chmod(0)
    with as_another_user(), pytest.raises(BackscrollError, match="cannot read"):
        list(folder.list())
    nas.chmod(0o755)


@pytest.mark.parametrize(
    ("root", "folders", "files"),
    [(0o700, 0o700, 0o600), (0o755, 0o700, 0o600), (0o2770, 0o2770, 0o660), (0o770, 0o770, 0o660),
     (0o2750, 0o2750, 0o640)],
)  # fmt: skip
def test_the_group_for_which_the_folder_is_open_may_read(tmp_path: Path, root: int, folders: int, files: int) -> None:
    nas = tmp_path / "nas"
    nas.mkdir()
    nas.chmod(root)
    before = os.umask(0o077)
    try:
        assert Folder(nas).put(name_of("laptop"), b"x")
    finally:
        os.umask(before)
    path = nas / name_of("laptop")
    assert stat.S_IMODE(path.stat().st_mode) == files
    assert stat.S_IMODE(path.parent.stat().st_mode) == folders
    assert path.stat().st_gid == nas.stat().st_gid or files == 0o600


def test_a_folder_that_is_opened_later_opens_what_was_written_before(tmp_path: Path) -> None:
    nas = tmp_path / "nas"
    Folder(nas).put(name_of("laptop"), b"x")
    nas.chmod(0o2770)
    Folder(nas).mend_access()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in nas.rglob("*")}
    assert modes == {0o2770, 0o660}


def test_copies_of_conflicts_and_placeholders_are_ignored_and_said(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert folder.put(name_of("laptop"), b"x")
    place = (tmp_path / name_of("laptop")).parent
    for name in ("0000000001-0000000001 (Ada's conflicted copy 2026-01-02).0",
                 "0000000001-0000000001.sync-conflict-20260102-101112-ABCDEFG.0"):  # fmt: skip
        (place / name).write_bytes(b"y")
    (place.parent.parent / "laptop (conflicted copy)").mkdir()
    (place / ".0000000002-0000000002.0.icloud").write_bytes(b"bplist00")
    (place / ".syncthing.0000000003-0000000003.0.tmp").write_bytes(b"half")
    assert [one.name for one in folder.list()] == [name_of("laptop")]
    assert folder.findings.problems() == []
    away, copies = folder.findings.notes()
    assert away == "1 object of laptop not downloaded yet by the program that syncs this folder"
    assert copies.startswith("ignored what are not objects")
    assert "conflicted copy" in copies
