"""sync withdraw, as a user runs it: what was sent and may not leave any more stays until they agree."""

import json
from pathlib import Path

import pytest

from backscroll.library.syncing.remote_settings import note_remote
from backscroll.settings import Settings
from backscroll.sync.policy import Policy, PolicyRule, SyncMode
from tests.cli.test_sync import BLOG, S1, S2, SHOP, Machine
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path, write_home

NO_SHOP = Policy(rules=(PolicyRule("path", "/home/ada/shop", SyncMode.OFF),))


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    """A machine that has sent two sessions, of which that of the shop may not leave any more."""
    machine = Machine(tmp_path, "laptop", SHOP, "S1")
    write_home(machine.home, {session_path("S2", "projects/-home-ada-blog"): jsonl(draw(BLOG, session="S2"))})
    assert machine.run("sync", "add", "nas", tmp_path / "nas", "--create", "--yes").returncode == 0
    settings = Settings(homes=(machine.home,), library=machine.library, file=machine.library / "settings.toml")
    note_remote(settings, "nas", policy=NO_SHOP)
    return machine


def taken(tmp_path: Path) -> set[str]:
    """The chats that a new machine gets."""
    fresh = Machine(tmp_path, f"fresh-{len([*tmp_path.iterdir()])}", "z9 <- - user: hello", "S9")
    fresh.run("sync", "add", "nas", tmp_path / "nas", "--mode", "off", "--yes")
    return {chat["id"] for chat in fresh.json("list")["chats"]} & {S1, S2}


def test_a_sync_withdraws_nothing_and_says_what_may_not_leave_any_more(tmp_path: Path, laptop: Machine) -> None:
    line = "1 session that was sent may not leave any more: run backscroll sync withdraw nas"
    assert line in laptop.run("sync").stdout
    assert laptop.json("sync", "status")["remotes"][0]["withheld"]["sessions"] == 1
    assert "sync withdraw nas" in laptop.run("sync", "status").stdout
    assert taken(tmp_path) == {S1, S2}


def test_in_a_pipe_it_is_listed_and_nothing_is_withdrawn_without_yes(tmp_path: Path, laptop: Machine) -> None:
    laptop.run("update")
    ran = laptop.run("sync", "withdraw", "nas")
    assert ran.returncode == 2
    assert "nothing is withdrawn until you agree" in ran.stderr
    assert "--yes" in ran.stderr
    assert "fix the parser" in ran.stdout, "the title"
    assert "your rule for the folder /home/ada/shop" in ran.stdout
    (row,) = json.loads(laptop.run("sync", "withdraw", "nas", "--json").stdout)["withheld"]
    assert (row["name"], row["mode"], row["project"]) == (S1, "off", "/home/ada/shop")
    assert taken(tmp_path) == {S1, S2}


def test_with_yes_it_is_gone_from_the_remote_and_stays_here(tmp_path: Path, laptop: Machine) -> None:
    assert "removed the content of 1 file" in laptop.run("sync", "withdraw", "nas", "--yes").stdout
    assert taken(tmp_path) == {S2}
    assert {chat["id"] for chat in laptop.json("list")["chats"]} == {S1, S2}
    assert "nothing to withdraw" in laptop.run("sync", "withdraw", "nas").stdout
    assert laptop.run("sync", "verify", "--deep").returncode == 0


def test_what_the_user_keeps_there_is_mentioned_only_by_status(tmp_path: Path, laptop: Machine) -> None:
    assert "1 session" in laptop.run("sync", "withdraw", "nas", "--keep").stdout
    assert "withdraw" not in laptop.run("sync").stdout
    assert "stays there, as you chose" in laptop.run("sync", "status").stdout
    assert taken(tmp_path) == {S1, S2}


def test_what_a_paused_remote_has_is_removed_once_it_resumes(tmp_path: Path, laptop: Machine) -> None:
    laptop.run("sync", "pause", "nas")
    assert "nas is paused" in laptop.run("sync", "withdraw", "nas", "--yes").stdout
    assert taken(tmp_path) == {S1, S2}
    laptop.run("sync", "resume", "nas")
    assert "removed the content of 1 file" in laptop.run("sync").stdout
    assert taken(tmp_path) == {S2}
