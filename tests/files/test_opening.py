import os
import socket
from pathlib import Path

import pytest

from backscroll.files.opening import open_regular, opened_folder, read_small
from backscroll.files.reading import Reading, read_lines


def refuse(path: Path) -> None:
    """Check that no way of opening the file gets anything out of it, and that none of them waits."""
    free = os.dup(0)
    os.close(free)
    for read in (open_regular, read_small, Reading, lambda path: list(read_lines(path))):
        with pytest.raises(OSError):
            read(path)
    after = os.dup(0)
    os.close(after)
    assert after == free, "a descriptor was left open"


def test_a_small_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert read_small(tmp_path / "a", limit=3) == b"abc"


def test_a_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abcd")
    with pytest.raises(OSError, match="longer than 3 bytes"):
        read_small(tmp_path / "a", limit=3)


def test_a_fifo_is_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    refuse(tmp_path / "a.jsonl")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "a.jsonl").symlink_to("secret")
    refuse(tmp_path / "a.jsonl")


def test_a_folder_is_opened_only_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("folder")
    os.mkfifo(tmp_path / "fifo")
    with opened_folder(tmp_path / "folder") as folder:
        descriptor = open_regular(Path("a"), folder=folder)
        assert os.read(descriptor, 10) == b"abc"
        os.close(descriptor)
    for name in ("link", "fifo", "folder/a", "missing"):
        with pytest.raises(OSError), opened_folder(tmp_path / name):
            pass


def test_a_folder_is_refused(tmp_path: Path) -> None:
    refuse(tmp_path)


def test_a_device_is_refused() -> None:
    refuse(Path("/dev/zero"))


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("a.jsonl")
        refuse(Path("a.jsonl"))


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_small(tmp_path / "a")
