"""keep and archive, as a user runs them: history that cannot be lost."""

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import CANARY, EVERYTHING, session_path, write_home

SHOP = """
@ session=S1 cwd=/home/ada/shop
a <- - user: fix the parser
b <- a assistant: done
custom-title: Parser
"""
BLOG = """
@ session=S2 cwd=/home/ada/blog
x <- - user: write a post about zirconium
y <- x assistant: written
"""
S1, S2 = session_uuid("S1"), session_uuid("S2")


class ArchivePlace:
    """A home and a library of its own."""

    def __init__(self, root: Path) -> None:
        self.home = root / "claude"
        self.library = root / "library"
        self.archive = self.library / "archive"

    def run(self, *arguments: str, text: str | None = None) -> CompletedProcess[str]:
        where = ["--home", str(self.home), "--library", str(self.library)]
        return run_command(*arguments, *where, given=text or "")

    def ask(self, *arguments: str, exit_code: int = 0) -> Any:  # noqa: ANN401 - whatever JSON says
        done = self.run(*arguments, "--json")
        assert done.returncode == exit_code, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def place(tmp_path: Path) -> ArchivePlace:
    found = ArchivePlace(tmp_path)
    files = {
        session_path("S1"): jsonl(draw(SHOP)),
        session_path("S2"): jsonl(draw(BLOG)),
        session_path("S1").replace(".jsonl", "/tool-results/t1.txt"): b"spilled",
        f"file-history/{S1}/0123456789abcdef@v1": b"before",
    }
    write_home(found.home, files)
    return found


def test_what_claude_code_deletes_is_still_listed_and_shown(place: ArchivePlace) -> None:
    assert place.run("keep").returncode == 0
    (place.home / session_path("S1")).unlink()
    chats = place.ask("list")["chats"]
    assert {chat["title"]: chat["archived"] for chat in chats} == {
        "Parser": True,
        "write a post about zirconium": False,
    }
    assert "(archived)" in place.run("list").stdout
    shown = place.ask("show", S1)
    assert [message["text"] for message in shown["messages"]] == ["fix the parser", "done"]
    assert place.ask("tree", S1)["chat"]["archived"]
    done = place.run("resume", S1)
    assert done.stdout.splitlines() == [
        f"backscroll archive restore {S1} --in-place",
        f"cd /home/ada/shop && CLAUDE_CONFIG_DIR={place.home} claude --resume {S1}",
    ]


def test_any_command_keeps_first_what_is_new(place: ArchivePlace) -> None:
    assert place.run("list").returncode == 0
    assert place.ask("archive", "status")["sessions"] == 2
    late = jsonl(draw(SHOP.replace("S1", "S3").replace("a <-", "k <-").replace("<- a", "<- k").replace("b <-", "l <-")))
    write_home(place.home, {session_path("S3"): late})
    place.run("list")
    assert place.ask("archive", "status")["sessions"] == 3
    assert place.ask("keep")["files"] == 0


def test_keeping_twice_keeps_nothing_twice(place: ArchivePlace) -> None:
    first = place.ask("keep")
    assert first["files"] == 4
    packs = {path: path.read_bytes() for path in place.archive.glob("packs/*")}
    assert place.ask("keep")["bytes"] == 0
    assert {path: path.read_bytes() for path in place.archive.glob("packs/*")} == packs
    assert "nothing new" in place.run("keep").stderr


def test_the_archive_is_private_and_holds_no_secret(tmp_path: Path) -> None:
    place = ArchivePlace(tmp_path)
    write_home(place.home, EVERYTHING)
    place.run("keep")
    assert place.archive.stat().st_mode & 0o777 == 0o700
    for path in place.archive.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)
    place.run("archive", "backup", str(tmp_path / "copy"))
    everything = place.run("archive", "verify")
    assert everything.returncode == 0, everything.stderr
    assert CANARY not in everything.stdout
    status = place.ask("archive", "status")
    assert status["files"] > 60


def test_a_deleted_session_is_put_back_byte_for_byte(place: ArchivePlace, tmp_path: Path) -> None:
    before = {path.relative_to(place.home): path.read_bytes() for path in place.home.rglob("*") if path.is_file()}
    place.run("keep")
    shutil.rmtree(place.home / "projects")
    shutil.rmtree(place.home / "file-history")
    (place.home / "projects").mkdir()
    done = place.run("archive", "restore", S1, "--in-place")
    assert done.returncode == 0, done.stderr
    restored = {path.relative_to(place.home): path.read_bytes() for path in place.home.rglob("*") if path.is_file()}
    assert restored == {path: data for path, data in before.items() if S2 not in str(path)}
    elsewhere = tmp_path / "elsewhere"
    assert place.run("archive", "restore", S2, "--to", str(elsewhere)).returncode == 0
    assert (elsewhere / session_path("S2")).read_bytes() == before[Path(session_path("S2"))]
    assert not place.ask("show", S1)["chat"]["archived"]


def test_what_is_named_after_the_beginning_of_a_session_belongs_to_it(place: ArchivePlace, tmp_path: Path) -> None:
    own = {
        f"jobs/{S1[:8]}/state.json": f'{{"sessionId":"{S1}"}}',
        f"jobs/{S1[:8]}/timeline.jsonl": '{"state":"working"}\n',
        f"teams/session-{S1[:8]}/inboxes/lead.json": '[{"text":"done"}]',
        f"tasks/{S1}/1.json": '{"subject":"build it"}',
        session_path("S1").replace(".jsonl", "/workflows/wf_1.json"): "{}",
    }
    other = {"jobs/abcd0123/state.json": "{}", "jobs/pins.json": "[]", "teams/shop/inboxes/lead.json": "[]"}
    write_home(place.home, own | other)
    place.run("keep")
    place.run("archive", "restore", S1, "--to", str(tmp_path / "to"))
    restored = {path.relative_to(tmp_path / "to").as_posix() for path in (tmp_path / "to").rglob("*") if path.is_file()}
    assert own.keys() <= restored
    assert not other.keys() & restored
    assert place.run("archive", "forget", S1, "--yes").returncode == 0
    assert place.run("archive", "forget", S2, "--yes").returncode == 0
    later = {f"jobs/{S1[:8]}/state.json": '{"more":"of it"}', f"jobs/{S2[:8]}/state.json": "{}"}
    write_home(place.home, later)
    place.run("keep")
    catalogue = (place.archive / "catalogue.jsonl").read_text()
    assert [path for path in own | later if path in catalogue] == []
    assert [path for path in other if path not in catalogue] == []


def test_a_copy_that_a_background_session_was_made_from_is_forgotten_with_the_original(place: ArchivePlace) -> None:
    copies = {
        "jobs/aaaaaaaa/parent-transcript.jsonl": jsonl(draw(SHOP)),
        "jobs/bbbbbbbb/parent-transcript.jsonl": jsonl(draw(BLOG)),
    }
    write_home(place.home, copies)
    place.run("keep")
    assert place.run("archive", "forget", S1, "--yes").returncode == 0
    place.run("keep")
    catalogue = (place.archive / "catalogue.jsonl").read_text()
    assert [path in catalogue for path in copies] == [False, True]


def test_nothing_that_is_there_is_overwritten(place: ArchivePlace) -> None:
    place.run("keep")
    live = place.home / session_path("S1")
    live.write_bytes(live.read_bytes() + b'{"type":"tag","tag":"newer"}\n')
    newer = live.read_bytes()
    done = place.run("archive", "restore", S1, "--in-place")
    assert done.returncode == 1
    assert "another file is there" in done.stdout
    assert live.read_bytes() == newer


def test_an_emptied_session_stays_in_reach(place: ArchivePlace, tmp_path: Path) -> None:
    place.run("update")
    live = place.home / session_path("S1")
    before = live.read_bytes()
    live.write_bytes(b"")
    place.run("update")
    found = place.ask("archive", "versions", S1)
    versions = [item for item in found["versions"] if item["file"] == str(live)]
    lines = before.count(b"\n")
    kept = [(item["version"], item["bytes"], item["lines"], item["shown"], item["live"]) for item in versions]
    assert kept == [(1, len(before), lines, True, False), (2, 0, 0, True, True)]
    assert {item["damage"] for item in found["versions"]} == {None}
    assert f"{len(before):,} bytes" in place.run("archive", "versions", S1[:8]).stdout
    everything = place.ask("archive", "restore", S1, "--to", str(tmp_path / "all"))["files"]
    (restored,) = [item for item in everything if live.name in item["file"]]
    assert (restored["outcome"], restored["version"]) == ("restored", 1)
    assert (tmp_path / "all" / session_path("S1")).read_bytes() == before
    for number, data in ((1, before), (2, b"")):
        to = tmp_path / str(number)
        assert place.run("archive", "restore", S1, "--version", str(number), "--to", str(to)).returncode == 0
        assert [path.read_bytes() for path in to.rglob("*") if path.is_file()] == [data]
    assert place.run("archive", "restore", S1, "--version", "3", "--to", str(tmp_path / "3")).returncode == 3


def test_one_file_of_a_chat_is_named_by_the_end_of_its_path(place: ArchivePlace, tmp_path: Path) -> None:
    place.run("keep")
    done = place.ask("archive", "restore", S1, "--file", "tool-results/t1.txt", "--to", str(tmp_path / "x"))
    assert [Path(item["file"]).read_bytes() for item in done["files"]] == [b"spilled"]
    assert place.run("archive", "restore", S1, "--file", "nothing", "--to", str(tmp_path / "y")).returncode == 3
    assert place.run("archive", "versions", "ffff0000").returncode == 3


@pytest.mark.parametrize("name", ["catalogue.jsonl", "catalogue.end", "lock", "packs/000001.pack"])
def test_what_is_no_file_in_the_archive_is_refused_and_not_waited_for(place: ArchivePlace, name: str) -> None:
    place.run("update")
    (place.archive / name).unlink()
    os.mkfifo(place.archive / name)
    live = place.home / session_path("S1")
    live.write_bytes(live.read_bytes() + b'{"type":"tag","tag":"newer"}\n')
    done = place.run("keep")
    assert done.returncode == 1
    assert "not a regular file" in done.stderr
    assert {chat["id"] for chat in place.ask("list")["chats"]} == {S1, S2}


def test_a_damaged_version_is_listed_as_such_and_not_restored(place: ArchivePlace, tmp_path: Path) -> None:
    place.run("keep")
    for pack in place.archive.glob("packs/*.pack"):
        pack.write_bytes(bytes(pack.stat().st_size))
    assert all(item["damage"] for item in place.ask("archive", "versions", S1)["versions"])
    done = place.ask("archive", "restore", S1, "--to", str(tmp_path / "x"), exit_code=1)
    assert {item["outcome"] for item in done["files"]} == {"damaged"}


def test_restore_wants_to_know_where(place: ArchivePlace) -> None:
    place.run("keep")
    assert place.run("archive", "restore", S1).returncode == 2
    assert place.run("archive", "restore", S1, "--in-place", "--to", "/x").returncode == 2


def test_a_flipped_byte_is_found_and_named_with_its_session(place: ArchivePlace) -> None:
    place.run("keep")
    assert place.ask("archive", "verify")["damages"] == []
    (pack,) = place.archive.glob("packs/*.pack")
    data = bytearray(pack.read_bytes())
    data[20] ^= 1
    pack.write_bytes(data)
    done = place.run("archive", "verify", "--json")
    assert done.returncode == 1
    (damage,) = json.loads(done.stdout)["damages"]
    assert len(damage["files"]) == 1
    assert "affects" in place.run("archive", "verify").stdout
    assert place.run("list").returncode == 0


def test_damaged_files_that_still_exist_are_distinguished(place: ArchivePlace) -> None:
    place.run("keep")
    live = place.home / session_path("S1")
    live.write_bytes(live.read_bytes() + b'{"type":"tag","tag":"newer"}\n')
    proof = place.ask("archive", "verify")
    assert proof["not_kept_yet"] == [str(live)]
    assert proof["same_as_live"] == 3


def test_a_forgotten_chat_is_gone_and_does_not_come_back(place: ArchivePlace) -> None:
    place.run("keep")
    assert place.run("archive", "forget", S2).returncode == 2  # there is no terminal to ask on
    assert place.ask("archive", "forget", S2, "--yes")["forgotten"] == 1
    place.run("keep")
    status = place.ask("archive", "status")
    assert status["sessions"] == 1
    assert place.ask("archive", "verify")["damages"] == []
    (place.home / session_path("S2")).unlink()
    assert [chat["title"] for chat in place.ask("list")["chats"]] == ["Parser"]
    everything = b"".join(path.read_bytes() for path in place.archive.rglob("*") if path.is_file())
    assert b"zirconium" not in everything
    assert S2.encode() not in everything


def test_a_backup_contains_marks(place: ArchivePlace, tmp_path: Path) -> None:
    place.run("keep")
    marks, recall = place.library / "marks.json", place.library / "recalls" / "2026-01-05-budget.md"
    marks.write_text('{"chats": {}}')
    recall.parent.mkdir()
    recall.write_text("five tries")
    prompts = place.library / "prompts.json"
    prompts.write_text('{"prompts": []}')
    copy = tmp_path / "copy"
    assert place.run("archive", "backup", str(copy)).returncode == 0
    recall.write_text("six tries")
    assert place.run("archive", "backup", str(copy)).returncode == 0
    shutil.rmtree(place.library)
    assert place.run("archive", "restore-backup", str(copy)).returncode == 0
    assert (marks.read_text(), recall.read_text()) == ('{"chats": {}}', "six tries")
    assert prompts.read_text() == '{"prompts": []}'


def test_a_backup_can_become_the_archive(place: ArchivePlace, tmp_path: Path) -> None:
    place.run("keep")
    copy = tmp_path / "copy"
    assert place.ask("archive", "backup", str(copy))["bytes"] > 0
    assert place.ask("archive", "backup", str(copy))["bytes"] < 5000  # only the catalogue
    assert place.run("archive", "restore-backup", str(copy)).returncode == 2  # there is one already
    shutil.rmtree(place.library)
    assert place.ask("archive", "restore-backup", str(copy))["files"] == 4
    shutil.rmtree(place.home / "projects")
    (place.home / "projects").mkdir()
    assert len(place.ask("list")["chats"]) == 2
    assert place.run("archive", "restore-backup", str(tmp_path / "nothing")).returncode == 3


def test_a_backup_outlives_the_damage_of_its_library_and_mends_it(place: ArchivePlace, tmp_path: Path) -> None:
    place.run("keep")
    copy = str(tmp_path / "copy")
    assert place.run("archive", "backup", copy).returncode == 0
    good = {path.name: path.read_bytes() for path in (tmp_path / "copy" / "packs").iterdir()}
    (pack,) = place.archive.glob("packs/*.pack")
    data = bytearray(pack.read_bytes())
    data[20] ^= 1
    pack.write_bytes(data)
    (place.home / session_path("S2")).write_bytes(b"")
    shutil.rmtree(place.home / "projects")
    (place.home / "projects").mkdir()
    assert place.run("archive", "backup", copy).returncode == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "copy" / "packs").iterdir()} == good
    assert place.run("archive", "verify").returncode == 1
    assert place.ask("archive", "repair", "--from", copy)["mended"] == 1
    assert place.run("archive", "verify").returncode == 0
    pack.unlink()
    assert place.ask("archive", "repair", "--from", copy)["mended"] > 1
    assert place.run("archive", "verify").returncode == 0


def test_a_lost_end_of_the_catalogue_is_recovered_from_the_packs(place: ArchivePlace) -> None:
    place.run("update")
    (place.home / session_path("S2")).unlink()
    catalogue = place.archive / "catalogue.jsonl"
    whole = catalogue.read_bytes()
    catalogue.write_bytes(whole.splitlines(keepends=True)[0])
    assert "archive repair" in place.run("archive", "verify").stdout + place.run("doctor", "--deep").stdout
    for note in (True, False):
        catalogue.write_bytes(whole.splitlines(keepends=True)[0])
        if not note:
            (place.archive / "catalogue.end").unlink()
        done = place.ask("archive", "repair")["recovered"]
        assert done["lines"] > 4
        assert done["bytes"] > 0
        assert done["missing_lines"] == 0
        assert place.run("archive", "verify").returncode == 0
    assert "0 lines" in place.run("archive", "repair").stdout
    assert len(place.ask("list")["chats"]) == 2


def test_a_lost_end_that_is_not_in_the_packs_stops_keeping_until_it_is_repaired(
    place: ArchivePlace, tmp_path: Path
) -> None:
    place.run("update")
    copy = str(tmp_path / "copy")
    place.run("archive", "backup", copy)
    (place.home / session_path("S2")).unlink()
    catalogue = place.archive / "catalogue.jsonl"
    catalogue.write_bytes(catalogue.read_bytes().splitlines(keepends=True)[0])
    for pack in (place.archive / "packs").iterdir():
        pack.write_bytes(pack.read_bytes().replace(b"bscroll1", b"damaged!"))
    assert place.run("archive", "backup", copy).returncode == 1
    done = place.run("keep")
    assert done.returncode == 1
    assert "archive repair" in done.stderr
    assert place.ask("archive", "repair", "--from", copy)["files"] == 4
    assert place.run("archive", "verify").returncode == 0
    assert len(place.ask("list")["chats"]) == 2


def test_a_backup_names_marks_and_recalls_that_it_could_not_copy(place: ArchivePlace, tmp_path: Path) -> None:
    place.run("keep")
    library = place.archive.parent
    (library / "recalls").mkdir(exist_ok=True)
    (library / "recalls" / "good.md").write_text("# Good\n")
    (library / "recalls" / "empty.md").write_text("")
    (library / "recalls" / "folder.md").mkdir()
    (library / "marks.json").write_text("{ half")
    (library / "prompts.json").write_text("{ half")
    copy = tmp_path / "copy"
    skipped = place.ask("archive", "backup", str(copy))["skipped"]
    assert {Path(name).name for name in skipped} == {"empty.md", "folder.md", "marks.json", "prompts.json"}
    assert (copy / "recalls" / "good.md").read_text() == "# Good\n"
    told = place.run("archive", "backup", str(copy)).stdout
    assert "unreadable" in told
    assert "marks.json" in told


def test_status_reports_deleted_and_expiring_sessions(place: ArchivePlace) -> None:
    place.run("keep")
    (place.home / session_path("S2")).unlink()
    os.utime(place.home / session_path("S1"), (1_000_000_000, 1_000_000_000))
    place.run("keep")
    status = place.ask("archive", "status")
    assert [item["session"] for item in status["gone"]] == [S2]
    assert [(item["session"], item["overdue"]) for item in status["due"]] == [(S1, True)]
    assert status["last_captured"][str(place.home)]
    assert "1 session deleted by Claude Code; kept in the archive" in place.run("archive", "status").stdout


def test_a_library_that_cannot_be_written_does_not_stop_reading(place: ArchivePlace, tmp_path: Path) -> None:
    (tmp_path / "library").write_text("a file, where a folder should be")
    done = place.run("list")
    assert done.returncode == 0
    assert "Parser" in done.stdout
    assert "could not archive" in done.stderr
    assert place.run("keep").returncode == 1


def test_without_an_archive_or_a_home_there_is_a_next_step(place: ArchivePlace) -> None:
    assert place.run("archive", "status").returncode == 3
    assert "backscroll keep" in place.run("archive", "verify").stderr
    shutil.rmtree(place.home)
    assert place.run("keep").returncode == 3


def test_a_second_keep_reports_busy(place: ArchivePlace) -> None:
    place.run("keep")
    holder = (
        "import fcntl, sys; lock = open(sys.argv[1]); fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    lock = str(place.archive / "lock")
    with subprocess.Popen([sys.executable, "-c", holder, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with next(place.home.glob("projects/*/*.jsonl")).open("ab") as session:
            session.write(b'{"type":"summary","summary":"more"}\n')  # otherwise there is nothing to wait for
        done = place.run("keep")
        assert done.returncode == 4
        assert place.run("list").returncode == 0  # readers never wait
        other.communicate()


def test_keep_works_while_sessions_grow(place: ArchivePlace) -> None:
    where = ["--home", str(place.home), "--library", str(place.library)]
    command = [sys.executable, "-m", "backscroll", "keep", "--watch", *where]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as keeper:
        assert keeper.stderr is not None
        assert keeper.stderr.readline().startswith("kept ")
        live = place.home / session_path("S1")
        told = ""
        for _ in range(600):
            # The watch may not stand yet when the first lines are written; the others find it.
            with live.open("ab") as file:
                file.write(b'{"type":"tag","tag":"more"}\n')
            if select.select([keeper.stderr], [], [], 0.1)[0]:
                told = keeper.stderr.readline()
                break
        keeper.send_signal(2)
        assert keeper.wait(timeout=30) == 130
    assert told.startswith("kept ")
    place.run("keep")
    assert place.ask("archive", "verify")["damages"] == []
