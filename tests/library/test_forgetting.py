"""After a chat is forgotten, no byte of its messages or marks is left in the library."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard

from backscroll.library.marks import change_marks
from backscroll.library.memory.citations import Citation
from backscroll.library.memory.saved_recalls import save_recall
from backscroll.library.prompts.prompt import PromptSource, new_prompt
from backscroll.library.prompts.prompt_file import PromptFile
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
    prompt = new_prompt("mine", "the promptxyzzy is mine", source=PromptSource(chat=chat, message="s1"))
    PromptFile(shelf.folder).add(prompt)
    PromptFile(shelf.folder).add(new_prompt("other", "the other zebra"))
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


@pytest.mark.parametrize("is_live", [True, False], ids=["Claude Code still has it", "only kept"])
def test_what_stays_is_named(shelf: Shelf, is_live: bool) -> None:
    path = shelf.home / session_path("S")
    if not is_live:
        path.unlink()
    where = ("--library", shelf.folder, "--home", shelf.home)
    done = run_command(*where, "archive", "forget", session_uuid("S"), "--yes")
    assert (str(path) in done.stdout) is is_live
    assert ("not touched" in done.stdout) is is_live
    assert path.exists() is is_live
    run_command(*where, "keep")
    assert WORD not in b"".join(everything(shelf).values())


@pytest.mark.parametrize(("typed", "code"), [(b"y\n", 0), (b"n\n", 130), (b"\n", 130)])
def test_it_says_what_it_removes_and_asks(shelf: Shelf, typed: bytes, code: int) -> None:
    where = ("--library", str(shelf.folder), "--home", str(shelf.home))
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "backscroll", *where, "archive", "forget", session_uuid("S")]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while b"[y/N]" not in seen:
            seen += os.read(ours, 4096)
        os.write(ours, typed)
        with suppress(OSError):  # as it ends: nothing has the other side open
            while more := os.read(ours, 4096):
                seen += more
    os.close(ours)
    shown = b" ".join(seen.split())
    assert b"removed for good: 1 file in the archive" in shown
    assert b"the saved recall " in shown
    assert b"not touched: 1 file that is still in your home" in shown
    assert process.returncode == code
    is_there = any(WORD in data for data in everything(shelf).values())
    assert is_there is (code != 0)
