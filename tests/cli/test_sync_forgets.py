"""What was forgotten on another machine is asked, not obeyed."""

import hashlib
import json
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.forgetting import keys_to_forget, path_key
from backscroll.sync.bundles import NO_BUNDLE, Index, encode_bundle
from tests.cli.test_sync import BLOG, S1, S2, S3, SHOP, Machine
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, session_path, write_home

ALSO_BLOG = """
@ session=S3 cwd=/home/ada/blog
p <- - user: write a post about hafnium
q <- p assistant(m3): written
"""

MORE = """
@ session=S4 cwd=/home/ada/zoo
u <- - user: write about vanadium
"""


S4 = session_uuid("S4")


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "laptop", SHOP, "S1")


@pytest.fixture
def desktop(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path, "desktop", BLOG, "S2")
    write_home(machine.home, session_file("S3", ALSO_BLOG))
    return machine


@pytest.fixture
def nas(tmp_path: Path, laptop: Machine, desktop: Machine) -> Path:
    """A folder that both machines sync with, each chat in full."""
    folder = tmp_path / "nas"
    for machine in (laptop, desktop):
        done(machine, "sync", "add", "nas", folder, "--create", "--mode", "full", "--yes")
    done(laptop, "sync")
    return folder


def done(machine: Machine, *arguments: object) -> str:
    ran = machine.run(*arguments)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def listed(machine: Machine) -> set[str]:
    return {chat["id"] for chat in machine.json("list")["chats"]}


def archived(machine: Machine) -> dict[tuple[str, str], bytes]:
    archive = Archive(machine.library / "archive")
    return {
        (file.machine, file.path): b"".join(b"".join(archive.content(version)) for version in file.versions)
        for file in archive.files.values()
    }


def on_remote(nas: Path) -> dict[str, str]:
    return {str(one): hashlib.sha256(one.read_bytes()).hexdigest() for one in nas.rglob("*") if one.is_file()}


def asked_to_forget_its_own(laptop: Machine, desktop: Machine) -> str:
    """The laptop forgets a chat of the desktop; return what the desktop's next sync says."""
    done(laptop, "archive", "forget", S2, "--yes")
    done(laptop, "sync")
    return done(desktop, "sync")


def test_prompts_that_stay_on_a_remote_in_the_list_of_all_prompts_are_named(nas: Path, laptop: Machine) -> None:
    typed = [b'{"display": "about osmium", "sessionId": "%s"}\n' % session.encode() for session in (S1, S4)]
    write_home(laptop.home, {"history.jsonl": b"".join(typed)} | session_file("S4", MORE))
    done(laptop, "sync")
    said = laptop.json("archive", "forget", S4, "--yes")
    assert [one["has_typed_prompts"] for one in said["remotes"]] == [True]
    told = done(laptop, "archive", "forget", S1, "--yes")
    assert "perhaps still on nas: its prompts in history.jsonl" in told
    assert any(b"about osmium" in data for data in archived(fresh_machine(nas)).values()), "as it says"


def test_where_no_prompts_were_sent_none_are_named(nas: Path, laptop: Machine) -> None:
    assert nas.exists()
    assert "still on" not in done(laptop, "archive", "forget", S1, "--yes")


@pytest.mark.usefixtures("nas")
def test_until_it_is_answered_the_chat_is_hidden_and_kept(laptop: Machine, desktop: Machine) -> None:
    before = archived(desktop)
    said = asked_to_forget_its_own(laptop, desktop)
    assert "asks to forget 1 chat, hidden until you answer: backscroll sync forgets" in said
    assert archived(desktop) == before
    assert listed(desktop) == {S1, S3}
    assert desktop.json("list")["hidden"] == 1
    assert "1 chat is hidden" in desktop.run("list").stderr
    assert "1 chat is hidden" in done(desktop, "status")
    assert "asks to forget 1 chat" in done(desktop, "sync", "status")
    assert desktop.run("search", "zirconium").returncode == 3
    assert desktop.run("show", S2).returncode == 3
    assert desktop.run("export", S2).returncode == 3
    assert "zirconium" not in desktop.run("recall", "zirconium").stdout
    assert desktop.json("sql", "select count(*) as n from v_chats")["rows"][0][0] == 2
    (chat,) = desktop.json("sync", "forgets")["chats"]
    assert (chat["id"], chat["project"]) == (S2, "/home/ada/blog")
    assert "zirconium" in chat["title"]
    # Rebuilding the index does not bring it back, either.
    done(desktop, "update", "--rebuild")
    assert listed(desktop) == {S1, S3}


def test_what_is_hidden_goes_on_being_kept_and_is_not_sent(nas: Path, laptop: Machine, desktop: Machine) -> None:
    asked_to_forget_its_own(laptop, desktop)
    (path,) = desktop.home.rglob(f"{S2}.jsonl")
    with path.open("ab") as file:
        file.write(path.read_bytes().splitlines(keepends=True)[0].replace(b"zirconium", b"niobium"))
    before = on_remote(nas)
    done(desktop, "sync")
    assert on_remote(nas) == before
    assert listed(desktop) == {S1, S3}
    assert any(b"niobium" in content for content in archived(desktop).values())
    assert "equal" in done(desktop, "sync", "verify", "--deep")
    done(desktop, "sync", "forgets", S2[:8], "--refuse")
    assert listed(desktop) == {S1, S2, S3}
    assert on_remote(nas) == before
    done(desktop, "sync")
    assert on_remote(nas) != before
    assert desktop.json("sync", "verify", "--deep")["remotes"]["nas"]["is_whole"]


def test_what_was_refused_is_not_asked_again(nas: Path, laptop: Machine, desktop: Machine) -> None:
    asked_to_forget_its_own(laptop, desktop)
    assert done(desktop, "sync", "forgets", "--all", "--refuse", "--quiet") == ""
    (desktop.library / "sync" / "nas.sqlite").unlink()  # everything is read again
    assert "asks to forget" not in done(desktop, "sync")
    assert desktop.json("sync", "forgets")["chats"] == []
    assert listed(desktop) == {S1, S2, S3}
    assert nas.exists()


def test_what_is_agreed_is_gone_here_and_from_the_remote_at_once(nas: Path, laptop: Machine, desktop: Machine) -> None:
    asked_to_forget_its_own(laptop, desktop)
    said = done(desktop, "sync", "forgets", S2, "--agree")
    assert "Forgot 1 chat" in said
    assert "removed from nas what this machine had sent of it" in said
    assert " to forget 1 chat" not in said, "the laptop has forgotten it, and nobody else is there"
    assert listed(desktop) == {S1, S3}
    assert not any(b"zirconium" in content for content in archived(desktop).values())
    for file in desktop.library.rglob("*"):
        if file.is_file() and "index" in str(file):
            assert b"zirconium" not in file.read_bytes(), file
    assert desktop.json("sync", "forgets")["chats"] == []
    assert listed(fresh_machine(nas)) == {S1, S3}
    assert done(desktop, "sync") == "nas: nothing to send; nothing new from other machines.\n"


def fresh_machine(nas: Path) -> Machine:
    """A machine that has taken what the remote has."""
    fresh = Machine(nas.parent, "fresh", "", "S9")
    (fresh.home / session_path("S9")).unlink()
    done(fresh, "sync", "add", "nas", nas, "--yes")
    return fresh


def test_what_is_forgotten_is_gone_from_the_remote_at_once_and_who_is_asked_is_said(
    nas: Path, laptop: Machine, desktop: Machine
) -> None:
    write_home(laptop.home, session_file("S4", MORE))
    done(laptop, "sync")
    write_home(laptop.home, session_file("S5", MORE.replace("S4", "S5").replace("u <-", "v <-")))
    said = done(laptop, "archive", "forget", S1, "--yes")
    name = json.loads((desktop.library / "machine.json").read_text())["id"]
    assert "removed from nas what this machine had sent of it" in said
    assert f"asked {name} to forget {S1[:8]} (fix the parser" in said
    assert listed(fresh_machine(nas)) == {S2, S3, session_uuid("S4")}, "and nothing else was sent"
    assert "asks to forget 1 chat" in done(desktop, "sync")


def test_what_another_machine_sent_stays_until_its_user_agrees_and_that_is_said(
    nas: Path, laptop: Machine, desktop: Machine
) -> None:
    before = on_remote(nas)
    answer = laptop.json("archive", "forget", S2, "--yes")["remotes"]
    name = json.loads((desktop.library / "machine.json").read_text())["id"]
    facts = {"is_server": False, "removed": 0, "has_typed_prompts": False, "problem": None}
    assert answer == [{"remote": "nas", "asked": [name], **facts}]
    assert before.items() <= on_remote(nas).items()
    assert S2 not in listed(laptop)


def test_a_remote_that_cannot_be_reached_forgets_at_the_next_sync(nas: Path, laptop: Machine) -> None:
    away = nas.rename(nas.with_name("away"))
    said = done(laptop, "archive", "forget", S1, "--yes")
    assert f"not removed from nas yet: {nas} is not there. The next sync removes it" in said
    assert not nas.exists()
    nas.mkdir()  # not mounted
    assert laptop.run("archive", "forget", S2, "--yes").stdout.count("nas is empty") == 1
    assert not list(nas.iterdir())
    nas.rmdir()
    away.rename(nas)
    done(laptop, "sync", "pause", "nas")
    assert "nas yet: it is paused" in done(laptop, "archive", "forget", S3, "--yes")
    done(laptop, "sync", "resume", "nas")
    said = done(laptop, "sync")
    assert "removed the content of" in said
    assert "told the others what was forgotten here" in said
    fresh = fresh_machine(nas)
    assert {chat["id"] for chat in fresh.json("sync", "forgets")["chats"]} == {S2, S3}
    assert not any(b"parser" in content for content in archived(fresh).values())


def test_the_setting_agrees_and_one_sync_removes_it_from_the_remote(
    nas: Path, laptop: Machine, desktop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = nas.parent / "settings.toml"
    file.write_text('[sync]\nforget = "agree"\n')
    done(laptop, "archive", "forget", S2, "--yes")
    done(laptop, "sync")
    monkeypatch.setenv("BACKSCROLL_SETTINGS", str(file))
    said = done(desktop, "sync")
    assert "forgot 1 chat because" in said
    assert "removed the content of" in said
    assert not any(b"zirconium" in content for content in archived(desktop).values())
    assert listed(desktop) == {S1, S3}


@pytest.mark.parametrize("forgets", ["every file", "every session"])
def test_an_object_that_forgets_everything_changes_no_archive(
    nas: Path, laptop: Machine, desktop: Machine, forgets: str
) -> None:
    before = archived(desktop)
    files = [(file.home, file.path) for file in Archive(desktop.library / "archive").files.values()]
    paths = {path_key(home, path) for home, path in files}
    keys = sorted(paths if forgets == "every file" else keys_to_forget(files) - paths)
    index = Index(
        device="evil", machine="evil", number=1, previous=NO_BUNDLE, at="2026-01-01T00:00:00+00:00", entries=[],
        forgotten=keys,
    )  # fmt: skip
    _, data = encode_bundle(index, [])
    target = nas / "backscroll" / "1" / "evil" / "000001-00000000" / "0000000001-0000000001.0"
    target.parent.mkdir(parents=True)
    target.write_bytes(data)
    desktop.run("sync")
    laptop.run("sync")
    assert archived(desktop) == before
    desktop.run("sync", "forgets", "--all", "--refuse")
    assert listed(desktop) == {S1, S2, S3}
    assert done(desktop, "archive", "verify")
    assert done(desktop, "sync")


def test_what_a_later_remote_asks_for_is_removed_from_an_earlier_one_at_once(
    nas: Path, laptop: Machine, desktop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = nas.with_name("second")
    for machine in (laptop, desktop):
        done(machine, "sync", "add", "second", second, "--create", "--mode", "full", "--yes")
    done(laptop, "sync")
    done(laptop, "sync", "pause", "nas")
    done(laptop, "archive", "forget", S2, "--yes")
    done(laptop, "sync")
    file = nas.parent / "settings.toml"
    file.write_text('[sync]\nforget = "agree"\n')
    monkeypatch.setenv("BACKSCROLL_SETTINGS", str(file))
    assert desktop.json("sync")["remotes"][0]["sent"]["removed"] > 0
    fresh = Machine(nas.parent, "fresh", SHOP.replace("S1", "S9"), "S9")
    done(fresh, "sync", "add", "nas", nas, "--yes")
    assert S2 not in listed(fresh)
