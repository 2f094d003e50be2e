"""After a chat is forgotten, no byte of its messages or marks is left in the library."""

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import zstandard

from backscroll.files.homes import Home
from backscroll.library.archives import open_writer
from backscroll.library.captures import Watching
from backscroll.library.keeping.client_files import ClientFiles
from backscroll.library.marks import change_marks, read_marks
from backscroll.library.memory.citations import Citation
from backscroll.library.memory.saved_recalls import save_recall
from backscroll.library.prompts.prompt import PromptSource, new_prompt
from backscroll.library.prompts.prompt_file import PromptFile
from tests.library.support import Shelf
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.homes import SHOP, live_session, session_file, session_path

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


def test_nothing_is_removed_while_another_process_has_the_archive(shelf: Shelf) -> None:
    where = ("--library", shelf.folder, "--home", shelf.home)
    before = read_marks(shelf.folder).chats
    with open_writer(shelf.settings):
        done = run_command(*where, "archive", "forget", session_uuid("S"), "--yes")
    assert done.returncode == 4
    assert "stop the backscroll that runs" in done.stderr
    assert read_marks(shelf.folder).chats == before
    assert before


def answered(shelf: Shelf, answers: list[bytes], *options: str) -> tuple[int, bytes]:
    """Forget it on a terminal, with an answer for each question; the exit code, and all that was shown."""
    where = ("--library", str(shelf.folder), "--home", str(shelf.home))
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "backscroll", *where, "archive", "forget", session_uuid("S"), *options]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        for number, typed in enumerate(answers, 1):
            while seen.count(b"[y/N]") < number:
                seen += os.read(ours, 4096)
            os.write(ours, typed)
        with suppress(OSError):  # as it ends: nothing has the other side open
            while more := os.read(ours, 4096):
                seen += more
    os.close(ours)
    return process.returncode, b" ".join(seen.split())


@pytest.mark.parametrize(
    ("answers", "code", "is_deleted"),
    [
        ([b"y\n", b"y\n"], 0, True), ([b"y\n", b"\n"], 0, False), ([b"n\n"], 130, False),
        pytest.param([b"y\n", b"n\n"], 0, False, marks=pytest.mark.all),
        pytest.param([b"\n"], 130, False, marks=pytest.mark.all),
    ],
)  # fmt: skip
def test_it_says_what_it_removes_and_asks_also_about_the_files_of_claude_code(
    shelf: Shelf, answers: list[bytes], code: int, is_deleted: bool
) -> None:
    ended, shown = answered(shelf, answers)
    assert b"removed for good: 1 file in the archive" in shown
    assert b"the saved recall " in shown
    assert b"Claude Code still has 1 file" in shown
    assert (b"Also delete this file of Claude Code?" in shown) is (answers[0] == b"y\n")
    assert (b"deleted 1 file of Claude Code" in shown) is is_deleted
    assert (b"not touched: 1 file that is still in your home" in shown) is (code == 0 and not is_deleted)
    assert ended == code
    assert (shelf.home / session_path("S")).exists() is not is_deleted
    is_there = any(WORD in data for data in everything(shelf).values())
    assert is_there is (code != 0)


def test_with_the_switch_there_is_one_question(shelf: Shelf) -> None:
    ended, shown = answered(shelf, [b"y\n"], "--delete-files")
    assert (ended, shown.count(b"[y/N]")) == (0, 1)
    assert b"Permanently remove it from the archive and from Claude Code?" in shown
    assert not (shelf.home / session_path("S")).exists()


def test_after_the_only_chat_is_gone_nothing_is_missed(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S", SECRET))
    shelf.update()
    done = run(shelf, "--yes", "--delete-files")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "forgot 1 file\ndeleted 1 file of Claude Code\n"


# What Claude Code itself has of it.

OF_IT = [
    session_path("S"),
    f"{SHOP}/{session_uuid('S')}/subagents/agent-a1.jsonl",
    f"{SHOP}/{session_uuid('S')}/tool-results/t1.txt",
    f"todos/{session_uuid('S')}-agent-{session_uuid('S')}.json",
    f"file-history/{session_uuid('S')}/0123456789abcdef@v1",
    f"debug/{session_uuid('S').upper()}.txt",
    f"session-env/{session_uuid('S')}/hook-1.sh",
    f"tasks/{session_uuid('S')}/1.json",
    f"security_warnings_state_{session_uuid('S')}.json",
]
"""What has the id of a session in its name, as clients write it; not all of it is archived."""
OF_OTHERS = {
    "settings.json": "{}",
    ".credentials.json": "secret",
    f"{SHOP}/memory/MEMORY.md": "remember",
    f"{SHOP}/sessions-index.json": f'{{"entries": [{{"sessionId": "{session_uuid("S")}", "firstPrompt": "xyzzy"}}]}}\n',
    f"todos/{session_uuid('O')}-agent-{session_uuid('O')}.json": "[]",
    "history.jsonl": "".join(
        f'{{"display": "p", "project": "/home/ada/shop", "sessionId": "{session_uuid(name)}"}}\n' for name in "SOS"
    ),
}


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def whole(shelf: Shelf) -> Shelf:
    """With everything that clients write of a session, and with what they write of others."""
    shelf.write(dict.fromkeys(OF_IT[1:], "{}")).write(OF_OTHERS)
    (shelf.home / "session-env" / session_uuid("O")).mkdir()
    shelf.update()
    return shelf


def run(shelf: Shelf, *options: str) -> CompletedProcess[str]:
    where = ("--library", shelf.folder, "--home", shelf.home)
    return run_command(*where, "archive", "forget", session_uuid("S"), *options)


def test_all_that_claude_code_has_of_it_is_deleted_and_nothing_else(whole: Shelf) -> None:
    before = files_in(whole.home)
    done = run(whole, "--yes", "--delete-files", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert sorted(told["deleted"]) == sorted(str(whole.home / name) for name in OF_IT)
    assert told["stays"] == []
    assert files_in(whole.home) == {name: data for name, data in before.items() if name not in OF_IT}
    assert not [path for path in whole.home.rglob("*") if session_uuid("S") in path.name.lower()]
    assert (whole.home / "session-env" / session_uuid("O")).is_dir()
    remains = [(Path(one["path"]), one["why"]) for one in told["remains"]]
    assert remains == [
        (whole.home / "history.jsonl", "2 prompts of it, in Claude Code's list of typed prompts"),
        (
            whole.home / SHOP / "sessions-index.json",
            "its title and first prompt, in a list that Claude Code writes again by itself",
        ),
        (whole.folder / "archive", f"2 prompts of it, in the kept copy of {whole.home}/history.jsonl"),
    ]


@pytest.mark.parametrize("options", [(), ("--yes",), ("--delete-files",), ("--yes", "--json")])
def test_without_a_terminal_nothing_is_deleted_but_by_both_switches(whole: Shelf, options: tuple[str, ...]) -> None:
    before = files_in(whole.home)
    done = run(whole, *options)
    assert files_in(whole.home) == before
    assert done.returncode == (0 if "--yes" in options else 2)
    if "--json" in options:
        told = json.loads(done.stdout)
        assert (told["deleted"], len(told["stays"])) == ([], len(OF_IT))
    elif options == ("--yes",):
        assert "9 files that are still in your home; backscroll no longer reads or archives them:" in done.stdout
        assert "… and 4 more (-v lists all)" in done.stdout
        assert f"{whole.home}/history.jsonl: 2 prompts of it" in done.stdout
    else:
        assert "unless you add --delete-files" in done.stderr


def test_the_files_of_a_session_that_is_open_stay(whole: Shelf) -> None:
    started = Path(f"/proc/{os.getpid()}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    whole.write(live_session("S", os.getpid(), started))
    before = files_in(whole.home)
    done = run(whole, "--yes", "--delete-files")
    assert done.returncode == 0, done.stderr
    assert files_in(whole.home) == before
    assert f"{session_uuid('S')}.jsonl: the session is open in Claude Code (process {os.getpid()})" in done.stdout


def test_no_link_is_followed_when_files_are_deleted(whole: Shelf) -> None:
    outside = whole.root / "outside"
    outside.mkdir()
    (outside / "mine.txt").write_text("mine")
    (whole.home / SHOP / session_uuid("S") / "link").symlink_to(outside)
    (whole.home / "debug" / f"{session_uuid('S')}.link").symlink_to(outside / "mine.txt")
    (whole.home / SHOP / session_uuid("S") / "fifo").parent.mkdir(exist_ok=True)
    os.mkfifo(whole.home / SHOP / session_uuid("S") / "fifo")
    assert run(whole, "--yes", "--delete-files").returncode == 0
    assert files_in(outside) == {"mine.txt": b"mine"}
    assert not [path for path in whole.home.rglob("*") if session_uuid("S") in path.name.lower()]


def test_what_cannot_be_deleted_is_named(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.write_text("x")
    (left,) = ClientFiles(files=[folder, file, tmp_path / "gone"]).delete()
    assert left.path == folder
    assert "directory" in left.why
    assert not file.exists()


def test_beside_a_process_that_has_the_archive_open_nothing_is_removed(whole: Shelf) -> None:
    before = files_in(whole.home)
    with open_writer(whole.settings), Watching(whole.settings, [Home(whole.home)], "backscroll open"):
        done = run(whole, "--yes", "--delete-files")
    assert done.returncode == 4
    assert "backscroll open (process " in done.stderr
    assert "nothing was removed" in done.stderr
    assert files_in(whole.home) == before
    assert read_marks(whole.folder).chats
    assert [name for name, data in everything(whole).items() if WORD in data]
