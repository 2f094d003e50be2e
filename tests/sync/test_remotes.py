"""What every remote does: a folder, a bucket of a real S3 server, and our own server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.errors import BackscrollError, Busy, NothingFound, UsageError
from backscroll.sync.bundles import NO_BUNDLE, Index, encode_bundle
from backscroll.sync.http_remote import HttpRemote
from backscroll.sync.remotes import Folder, Remote, open_remote
from backscroll.team.people.limits import Allowance
from backscroll.team.people.rates import TooMuchError
from tests.sync.served import taking_objects
from tests.sync.support import EACH_REMOTE

NAME = "backscroll/1/a/000001-00000000/0000000001-0000000001.0"


def bundle(at: str, number: int = 1, device: str = "a", machine: str = "a") -> bytes:
    """A bundle without segments; a server takes nothing else as an object."""
    index = Index(device=device, machine=machine, number=number, previous=NO_BUNDLE, at=at, entries=[])
    return encode_bundle(index, [])[1]


ONE, OTHER = bundle("one"), bundle("other")


@EACH_REMOTE
def test_an_object_is_listed_and_read(remote: Remote) -> None:
    assert remote.put(NAME, ONE)
    assert [(one.name, one.size) for one in remote.list()] == [(NAME, len(ONE))]
    assert remote.get(NAME) == ONE


@EACH_REMOTE
def test_an_object_is_never_overwritten(remote: Remote) -> None:
    assert remote.put(NAME, ONE)
    assert not remote.put(NAME, OTHER)
    assert remote.get(NAME) == ONE


@EACH_REMOTE
def test_a_prefix_limits_the_list(remote: Remote) -> None:
    one, two = (NAME.replace("/000001-00000000/", f"/{log}/") for log in ("000001-00000000", "000001-0000000a"))
    for name in (one, two):
        remote.put(name, ONE)
    assert [one.name for one in remote.list("backscroll/1/a/000001-00000000/")] == [one]


@EACH_REMOTE
def test_what_is_deleted_is_gone_and_may_be_deleted_again(remote: Remote) -> None:
    remote.put(NAME, ONE)
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


@pytest.mark.parametrize("url", ["file://backup/monday", "file://host", "file://"])
def test_an_address_of_a_file_on_another_machine_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is not a folder on this machine"):
        open_remote(url)


def test_a_folder_shows_nothing_that_is_being_written(tmp_path: Path) -> None:
    (tmp_path / ".syncthing.x.tmp").write_bytes(b"half")
    assert list(Folder(tmp_path).list()) == []


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/etc/passwd"])
def test_a_folder_is_never_left(tmp_path: Path, name: str) -> None:
    with pytest.raises(BackscrollError):
        Folder(tmp_path / "inside").put(name, b"x")


def test_an_unknown_kind_of_remote_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the address of the remote is empty"):
        open_remote(" ")
    with pytest.raises(UsageError, match="unknown kind of remote: ftp"):
        open_remote("ftp://example.org/x")
    assert isinstance(open_remote(str(tmp_path)), Folder)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with taking_objects(tmp_path_factory.mktemp("objects")) as url:
        HttpRemote(url, "laptop").put(NAME.replace("/a/", "/laptop/"), bundle("one", device="laptop", machine="laptop"))
        yield url


def test_a_device_of_a_server_sees_and_changes_only_its_own_objects(server: str) -> None:
    device, foreign = HttpRemote(server, "a"), NAME.replace("/a/", "/laptop/")
    assert all(list(device.list(prefix)) == [] for prefix in ("", "backscroll/1/laptop/", "backscroll/1/lap"))
    for act in (device.get, device.delete, lambda name: device.put(name, ONE)):
        with pytest.raises(NothingFound):
            act(foreign)
    assert [one.name for one in HttpRemote(server, "laptop").list()] == [foreign]


@pytest.mark.parametrize("name", [NAME.replace("/a/", "/a/../laptop/"), "backscroll/1/key.json", "", "/"])
def test_a_server_has_no_other_names(server: str, name: str) -> None:
    with pytest.raises((NothingFound, BackscrollError)):
        HttpRemote(server, "a").put(name, ONE)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"zip", ONE[:-1], ONE + b"x", bundle("x", number=2), bundle("x", device="laptop"),
        bundle("x", machine="laptop"),
    ],
)  # fmt: skip
def test_a_server_gives_no_receipt_for_what_is_not_a_bundle_of_this_device(server: str, data: bytes) -> None:
    device = HttpRemote(server, "a")
    with pytest.raises(BackscrollError, match="damaged"):
        device.put(NAME, data)
    assert list(device.list()) == []


def test_a_server_takes_no_other_credential(server: str) -> None:
    with pytest.raises(UsageError, match="does not accept this machine"):
        list(HttpRemote(server, "guessed").list())
    with pytest.raises(UsageError, match="not connected"):
        open_remote(server)


def test_a_device_waits_as_long_as_the_server_says(tmp_path: Path) -> None:
    waits: list[float] = []
    sent: list[int] = []

    def spend(_: Allowance, unpacked: int) -> None:
        if sent:
            raise TooMuchError("this device has sent too much in a short time", 39.2)
        sent.append(unpacked)

    with taking_objects(tmp_path, spend) as url:
        device = HttpRemote(url, "a", sleep=waits.append)
        assert device.put(NAME, ONE)
        with pytest.raises(Busy, match="much in a short time"):
            device.put(NAME.replace("1.0", "1.1"), OTHER)
    assert 40 <= waits[0] <= 50


def test_a_credential_is_never_sent_in_the_clear_to_another_machine() -> None:
    for url in ("http://team.example.org", "http://10.0.0.1:8420", "https://ada@team.example.org"):
        with pytest.raises(UsageError):
            open_remote(url, "credential")
