"""After a chat is forgotten, no byte of its messages or marks is left in the library."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard

from backscroll.library.marks import change_marks
from backscroll.library.memory.citations import Citation
from backscroll.library.memory.saved_recalls import save_recall
from tests.library.support import Shelf
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, session_path

SECRET = """
s1 <- - user: the promptxyzzy is mine
s2 <- s1 call(m1) t1 Bash {"command": "echo inputxyzzy"}
s3 <- s2 result t1: outputxyzzy
s4 <- s3 assistant: the answerxyzzy
custom-title: The titlexyzzy of it
"""
WORD = b"xyzzy"


def everything(shelf: Shelf) -> dict[str, bytes]:
    """All bytes below the library, and every compressed frame in it unpacked, whether the catalogue names it or not."""
    found = {str(path): path.read_bytes() for path in shelf.folder.rglob("*") if path.is_file()}
    for name, data in list(found.items()):
        for frame in re.finditer(re.escape(zstandard.FRAME_HEADER), data):
            with suppress(zstandard.ZstdError):  # these four bytes by chance, or a frame with a dictionary
                found[f"{name} {frame.start()}"] = (
                    zstandard.ZstdDecompressor().decompressobj().decompress(data[frame.start() :])
                )
    return found


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    shelf.write(session_file("S", SECRET)).write(session_file("O", "o1 <- - user: the other zebra"))
    shelf.update()
    with shelf.open() as library:
        chat = library.chats("title:titlexyzzy")[0].overview.id
    change_marks(shelf.folder, lambda marks: marks.note([chat], "my notexyzzy"))
    change_marks(shelf.folder, lambda marks: marks.tag([chat], ["tagxyzzy"]))
    source = Citation(chat, "The titlexyzzy of it", None, "s4", None, "answer")
    save_recall(shelf.folder, "what was it?", "it was the answerxyzzy", [source])
    return shelf


def forget(shelf: Shelf) -> None:
    where = ("--library", shelf.folder, "--home", shelf.home)
    done = run_command(*where, "archive", "forget", session_uuid("S"), "--yes")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("is_live", [True, False], ids=["Claude Code still has it", "only kept"])
def test_no_byte_of_a_forgotten_chat_is_left(shelf: Shelf, is_live: bool) -> None:
    assert [name for name, data in everything(shelf).items() if WORD in data]
    if not is_live:
        (shelf.home / session_path("S")).unlink()
        shelf.update()
    forget(shelf)
    assert [name for name, data in everything(shelf).items() if WORD in data] == []
    assert shelf.found("zebra")
    shelf.update()  # and none comes back
    assert [name for name, data in everything(shelf).items() if WORD in data] == []
    with shelf.open() as library:
        assert library.refresh(with_text=True) is None
        assert len(library.chats()) == 1
