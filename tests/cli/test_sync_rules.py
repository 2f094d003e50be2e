"""sync rules, as a user runs it: what a remote gets is shown, and changed once they agree."""

import re
import shutil
from pathlib import Path

import pytest

from backscroll.library.syncing.remote_settings import find_remote
from backscroll.settings import Settings
from backscroll.sync.policy import Policy, PolicyRule, SyncMode
from tests.cli.test_sync import BLOG, S1, S2, SHOP, Machine
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

SHOP_OFF = ("--path", "/home/ada/shop", "off")


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    """A machine that has sent two sessions of two projects."""
    machine = Machine(tmp_path, "laptop", SHOP, "S1")
    write_home(machine.home, {session_path("S2", "projects/-home-ada-blog"): jsonl(draw(BLOG, session="S2"))})
    assert machine.run("sync", "add", "nas", tmp_path / "nas", "--create", "--yes").returncode == 0
    return machine


def policy_of(machine: Machine) -> Policy:
    settings = Settings(homes=(machine.home,), library=machine.library, file=machine.library / "settings.toml")
    return find_remote(settings, "nas").policy


def test_the_rules_of_a_remote_are_listed_with_the_sessions_that_they_match(laptop: Machine) -> None:
    assert "redacted  every project" in laptop.run("sync", "rules", "nas").stdout
    laptop.run("sync", "rules", "nas", *SHOP_OFF, "--path", "/home/ada/*", "full", "--yes")
    listed = laptop.run("sync", "rules", "nas").stdout
    assert "off       --path /home/ada/shop  (1 session)" in listed
    assert "full      --path /home/ada/*  (2 sessions)" in listed
    assert "redacted  every other project" in listed
    told = laptop.json("sync", "rules", "nas")
    assert [(rule["pattern"], rule["mode"], rule["sessions"]) for rule in told["rules"]] == [
        ("/home/ada/shop", "off", 1), ("/home/ada/*", "full", 2),
    ]  # fmt: skip
    assert (told["mode"], told["organisation"], told["changes"]) == ("redacted", None, None)


def test_the_preview_lists_each_session_with_what_decides_about_it(tmp_path: Path) -> None:
    folder = "projects/-home-ada-client-x"
    laptop = Machine(tmp_path, "laptop", "", "S0")
    for name, cwd in (("S1", "/home/ada/client/x"), ("S2", "/home/ada/client-x")):
        drawing = f"@ cwd={cwd}\na{name} <- - user: about {name}"
        write_home(laptop.home, {session_path(name, folder): jsonl(draw(drawing, session=name))})
    laptop.run("sync", "add", "nas", tmp_path / "nas", "--create", "--path", "/home/ada/client/*", "off", "--yes")
    modes = {
        one["name"]: (row["mode"], one["reason"])
        for row in laptop.json("sync", "preview", "nas", "--sessions")["projects"]
        for one in row["listed"]
    }
    assert modes[session_uuid("S1")][0] == "off"
    assert modes[session_uuid("S2")][0] == "redacted"
    assert "/home/ada/client/*" in modes[session_uuid("S1")][1]
    laptop.run("list")  # titles are those of the index
    shown = laptop.run("sync", "preview", "nas", "--sessions").stdout
    assert re.search(rf"{session_uuid('S1')[:8]}  \S+  [^\n]*about S1  \([^\n]*/home/ada/client/\*", shown)


def test_nothing_changes_until_the_user_agrees_to_what_is_shown(laptop: Machine, tmp_path: Path) -> None:
    laptop.run("update")
    ran = laptop.run("sync", "rules", "nas", *SHOP_OFF)
    assert ran.returncode == 2
    assert "the rules do not change until you agree" in ran.stderr
    assert "redacted → off" in ran.stdout
    assert "fix the parser" in ran.stdout, "the title"
    assert "/home/ada/shop: your rule for the folder /home/ada/shop" in ran.stdout
    assert "Less leaves of 1 session; more leaves of 0 sessions." in ran.stdout
    assert "1 session of these was sent and stays on nas until you run backscroll sync withdraw nas" in ran.stdout
    assert policy_of(laptop) == Policy()
    before = sorted(path.read_bytes() for path in (tmp_path / "nas").rglob("*") if path.is_file())
    assert laptop.run("sync", "rules", "nas", *SHOP_OFF, "--yes").returncode == 0
    assert policy_of(laptop) == Policy(rules=(PolicyRule("path", "/home/ada/shop", SyncMode.OFF),))
    assert "sync withdraw nas" in laptop.run("sync").stdout
    assert sorted(path.read_bytes() for path in (tmp_path / "nas").rglob("*") if path.is_file()) == before
    told = laptop.json("sync", "rules", "nas", "--remove", "/home/ada/shop", "--mode", "metrics", "--yes")
    changes = {(one["name"], one["before"], one["after"]) for one in told["changes"]}
    assert changes == {(S1, "off", "metrics"), (S2, "redacted", "metrics")}
    assert policy_of(laptop) == Policy(SyncMode.METRICS)
    assert laptop.run("-q", "sync", "rules", "nas", "--mode", "off", "--yes").stdout == ""


def test_a_new_rule_comes_first_and_one_that_is_there_gets_another_mode(laptop: Machine) -> None:
    for words in (("--git", "git@github.com:acme/*", "off"), SHOP_OFF, ("--git", "github.com/acme/*", "full")):
        laptop.run("sync", "rules", "nas", *words, "--yes")
    laptop.run("sync", "rules", "nas", "--path", "/srv", "full", "--last", "--yes")
    assert policy_of(laptop).rules == (
        PolicyRule("path", "/home/ada/shop", SyncMode.OFF),
        PolicyRule("remote", "github.com/acme/*", SyncMode.FULL),
        PolicyRule("path", "/srv", SyncMode.FULL),
    )
    ran = laptop.run("sync", "rules", "nas", "--remove", "/nowhere")
    assert ran.returncode == 3
    assert "nas has no rule for /nowhere" in ran.stderr
    assert "/home/ada/shop, github.com/acme/*, /srv" in ran.stderr


@pytest.mark.parametrize(
    ("option", "pattern", "hint"),
    [
        ("--path", "/home/Ada/shop", "it differs from /home/ada/shop only in upper and lower case"),
        ("--path", "home/ada/shop", "did you mean /home/ada/shop?"),
        ("--path", "clients/*", "a folder is written with its whole path"),
        ("--path", "/srv/shop", "--path /srv/shop matches no session of this machine"),
        ("--git", "acme/*", "did you mean the git remote github.com/acme/shop?"),
    ],
)
def test_a_rule_that_matches_nothing_is_named_at_once(tmp_path: Path, option: str, pattern: str, hint: str) -> None:
    clone = tmp_path / "clone"
    (clone / ".git").mkdir(parents=True)
    (clone / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    laptop = Machine(tmp_path, "laptop", SHOP.replace("/home/ada/shop", str(clone)), "S1")
    write_home(laptop.home, {session_path("S2", "projects/-shop"): jsonl(draw(SHOP, session="S2"))})
    ran = laptop.run("sync", "add", "nas", tmp_path / "nas", "--create", "--yes", option, pattern, "off")
    assert ran.returncode == 0, ran.stderr
    assert hint in ran.stderr
    assert hint.removeprefix(f"{option} {pattern} ") in laptop.run("sync", "rules", "nas").stdout
    other = laptop.run("sync", "rules", "nas", "--path", str(clone), "off", "--yes").stdout
    assert f"off       --path {clone}  (1 session)" in other


def test_a_tilde_that_a_shell_left_alone_is_the_home_of_the_user(tmp_path: Path) -> None:
    shop = SHOP.replace("/home/ada/shop", str(Path.home() / "shop"))
    laptop = Machine(tmp_path, "laptop", shop, "S1")
    ran = laptop.run("sync", "add", "nas", tmp_path / "nas", "--create", "--yes", "--path", "~/sh*", "off")
    assert "matches no session" not in ran.stderr
    assert policy_of(laptop).rules == (PolicyRule("path", str(Path.home() / "sh*"), SyncMode.OFF),)
    assert laptop.run("sync", "rules", "nas", "--remove", "~/sh*", "--yes").returncode == 0
    assert policy_of(laptop).rules == ()


def test_drives_match_in_either_case_and_with_either_slash(tmp_path: Path) -> None:
    laptop = Machine(tmp_path, "laptop", SHOP.replace("/home/ada/shop", r"C:\\Users\\Ada\\Shop"), "S1")
    ran = laptop.run("sync", "add", "nas", tmp_path / "nas", "--create", "--yes", "--path", "c:/users/ada/*", "off")
    assert ran.stderr.count("matches no session") == 0
    assert laptop.json("sync", "rules", "nas")["rules"][0]["sessions"] == 1
    unquoted = laptop.run("sync", "rules", "nas", "--path", "C:UsersAdaShop", "off", "--yes").stdout
    assert "did you mean C:\\Users\\Ada\\Shop? Write it in quotation marks" in unquoted


def test_sessions_about_which_the_rules_are_undecided_are_counted(laptop: Machine) -> None:
    ran = laptop.run("sync", "rules", "nas", "--git", "github.com/acme/*", "off", "--yes")
    assert "which is undecided: the git remotes of /home/ada/shop were never seen" in ran.stdout
    line = "2 sessions are not sent, because the rules are undecided: see backscroll sync preview nas"
    assert line in laptop.run("sync").stdout
    assert line in laptop.run("sync", "status").stdout
    assert laptop.json("sync", "status")["remotes"][0]["undecided"] == 2
    laptop.run("sync", "rules", "nas", "--path", "/home/ada/shop", "redacted", "--yes")
    assert "1 session is not sent" in laptop.run("sync").stdout


def test_a_clone_that_was_indexed_is_known_although_it_is_gone_before_the_first_sync(tmp_path: Path) -> None:
    clone, nas = tmp_path / "work" / "shop", tmp_path / "nas"
    config = clone / ".git" / "config"
    config.parent.mkdir(parents=True)
    config.write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    laptop = Machine(tmp_path, "laptop", f"@ session=S1 cwd={clone}\na <- - user: about zirconium", "S1")
    assert laptop.run("update").returncode == 0
    shutil.rmtree(clone)
    clone.mkdir()  # another folder, which has no git remote
    laptop.run("sync", "add", "nas", nas, "--create", "--git", "github.com/acme/*", "off", "--yes")
    assert laptop.json("sync", "rules", "nas")["rules"][0]["sessions"] == 1
    for path in (laptop.library / "sync").glob("projects.sqlite*"):
        path.unlink()
    assert "nothing to send" in laptop.run("sync").stdout
    (row,) = laptop.json("sync", "preview", "nas", "--sessions")["projects"]
    assert (row["mode"], laptop.json("sync", "status")["remotes"][0]["undecided"]) == ("off", 0)
    assert not [*nas.glob("backscroll/1/*/*/*")]
