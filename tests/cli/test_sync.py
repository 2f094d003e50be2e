"""sync, as a user of two machines runs it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO, Any

import pytest

from backscroll.archive.rewriting import Writer
from backscroll.cli.sync_output import synced_as_json, write_synced
from backscroll.library.syncing.remote_settings import RemoteSettings, write_remote
from backscroll.library.syncing.sync import Synced
from backscroll.settings import Settings
from backscroll.sync.pull import Pulled
from backscroll.sync.sender import Pushed
from tests.support.command import place_options, run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, write_home
from tests.sync.seaweed import KEYS, PATIENCE

SHOP = """
@ session=S1 cwd=/home/ada/shop
a <- - user: fix the parser with AKIAIOSFODNN7EXAMPLE
b <- a assistant(m1): done
"""
BLOG = """
@ session=S2 cwd=/home/ada/blog
x <- - user: write a post about zirconium
y <- x assistant(m2): written
"""
MORE = """
@ session=S3 cwd=/home/ada/blog
p <- - user: write a post about hafnium
q <- p assistant(m3): written
"""
S1, S2, S3 = session_uuid("S1"), session_uuid("S2"), session_uuid("S3")


class Machine:
    """A machine with a home and a library of its own."""

    def __init__(self, root: Path, name: str, text: str, session: str) -> None:
        self.home, self.library = root / name / "claude", root / name / "library"
        write_home(self.home, session_file(session, text))

    def run(self, *arguments: object, given: str = "") -> CompletedProcess[str]:
        return run_command(*arguments, *place_options(arguments, self.home, self.library), given=given)

    def json(self, *arguments: object) -> Any:  # noqa: ANN401
        ran = self.run(*arguments, "--json")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "laptop", SHOP, "S1")


@pytest.fixture
def desktop(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "desktop", BLOG, "S2")


@pytest.fixture
def nas(tmp_path: Path, laptop: Machine, desktop: Machine) -> Path:
    """A folder that both machines sync with."""
    folder = tmp_path / "nas"
    folder.mkdir()
    for machine in (laptop, desktop, laptop):
        command = ("sync", "add", "nas", folder, "--yes") if not (machine.library / "sync").exists() else ("sync",)
        ran = machine.run(*command)
        assert ran.returncode == 0, ran.stderr
    return folder


def test_each_machine_lists_finds_and_counts_the_chats_of_both(nas: Path, laptop: Machine, desktop: Machine) -> None:
    assert nas.exists()
    for machine in (laptop, desktop):
        assert {chat["id"] for chat in machine.json("list")["chats"]} == {S1, S2}
        assert [chat["id"] for chat in machine.json("search", "zirconium")["chats"]] == [S2]
        assert len(machine.json("stats", "usage", "--by", "machine")["rows"]) == 2


def test_secrets_are_masked_on_their_way_and_stay_on_their_machine(
    nas: Path, laptop: Machine, desktop: Machine
) -> None:
    assert "AKIAIOSFODNN7EXAMPLE" in laptop.run("show", S1).stdout
    shown = desktop.run("show", S1).stdout
    assert "fix the parser with [redacted: aws-key-id" in shown
    assert "AKIAIOSFODNN7EXAMPLE" not in shown
    assert nas.exists()


def test_nothing_leaves_before_yes(tmp_path: Path, laptop: Machine) -> None:
    ran = laptop.run("sync", "add", "nas", tmp_path / "nas")
    assert ran.returncode == 2
    assert "nothing is sent until you agree" in ran.stderr
    assert not (tmp_path / "nas").exists()
    assert laptop.run("sync").returncode == 2


def test_the_preview_shows_projects_sizes_and_masks(laptop: Machine) -> None:
    (row,) = [one for one in laptop.json("sync", "preview")["projects"] if one["project"] == "/home/ada/shop"]
    assert (row["mode"], row["sessions"], sum(row["masked"].values())) == ("redacted", 1, 1)
    ran = laptop.run("sync", "preview", "--mode", "off")
    assert "0 projects with" in ran.stdout


def test_a_project_that_is_off_stays_here(tmp_path: Path, laptop: Machine, desktop: Machine) -> None:
    laptop.run("sync", "add", "nas", tmp_path / "nas", "--create", "--path", "/home/ada/shop", "off", "--yes")
    desktop.run("sync", "add", "nas", tmp_path / "nas", "--yes")
    assert {chat["id"] for chat in desktop.json("list")["chats"]} == {S2}


def test_verify_says_a_sentence_and_finds_what_is_lost(nas: Path, laptop: Machine) -> None:
    ran = laptop.run("sync", "verify", "--deep")
    assert ran.returncode == 0
    assert ran.stdout.startswith("nas: ")
    assert "equal" in ran.stdout
    own = laptop.json("sync", "status")["remotes"][0]["devices"]
    (name,) = [device["device"] for device in own if device["is_own"]]
    for path in (nas / "backscroll" / "1" / name).rglob("*.0"):
        path.unlink()
    ran = laptop.run("sync", "verify")
    assert ran.returncode == 1
    assert "NOT EQUAL" in ran.stdout
    assert laptop.run("sync").returncode == 0
    assert laptop.run("sync", "verify", "--deep").returncode == 0


def test_a_paused_remote_rests_and_a_removed_one_is_forgotten(nas: Path, laptop: Machine) -> None:
    assert nas.exists()
    laptop.run("sync", "pause", "nas")
    assert "paused" in laptop.run("sync").stderr
    laptop.run("sync", "resume", "nas")
    assert laptop.run("sync").returncode == 0
    laptop.run("sync", "remove", "nas")
    assert "there is no remote yet" in laptop.run("sync").stderr
    assert laptop.run("sync", "pause", "nas").returncode == 3


def test_an_encrypted_remote_needs_its_passphrase(
    tmp_path: Path, laptop: Machine, desktop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BACKSCROLL_PASSPHRASE", "correct horse")
    add = ("sync", "add", "nas", tmp_path / "nas", "--yes", "--create")
    assert laptop.run(*add, "--encrypt").returncode == 0
    monkeypatch.setenv("BACKSCROLL_PASSPHRASE", "wrong")
    for more in ((), ("--encrypt",)):  # the variable is enough
        assert "the passphrase is wrong" in desktop.run(*add, *more).stderr
    assert "this remote is encrypted" in desktop.run(*add, "--no-encrypt").stderr
    monkeypatch.delenv("BACKSCROLL_PASSPHRASE")
    assert "set BACKSCROLL_PASSPHRASE" in desktop.run(*add).stderr
    monkeypatch.setenv("BACKSCROLL_PASSPHRASE", "correct horse")
    assert desktop.run(*add).returncode == 0
    monkeypatch.delenv("BACKSCROLL_PASSPHRASE")
    assert desktop.run("sync").returncode == 0
    assert {chat["id"] for chat in desktop.json("list")["chats"]} == {S1, S2}


def test_what_is_private_is_private(nas: Path, laptop: Machine) -> None:
    assert nas.exists()
    for path in (laptop.library / "sync").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_watch_sends_what_is_written_and_takes_what_others_send(nas: Path, laptop: Machine, desktop: Machine) -> None:
    command = [sys.executable, "-m", "backscroll", "sync", "--watch", "--json", "--quiet"]
    where = ["--home", str(desktop.home), "--library", str(desktop.library)]
    with subprocess.Popen([*command, *where], stdout=subprocess.PIPE, text=True) as watching:
        try:
            assert watching.stdout is not None
            read_first(watching.stdout)  # what the first sync did
            write_home(desktop.home, session_file("S3", MORE))
            sent = json.loads(watching.stdout.readline())
            assert sent["sent"]["objects"] == 1
        finally:
            watching.send_signal(signal.SIGINT)
    assert nas.exists()
    assert laptop.run("sync").returncode == 0
    assert [chat["id"] for chat in laptop.json("search", "hafnium")["chats"]] == [S3]


def read_first(stream: IO[str]) -> None:
    """Read the first value, which stands on several lines."""
    text = stream.readline()
    while not _is_json(text):
        text += stream.readline()


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_a_sync_sends_while_another_process_keeps(nas: Path, laptop: Machine, desktop: Machine) -> None:
    write_home(desktop.home, session_file("S3", MORE))
    desktop.run("sync")
    with Writer(laptop.library / "archive"):
        ran = laptop.run("sync")
        assert "writes to the archive right now" in ran.stderr + ran.stdout
    assert laptop.run("sync").returncode == 0
    assert nas.exists()
    assert len(laptop.json("list")["chats"]) == 3


def test_two_processes_that_sync_at_once_do_not_disturb_each_other(
    nas: Path, laptop: Machine, desktop: Machine
) -> None:
    write_home(desktop.home, session_file("S3", MORE))
    command = [sys.executable, "-m", "backscroll", "sync", "--quiet"]
    where = ["--home", str(desktop.home), "--library", str(desktop.library)]
    running = [subprocess.Popen([*command, *where], stderr=subprocess.PIPE, text=True) for _ in range(3)]
    told = [process.communicate()[1] for process in running]
    codes = [process.returncode for process in running]
    assert 0 in codes
    assert {*codes} <= {0, 4}, told  # 4: another process is syncing
    assert desktop.run("sync", "verify", "--deep").returncode == 0
    assert laptop.run("sync").returncode == 0
    assert nas.exists()
    assert [chat["id"] for chat in laptop.json("search", "hafnium")["chats"]] == [S3]


def test_after_the_rules_changed_other_machines_have_the_secret_no_more(
    tmp_path: Path, laptop: Machine, desktop: Machine
) -> None:
    laptop.run("sync", "add", "nas", tmp_path / "nas", "--create", "--mode", "full", "--yes")
    desktop.run("sync", "add", "nas", tmp_path / "nas", "--yes")
    assert "AKIAIOSFODNN7EXAMPLE" in desktop.run("show", S1).stdout
    laptop.run("sync", "remove", "nas")
    laptop.run("sync", "add", "nas", tmp_path / "nas", "--yes")
    assert desktop.run("sync").returncode == 0
    shown = desktop.run("show", S1).stdout
    assert "fix the parser with [redacted: aws-key-id" in shown
    for path in desktop.library.rglob("*"):
        assert not path.is_file() or b"AKIAIOSFODNN7EXAMPLE" not in path.read_bytes(), path


def test_watch_ends_at_once_although_a_bucket_never_answers(laptop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": address}.items():
            monkeypatch.setenv(name, value)
        settings = Settings(homes=(laptop.home,), library=laptop.library, file=laptop.library / "settings.toml")
        write_remote(settings, RemoteSettings(name="cloud", url="s3://bucket/backscroll"))
        where = ["--home", str(laptop.home), "--library", str(laptop.library)]
        with subprocess.Popen(
            [sys.executable, "-m", "backscroll", "watch", "--json", *where], stdout=subprocess.PIPE, text=True
        ) as watching:
            connection, _ = silent.accept()  # it has asked, and waits for the answer
            write_home(laptop.home, session_file("S3", MORE))
            assert watching.stdout is not None
            assert json.loads(watching.stdout.readline())["files"] == 1  # it follows all the same
            watching.send_signal(signal.SIGINT)
            assert watching.wait(PATIENCE) == 130
            connection.close()


def test_files_that_only_a_later_version_knows_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    done = Synced("nas", Pushed(), Pulled(unknown=2))
    write_synced(done)
    told = "left 2 files of a kind that this version does not know on the remote; update backscroll to take them"
    assert told in capsys.readouterr().out
    assert synced_as_json(done)["taken"]["unknown"] == 2
    assert done.is_nothing  # nothing failed


def test_one_remote_that_fails_holds_up_no_other(nas: Path, laptop: Machine, desktop: Machine, tmp_path: Path) -> None:
    other = tmp_path / "away"
    assert laptop.run("sync", "add", "away", other, "--create", "--yes").returncode == 0
    settings = Settings(homes=(laptop.home,), library=laptop.library, file=laptop.library / "settings.toml")
    write_remote(settings, RemoteSettings(name="nas", url=str(nas)))  # it comes last now
    shutil.rmtree(other)
    write_home(desktop.home, session_file("S3", MORE))
    desktop.run("sync")
    order = [one["name"] for one in laptop.json("sync", "status")["remotes"]]
    assert set(order) == {"away", "nas"}
    ran = laptop.run("sync")
    assert ran.returncode == 1
    assert f"away: {other} is not there" in ran.stdout
    assert "nas: nothing to send; took" in ran.stdout
    assert "1 of 2 remotes failed: away" in ran.stderr
    assert [chat["id"] for chat in laptop.json("search", "hafnium")["chats"]] == [S3]
    ran = laptop.run("sync", "--json")
    assert ran.returncode == 1
    told = {one["remote"]: one for one in json.loads(ran.stdout)["remotes"]}
    assert told["nas"]["error"] is None
    assert told["away"]["error"]["message"] == f"{other} is not there"
    assert told["away"]["problems"] == [f"{other} is not there"]
    assert not other.exists()


def test_a_folder_that_is_not_there_is_not_made_by_itself(tmp_path: Path, laptop: Machine) -> None:
    ran = laptop.run("sync", "add", "nas", tmp_path / "nas", "--yes")
    assert ran.returncode == 1
    assert "does not exist" in ran.stderr
    assert "add --create" in ran.stderr
    assert not (tmp_path / "nas").exists()
    assert laptop.run("sync", "add", "nas", tmp_path / "nas", "--yes", "--create").returncode == 0
    (tmp_path / "nas").rename(tmp_path / "unmounted")
    for command in (("sync",), ("sync", "verify")):
        ran = laptop.run(*command)
        assert ran.returncode == 1
        assert "is not there" in ran.stderr
    assert not (tmp_path / "nas").exists()
    assert "is not there" in laptop.run("sync", "status").stdout


def test_the_place_of_a_disk_that_is_not_mounted_is_not_filled(tmp_path: Path, laptop: Machine) -> None:
    nas = tmp_path / "nas"
    nas.mkdir()
    assert laptop.run("sync", "add", "nas", nas, "--yes").returncode == 0
    nas.rename(tmp_path / "disk")
    nas.mkdir()
    ran = laptop.run("sync")
    assert ran.returncode == 1
    assert "nas is empty, and this machine has sent to it before" in ran.stderr
    assert "mount its disk; if nas should be empty, run backscroll sync verify nas --repair" in ran.stderr
    assert [*nas.iterdir()] == []
    assert laptop.run("sync", "verify", "nas", "--repair").returncode == 0
    assert laptop.run("sync").returncode == 0
    assert laptop.json("sync", "verify", "--deep")["remotes"]["nas"]["is_whole"]


def test_a_relative_folder_is_the_same_from_everywhere(
    tmp_path: Path, laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nas").mkdir()
    monkeypatch.chdir(tmp_path)
    assert laptop.run("sync", "add", "nas", "nas", "--yes").returncode == 0
    monkeypatch.chdir("/")
    assert laptop.run("sync", "verify").returncode == 0
    assert laptop.json("sync", "status")["remotes"][0]["url"] == str(tmp_path / "nas")


def test_quiet_commands_say_nothing(nas: Path, laptop: Machine, tmp_path: Path) -> None:
    assert nas.exists()
    for command in (
        ("sync", "--quiet"), ("sync", "verify", "-q"), ("sync", "pause", "nas", "-q"), ("sync", "resume", "nas", "-q"),
        ("sync", "add", "more", tmp_path / "more", "--create", "--yes", "-q"), ("sync", "remove", "more", "-q"),
        ("sync", "rules", "nas", "--mode", "full", "--yes", "-q"), ("sync", "withdraw", "nas", "--yes", "-q"),
        ("sync", "forgets", "--all", "--agree", "-q"), ("sync", "enroll", "-q"),
    ):  # fmt: skip
        ran = laptop.run(*command)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", ""), command


def test_links_and_what_cannot_be_read_are_said_and_end_with_an_error(nas: Path, laptop: Machine) -> None:
    (nas / "backscroll" / "1" / "laptop").symlink_to("/dev")
    os.mkfifo(nas / "backscroll" / "1" / "pipe")
    ran = laptop.run("sync")
    assert ran.returncode == 1
    told = "not followed or opened: backscroll/1/laptop (a link), backscroll/1/pipe (a FIFO)"
    assert told in ran.stdout
    assert told in laptop.run("sync", "status").stdout


def test_a_sync_that_takes_nothing_does_not_import_what_reads_a_library(nas: Path, laptop: Machine) -> None:
    heavy = "{'backscroll.library.library', 'backscroll.query.parse', 'backscroll.library.memory', 'tantivy', 'apsw'}"
    words = ["sync", *map(str, place_options(["sync"], laptop.home, laptop.library))]
    program = f"import sys; from backscroll.cli.main import run; run({words!r}); print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert nas.exists()
    assert done.stdout.splitlines()[-1] == "set()", done.stdout + done.stderr
