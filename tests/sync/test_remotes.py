"""What every remote does: a folder, and a bucket of a real S3 server."""

from pathlib import Path

import pytest

from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.sync.remotes import Folder, Remote, open_remote
from tests.sync.support import EACH_REMOTE

NAME = "backscroll/1/a/000001-00000000/0000000001-0000000001.0"


@EACH_REMOTE
def test_an_object_is_listed_and_read(remote: Remote) -> None:
    assert remote.put(NAME, b"one")
    assert [(one.name, one.size) for one in remote.list()] == [(NAME, 3)]
    assert remote.get(NAME) == b"one"


@EACH_REMOTE
def test_an_object_is_never_overwritten(remote: Remote) -> None:
    assert remote.put(NAME, b"one")
    assert not remote.put(NAME, b"other")
    assert remote.get(NAME) == b"one"


@EACH_REMOTE
def test_a_prefix_limits_the_list(remote: Remote) -> None:
    for name in ("backscroll/1/a/x", "backscroll/1/ab/x", "backscroll/1/b/x"):
        remote.put(name, b"")
    assert [one.name for one in remote.list("backscroll/1/a/")] == ["backscroll/1/a/x"]


@EACH_REMOTE
def test_what_is_deleted_is_gone_and_may_be_deleted_again(remote: Remote) -> None:
    remote.put(NAME, b"one")
    remote.delete(NAME)
    remote.delete(NAME)
    assert list(remote.list()) == []
    with pytest.raises(NothingFound):
        remote.get(NAME)


def test_a_folder_is_made_when_something_is_put(tmp_path: Path) -> None:
    folder = open_remote(f"file://{tmp_path}/with%20space/remote")
    assert list(folder.list()) == []
    assert folder.put("a/b", b"x")
    assert (tmp_path / "with space" / "remote" / "a" / "b").read_bytes() == b"x"


def test_a_folder_shows_nothing_that_is_being_written(tmp_path: Path) -> None:
    (tmp_path / ".syncthing.x.tmp").write_bytes(b"half")
    assert list(Folder(tmp_path).list()) == []


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/etc/passwd"])
def test_a_folder_is_never_left(tmp_path: Path, name: str) -> None:
    with pytest.raises(BackscrollError):
        Folder(tmp_path / "inside").put(name, b"x")


def test_an_unknown_kind_of_remote_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown kind of remote: ftp"):
        open_remote("ftp://example.org/x")
    assert isinstance(open_remote(str(tmp_path)), Folder)
