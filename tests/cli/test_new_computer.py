"""A new computer, another user name, another home: everything that was kept is there at once, by every way to ask."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from backscroll.files.names import project_folder
from tests.support.computer import Computer, Prompts, prompts_in
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home
from tests.support.samples import TRY_ALL

HOW_TO: Final = Path(__file__).parents[2] / "docs" / "how-to" / "move-to-a-new-computer.md"
GARDEN: Final = "projects/-home-ada-garden"
ZEBRA: Final = """
@ session=zebra cwd=/home/ada/shop time=2026-01-05T10:00
za <- - user: paint the zebra counter
zb <- za assistant(zm1): it has stripes now
zc <- zb user: count its hooves too
zd <- zc assistant(zm2): four of them
"""
OKAPI: Final = """
@ session=okapi cwd=/home/ada/garden time=2026-01-06T10:00
oa <- - user: where does the okapi sleep
ob <- oa call(om1) t1 Bash {"command": "ls stable"}
oc <- ob result t1: straw
od <- oc assistant(om2): behind the stable
"""
LLAMA: Final = """
@ session=llama cwd=/home/ada/shop time=2026-01-07T10:00
la <- - user: shear the llama quietly
lb <- la assistant(lm1): done
"""
TAPIR: Final = """
@ session=tapir cwd=/home/eve/shop time=2026-01-08T10:00
ta <- - user: weigh the new tapir
tb <- ta assistant(tm1): 220 kg
"""
YAK: Final = """
@ session=yak cwd=/home/ada/garden time=2026-01-09T10:00
ya <- - user: comb the yak again
yb <- ya assistant(ym1): combed
"""
GONE: Final = session_uuid("llama")


def sessions() -> dict[str, bytes]:
    return {
        session_path("zebra"): jsonl(draw(ZEBRA)),
        session_path("okapi", GARDEN): jsonl(draw(OKAPI)),
        session_path("llama"): jsonl(draw(LLAMA)),
    }


@pytest.fixture
def old(tmp_path: Path) -> Computer:
    """A computer with three chats, of which Claude Code has deleted one."""
    computer = Computer(tmp_path, "old").write(sessions())
    computer.run("update")
    (computer.home / session_path("llama")).unlink()
    computer.run("update")
    return computer


@pytest.fixture
def kept(tmp_path: Path) -> Prompts:
    """What it had, as its files said before one was deleted."""
    prompts = prompts_in(write_home(tmp_path / "as it was", sessions()))
    assert len(prompts) == 3
    assert GONE in prompts
    return prompts


@pytest.mark.slow
def test_a_backup_is_all_that_a_new_computer_needs(old: Computer, kept: Prompts, tmp_path: Path) -> None:
    old.run("archive", "backup", tmp_path / "usb")
    old.put_away()
    new = Computer(tmp_path, "new", "ada.lovelace")
    told = new.run("archive", "restore-backup", tmp_path / "usb")
    assert "3 sessions" in told.stdout
    assert "shown from the archive" in told.stdout
    assert "backscroll list" in told.stderr
    new.check_shows(kept, servers=True)
    assert new.machine != json.loads((tmp_path / "usb" / "machine.json").read_bytes())["id"]
    assert not new.home.exists()
    assert f"no Claude Code home at {new.home}" in new.run("list").stderr
    # Then Claude Code is used there.
    new.write({session_path("tapir"): jsonl(draw(TAPIR))})
    new.check_shows(kept | prompts_in(new.home))


def test_settings_of_the_old_computer_stop_no_backup_from_being_restored(
    old: Computer, kept: Prompts, tmp_path: Path
) -> None:
    """They may name homes that are not there."""
    old.run("archive", "backup", tmp_path / "usb")
    old.put_away()
    new = Computer(tmp_path, "new", "ada.lovelace")
    settings = new.user_folder / ".config" / "backscroll" / "settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'homes = ["{old.home}", "/mnt/work/.claude"]\n')
    assert "3 sessions" in new.run("archive", "restore-backup", tmp_path / "usb").stdout
    assert "no Claude Code home at /mnt/work/.claude" in new.run("list", code=3).stderr
    settings.write_text(f'homes = ["{old.home}"]\n')
    new.check_shows(kept)


@pytest.mark.parametrize("user", [pytest.param("ada", marks=pytest.mark.all), "ada.lovelace"])
def test_a_library_that_was_copied_is_all_that_a_new_computer_needs(
    old: Computer, kept: Prompts, tmp_path: Path, user: str
) -> None:
    before = old.machine
    new = Computer(tmp_path, "new", user)
    shutil.copytree(old.library, new.library)
    old.put_away()
    new.check_shows(kept, servers=TRY_ALL)
    new.write({session_path("tapir"): jsonl(draw(TAPIR))})
    new.check_shows(kept | prompts_in(new.home))
    assert new.machine != before
    machines = {chat["id"]: chat["machines"] for chat in new.json("list")["chats"]}
    assert machines == {**{chat: [before] for chat in kept}, session_uuid("tapir"): [new.machine]}


def test_a_home_that_was_copied_along_is_the_same_chats_and_counts_once(
    old: Computer, kept: Prompts, tmp_path: Path
) -> None:
    costs = old.json("stats", "usage")["total"]
    new = Computer(tmp_path, "new", "ada.lovelace")
    shutil.copytree(old.home, new.home)
    shutil.copytree(old.library, new.library)
    old.put_away()
    new.check_shows(kept)
    assert new.json("stats", "usage")["total"] == costs


def test_a_synced_library_is_all_that_a_new_computer_needs(old: Computer, kept: Prompts, tmp_path: Path) -> None:
    old.run("sync", "add", "nas", tmp_path / "nas", "--create", "--yes")
    old.run("sync")
    old.put_away()
    new = Computer(tmp_path, "new", "ada.lovelace")
    new.run("sync", "add", "nas", tmp_path / "nas", "--yes")
    new.run("sync")
    new.check_shows(kept, servers=TRY_ALL)


def test_a_copied_library_is_another_machine_to_its_remotes(old: Computer, kept: Prompts, tmp_path: Path) -> None:
    nas = tmp_path / "nas"
    old.run("sync", "add", "nas", nas, "--create", "--yes")
    old.run("sync")
    new = Computer(tmp_path, "new", "ada.lovelace")
    shutil.copytree(old.library, new.library)
    old.write({session_path("tapir"): jsonl(draw(TAPIR))})
    new.write({session_path("yak"): jsonl(draw(YAK))})
    both = kept | prompts_in(old.home) | prompts_in(new.home)
    for computer in (old, new, old, new):  # both go on with what was one library
        computer.run("update")
        computer.run("sync")
        computer.run("sync", "verify")
    old.check_shows(both)
    new.check_shows(both)
    devices = {one["device"]: one["is_own"] for one in new.json("sync", "status")["remotes"][0]["devices"]}
    assert devices == {old.machine: False, new.machine: True}
    # Taken back to the old computer, it is that one again.
    shutil.rmtree(old.library)
    shutil.copytree(new.library, old.library)
    old.run("update")
    old.run("sync")
    assert {one["device"]: one["is_own"] for one in old.json("sync", "status")["remotes"][0]["devices"]} == {
        name: not own for name, own in devices.items()
    }
    old.check_shows(both)


def test_a_copied_library_is_not_let_into_a_team_server_as_the_old_computer(old: Computer, tmp_path: Path) -> None:
    sync = old.library / "sync"
    remote = [{"name": "team", "url": "http://127.0.0.1:9/", "device": "laptop"}]
    old.run("sync", "add", "nas", tmp_path / "nas", "--create", "--yes")
    old.run("sync")
    (sync / "remotes.json").write_text(json.dumps(remote))
    (sync / "team.credential").write_text("bsd_secret")
    new = Computer(tmp_path, "new")
    shutil.copytree(old.library, new.library)
    refused = new.run("sync", code=2)
    assert "this machine is not connected to http://127.0.0.1:9" in refused.stderr
    assert "backscroll connect" in refused.stderr
    assert not (new.library / "sync" / "team.credential").exists()


def test_a_user_who_gets_another_name_keeps_all_chats_each_once(old: Computer, kept: Prompts) -> None:
    before = old.machine
    costs = old.json("stats", "usage")["total"]
    old.rename_user("countess")
    old.check_shows(kept, servers=TRY_ALL)
    assert old.machine == before
    assert old.json("stats", "usage")["total"] == costs
    archived = old.json("archive", "status")
    assert (archived["sessions"], len(archived["gone"])) == (3, 1), "those of the old home are the same ones"
    old.write({session_path("tapir"): jsonl(draw(TAPIR))})
    old.check_shows({**prompts_in(old.home), **kept})


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.slow
def test_a_moved_project_and_a_removed_worktree_hide_nothing(tmp_path: Path) -> None:
    """The folders are gone; the sessions are of a project that lies elsewhere now."""
    old = Computer(tmp_path, "old")
    shop, tree = old.user_folder / "shop", old.user_folder / "fix-prices"
    own = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", "init", "-q", shop], check=True)
    subprocess.run(["git", *own, "commit", "-q", "--allow-empty", "-m", "Open"], cwd=shop, check=True)
    subprocess.run(["git", "worktree", "add", "-q", tree], cwd=shop, check=True, capture_output=True)
    for name, drawing, folder in (("zebra", ZEBRA, shop), ("okapi", OKAPI, tree)):
        rows = re.sub(r"cwd=\S+", f"cwd={folder}", drawing)
        old.write({session_path(name, f"projects/{project_folder(str(folder))}"): jsonl(draw(rows))})
    prompts = prompts_in(old.home)
    old.run("update")
    subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=shop, check=True)
    shop.rename(shop.with_name("market"))
    old.check_shows(prompts, servers=TRY_ALL)
    (old.home / session_path("zebra", f"projects/{project_folder(str(shop))}")).unlink()
    old.check_shows(prompts)


def test_another_name_of_the_computer_makes_no_other_machine(old: Computer, kept: Prompts) -> None:
    before = old.machine
    old.name = "renamed"
    old.run("update")
    old.check_shows(kept)
    assert old.machine == before


def test_another_living_home_is_shown_only_if_it_is_named(old: Computer, kept: Prompts) -> None:
    work = Computer(old.root, "work").write({session_path("tapir"): jsonl(draw(TAPIR))})
    at_work = prompts_in(work.home)
    with old.choosing(work.home):
        old.check_shows(at_work, servers=TRY_ALL)
        refused = old.run("search", "zebra", code=3)
        assert f"the library also has {old.home}: add --home to see it" in refused.stderr
    old.check_shows(kept)
    assert old.listed("--home", old.home, "--home", work.home) == set(kept | at_work)
    # Once it is gone, it is not one to be kept apart from.
    shutil.rmtree(old.home)
    with old.choosing(work.home):
        old.check_shows(kept | at_work)
    shutil.rmtree(work.home)
    old.check_shows(kept | at_work, servers=TRY_ALL)
    assert old.listed("--home", work.home) == set(kept | at_work)


@pytest.mark.all
def test_servers_that_are_started_at_work_show_work_only(old: Computer) -> None:
    work = Computer(old.root, "work").write({session_path("tapir"): jsonl(draw(TAPIR))})
    with old.choosing(work.home):
        old.run("update")
        old.check_served(prompts_in(work.home))


def test_without_a_usual_home_those_that_the_library_has_are_read(old: Computer, kept: Prompts) -> None:
    elsewhere = old.home.rename(old.user_folder / "claude")
    with old.choosing(elsewhere):
        old.run("update")
    old.check_shows(kept)
    (elsewhere / session_path("tapir")).write_bytes(jsonl(draw(TAPIR)))
    assert old.listed() == {*kept, session_uuid("tapir")}
    old.home.mkdir()  # now there is one, and the other is not asked for
    assert old.listed() == set(kept)


def test_a_restored_backup_does_not_call_hidden_what_is_shown(old: Computer, kept: Prompts, tmp_path: Path) -> None:
    """On the same machine, for another user who has no home yet."""
    old.run("archive", "backup", tmp_path / "usb")
    new = Computer(tmp_path, "new", "eve", hardware=old.hardware)
    told = new.run("archive", "restore-backup", tmp_path / "usb")
    assert "not shown" not in told.stdout
    assert new.listed() == set(kept)


@pytest.mark.all
def test_a_home_that_comes_back_is_read_again(old: Computer, kept: Prompts) -> None:
    """As on a disk that was not mounted."""
    unmounted = old.home.rename(old.user_folder / "unmounted")
    old.check_shows(kept)
    assert {chat["archived"] for chat in old.json("list")["chats"]} == {True}
    unmounted.rename(old.home)
    old.check_shows(kept)
    assert {chat["id"] for chat in old.json("list")["chats"] if chat["archived"]} == {GONE}


def test_what_was_forgotten_does_not_come_back_with_a_home_that_is_gone(old: Computer, kept: Prompts) -> None:
    work = Computer(old.root, "work").write({session_path("tapir"): jsonl(draw(TAPIR))})
    old.run("archive", "forget", session_uuid("okapi"), "--yes")
    del kept[session_uuid("okapi")]
    with old.choosing(work.home):
        old.check_shows(prompts_in(work.home))
        shutil.rmtree(old.home)
        old.check_shows(kept | prompts_in(work.home))


def test_every_command_of_the_how_to_works(tmp_path: Path, kept: Prompts) -> None:
    usb, nas, disk = (tmp_path / name for name in ("usb", "nas", "disk"))
    old = Computer(tmp_path, "old").write(sessions())
    new, from_disk, from_remote = (Computer(tmp_path, name, "lovelace") for name in ("new", "from-disk", "from-remote"))

    def run(computer: Computer, command: str) -> None:
        for written, real in (
            ("/mnt/usb", usb), ("/mnt/nas", nas), ("/mnt/old", disk), ("~", computer.user_folder), ("13ed", GONE[:8]),
        ):  # fmt: skip
            command = command.replace(written, str(real))
        words = command.split()
        if words[0] == "backscroll":
            computer.run(*words[1:])
        else:
            subprocess.run(words, check=True)

    blocks = [block.strip().splitlines() for block in re.findall(r"```sh\n(.*?)```", HOW_TO.read_text(), re.DOTALL)]
    backup, restore, look, resume, go_on, disk_, remote, private = blocks
    old.run("update")
    old.run("sync", "add", "nas", nas / "backscroll", "--create", "--yes")
    old.run("sync")
    for command in backup:
        run(old, command)
    old.put_away()
    (tmp_path / "old is lost").rename(disk)
    (new.user_folder / "work" / "shop").mkdir(parents=True)
    for command in [*restore, *look, *resume]:
        run(new, command)
    new.check_shows(kept)
    new.write({session_path("tapir"): jsonl(draw(TAPIR))})
    for command in go_on:
        run(new, command)
    for command in disk_:
        run(from_disk, command)
    disk.rename(tmp_path / "unplugged")
    from_disk.check_shows(kept)
    for command in remote:
        run(from_remote, command)
    from_remote.check_shows(kept)
    new.run(
        "update", "--home", write_home(new.user_folder / "private" / ".claude", {session_path("yak"): jsonl(draw(YAK))})
    )
    assert len(private) == 1
    run(new, private[0])


def test_a_home_nobody_has_is_a_mistake(old: Computer) -> None:
    refused = old.run("list", "--home", "/nowhere/.claude", code=3)
    assert "no Claude Code home at /nowhere/.claude" in refused.stderr


def test_an_empty_library_without_a_home_says_where_it_looked(tmp_path: Path) -> None:
    refused = Computer(tmp_path, "new").run("update", code=3)
    assert "no Claude Code home at" in refused.stderr
