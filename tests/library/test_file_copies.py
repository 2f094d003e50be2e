"""Claude Code's backups of files are read from their own folder only, even if ids and links lead elsewhere."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from backscroll.library.chats.file_versions import history
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path

APP = "/home/ada/shop/app.py"
COPY = f"{hashlib.sha256(APP.encode()).hexdigest()[:16]}@v1"
SECRET = "not for the eyes of a transcript\n"
WRITTEN = f"""
@ session=S1
a <- - user: begin the app
b <- a call(m1) t1 Write {{"file_path": "{APP}", "content": "one\\n"}}
c <- b result t1: ok {{"toolUseResult": {{"type": "create", "filePath": "{APP}", "content": "one\\n", \
    "structuredPatch": []}}}}
"""


def versions(shelf: Shelf) -> list[str | None]:
    shelf.update()
    with shelf.open() as library:
        return [version.content for version, _ in history(library, APP).versions]


def planted(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / COPY).write_text(SECRET)
    return folder


@pytest.mark.parametrize("claimed", ["../../outside", "..", ".", "", "/", "S/../../outside", "{outside}", "a\0b", "*"])
def test_an_id_in_a_transcript_names_no_folder(tmp_path: Path, claimed: str) -> None:
    """The file of an old agent has no session in its name: its chat has the id that its records say."""
    outside = planted(tmp_path / "outside")
    claimed = claimed.format(outside=outside)
    rows = [row | {"sessionId": claimed, "isSidechain": True, "agentId": "x1"} for row in draw(WRITTEN)]
    shelf = Shelf(tmp_path).write({"projects/-home-ada-shop/agent-x1.jsonl": jsonl(rows)})
    for name in ("file-history", "file-history/S", "file-history/x"):
        planted(shelf.home / name)
    assert versions(shelf) == ["one\n"]


def folder_is_a_link(folder: Path, outside: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.symlink_to(outside, target_is_directory=True)


def copy_is_a_link(folder: Path, outside: Path) -> None:
    folder.mkdir(parents=True)
    (folder / COPY).symlink_to(outside / COPY)


def copy_is_a_fifo(folder: Path, _: Path) -> None:
    folder.mkdir(parents=True)
    os.mkfifo(folder / COPY)


def copy_is_a_folder(folder: Path, _: Path) -> None:
    (folder / COPY).mkdir(parents=True)


def folder_is_a_fifo(folder: Path, _: Path) -> None:
    folder.parent.mkdir(parents=True)
    os.mkfifo(folder)


@pytest.mark.parametrize(
    "plant", [folder_is_a_link, copy_is_a_link, copy_is_a_fifo, copy_is_a_folder, folder_is_a_fifo]
)
def test_nothing_but_a_regular_file_in_the_folder_itself_is_read(
    tmp_path: Path, plant: Callable[[Path, Path], None]
) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(WRITTEN))})
    plant(shelf.home / "file-history" / session_uuid("S1"), planted(tmp_path / "outside"))
    assert versions(shelf) == ["one\n"]


@pytest.mark.parametrize("modified", [0, 2**40])
def test_a_copy_of_any_time_is_a_version(tmp_path: Path, modified: int) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(WRITTEN))})
    copy = planted(shelf.home / "file-history" / session_uuid("S1")) / COPY
    os.utime(copy, (modified, modified))
    assert SECRET in versions(shelf)
