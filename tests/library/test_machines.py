"""Files of several machines in one library: whose they are is part of what they are known by."""

import hashlib
import json
import platform
import shutil
from pathlib import Path
from typing import Final

import pytest

from backscroll import system
from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.rewriting import Writer
from backscroll.archive.stamp import stamp_of
from backscroll.errors import NothingFound, UsageError
from backscroll.files.homes import Home
from backscroll.files.names import project_folder
from backscroll.files.source_key import SourceKey
from backscroll.library.analytics.blame import blame
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.library.archives import archive_folder
from backscroll.library.chats.file_versions import history
from backscroll.library.chats.resume import resume_of
from backscroll.library.indexing.kept_news import take_news
from backscroll.library.keeping.backup import back_up, restore_backup
from backscroll.library.keeping.keep import keep
from backscroll.library.keeping.restore import put_back
from backscroll.library.local import local_library
from backscroll.library.machine import Machine, ensure_machine, read_machine
from tests.library.support import DESK, Shelf, bring
from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_file, session_path, write_home

BEGUN: Final = "a <- - user: about zebras\nb <- a assistant(m1): they are striped"
RESUMED: Final = BEGUN + "\nc <- b user: and okapis\nd <- c assistant(m2): only their legs"
STRAY: Final = "p <- - user: about lions\nq <- p assistant(m8): they stray"
OTHER: Final = "x <- - user: about lions\ny <- x assistant(m9): they sleep"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def titles(shelf: Shelf, query: str = "") -> list[str]:
    with shelf.open() as library:
        return sorted(chat.overview.title for chat in library.chats(query))


# Two sources


def test_the_same_path_on_two_machines_is_two_files(shelf: Shelf) -> None:
    shelf.write(session_file("S1", BEGUN)).update()
    bring(shelf, session_file("S1", OTHER))
    shelf.update()
    assert sorted(shelf.found("they")) == ["they are striped", "they sleep"]
    assert len(shelf.rows("select path from v_sessions")) == 2
    assert len(shelf.rows("select distinct path from v_sessions")) == 1
    shelf.check_rebuilt(["they", "machine:desk", "machine:desk they"])


def test_a_file_of_another_machine_is_never_read_from_the_live_path_of_the_same_name(shelf: Shelf) -> None:
    shelf.update()
    bring(shelf, session_file("S1", OTHER))
    shelf.update()
    # The same length, so that whatever opens it finds a text.
    shelf.write({session_path("S1"): jsonl(draw(STRAY, session="S1"))})
    with shelf.open() as library:
        found = library.search("sleep")
        assert [library.text(passage.hit) for chat in found.chats for passage in chat.passages] == ["they sleep"]
        source = library.source(SourceKey(DESK, str(shelf.home), session_path("S1")).id)
        assert source is not None
        assert source.is_kept
    shelf.update()
    assert sorted(shelf.found("they")) == ["they sleep", "they stray"]


def test_a_live_file_that_goes_does_not_take_that_of_another_machine_with_it(shelf: Shelf) -> None:
    shelf.write(session_file("S1", BEGUN)).update()
    bring(shelf, session_file("S1", OTHER))
    shelf.update()
    (shelf.home / session_path("S1")).unlink()
    shelf.update()
    archived = shelf.rows("select machine, archived from v_sessions order by machine")
    assert archived == sorted([(DESK, 0), (shelf.machine.id, 1)])
    assert sorted(shelf.found("they")) == ["they are striped", "they sleep"]


# One chat


def test_a_chat_that_was_resumed_on_another_machine_is_one_and_its_answers_count_once(shelf: Shelf) -> None:
    shelf.write(session_file("S1", BEGUN)).update()
    with shelf.open() as library:
        (before,) = usage(library, ReportRequest(), "model").as_dicts()
    bring(shelf, session_file("S1", RESUMED))
    shelf.update()
    with shelf.open() as library:
        (chat,) = library.chats()
        assert (chat.overview.prompts, set(chat.machines)) == (2, {DESK, shelf.machine.id})
        (after,) = usage(library, ReportRequest(), "model").as_dicts()
    assert (before["messages"], after["messages"]) == (1, 2)
    assert after["output_tokens"] == 2 * before["output_tokens"]


def test_what_another_machine_adds_is_read(shelf: Shelf) -> None:
    shelf.update()
    bring(shelf, session_file("S1", BEGUN))
    shelf.update()
    bring(shelf, session_file("S1", RESUMED))
    shelf.update()
    assert shelf.found("okapis") == ["and okapis"]
    assert len(shelf.rows("select path from v_sessions")) == 1
    shelf.check_rebuilt(["okapis"])


# Asking for a machine


def test_machine_is_a_field(shelf: Shelf) -> None:
    shelf.write(session_file("S1", BEGUN)).update()
    bring(shelf, session_file("S2", OTHER))
    shelf.update()
    assert titles(shelf) == ["about lions", "about zebras"]
    assert titles(shelf, "machine:desk") == ["about lions"]
    assert titles(shelf, "-machine:desk") == ["about zebras"]
    assert (shelf.total("machine:desk they"), shelf.total("they")) == (1, 2)
    with shelf.open() as library:
        (row,) = usage(library, ReportRequest(library.parse("machine:desk")), "model").as_dicts()
        machines = {one["machine"]: one["messages"] for one in usage(library, ReportRequest(), "machine").as_dicts()}
        assert set(machines) == {DESK, library.machine.id}
        assert machines[DESK] == row["messages"]
        assert row["messages"] == 1


def test_machines_are_named_where_there_is_more_than_one(shelf: Shelf) -> None:
    shelf.write(session_file("S1", BEGUN)).update()
    where = ("--home", str(shelf.home), "--library", str(shelf.folder))
    for command in (("list",), ("search", "zebras")):
        assert f"on {shelf.machine.id}" not in run_command(*command, *where).stdout
    bring(shelf, session_file("S2", OTHER))
    for command in (("list",), ("search", "about")):
        told = run_command(*command, *where).stdout
        assert f"on {shelf.machine.id}" in told
        assert f"on {DESK}" in told
    chats = json.loads(run_command("list", "machine:desk", "--json", *where).stdout)["chats"]
    assert [chat["machines"] for chat in chats] == [[DESK]]


APP: Final = "/home/ada/shop/app.py"


def writing(text: str, row: str) -> str:
    """A session that writes a file."""
    result = json.dumps({"toolUseResult": {"type": "create", "filePath": APP, "content": text, "structuredPatch": []}})
    return f"""
        {row}1 <- - user: write {text}
        {row}2 <- {row}1 call(m{row}) t{row} Write {json.dumps({"file_path": APP, "content": text})}
        {row}3 <- {row}2 result t{row}: ok {result}
        """


def test_the_same_path_on_two_machines_is_two_files_with_versions_of_their_own(shelf: Shelf) -> None:
    shelf.write(session_file("S1", writing("mine", "a"))).update()
    with shelf.open() as library:
        assert history(library, APP).others == ()
    bring(shelf, session_file("S2", writing("theirs", "x")))
    shelf.update()
    with shelf.open() as library:

        def found(machine: str | None) -> tuple[object, ...]:
            of = history(library, "app.py", machine=machine)
            return of.machine, of.others, [version.content for version, _ in of.versions]

        mine = library.machine.id
        assert found(None) == found(mine) == (mine, (DESK,), ["mine"])
        assert found("desk") == (DESK, (mine,), ["theirs"])
        with pytest.raises(UsageError, match="0 machines"):
            history(library, APP, machine="laptop")
        assert {(row.machine, row.prompt) for row in blame(library, APP, ReportRequest())} == {
            (mine, "write mine"),
            (DESK, "write theirs"),
        }


def test_a_file_that_only_another_machine_has_is_shown(shelf: Shelf) -> None:
    shelf.write(session_file("S1", BEGUN)).update()
    bring(shelf, session_file("S2", writing("theirs", "x")))
    shelf.update()
    with shelf.open() as library:
        of = history(library, APP)
    assert (of.machine, of.others, [version.content for version, _ in of.versions]) == (DESK, (), ["theirs"])


def test_commands_say_which_machine_a_file_is_on(shelf: Shelf) -> None:
    shelf.write(session_file("S1", writing("mine", "a"))).update()
    where = ("--home", str(shelf.home), "--library", str(shelf.folder))
    assert "[on " not in run_command("blame", APP, *where).stdout
    bring(shelf, session_file("S2", writing("theirs", "x")))
    told = run_command("file", APP, *where)
    assert (told.stdout, f"--machine shows it on {DESK}" in told.stderr) == ("mine", True)
    there = json.loads(run_command("file", APP, "--machine", "desk", "--json", *where).stdout)
    assert (there["content"], there["machine"], there["other_machines"]) == ("theirs", DESK, [shelf.machine.id])
    assert f"[on {DESK}] write theirs" in run_command("blame", APP, *where).stdout


def test_other_homes_of_this_machine_are_not_asked_about(shelf: Shelf) -> None:
    shelf.write(session_file("S1", BEGUN)).update()
    bring(shelf, session_file("S2", OTHER))
    write_home(shelf.root / "work", session_file("S3", "w <- - user: they work"))
    with local_library(shelf.settings, [Home(shelf.root / "work")]) as library:
        library.update()
        assert sorted(chat.overview.title for chat in library.chats()) == ["about lions", "they work"]
        (row,) = usage(library, ReportRequest(library.parse("after:2020-01-01")), "model").as_dicts()
        assert row["messages"] == 1
    assert titles(shelf) == ["about lions", "about zebras"]


# Going on with a chat


def test_resume_says_on_which_machine_a_chat_is(shelf: Shelf) -> None:
    shelf.update()
    bring(shelf, session_file("S1", OTHER))
    shelf.update()
    with shelf.open() as library:
        with pytest.raises(NothingFound, match=DESK):
            resume_of(library, library.find(session_uuid("S1")))
        (restored,) = put_back(library, session_uuid("S1"), None)
        assert (restored.outcome, restored.target) == ("restored", shelf.home / session_path("S1"))
        library.update()
        assert resume_of(library, library.find(session_uuid("S1"))).session == session_uuid("S1")


def test_of_a_session_that_two_machines_have_the_fuller_one_is_restored(shelf: Shelf) -> None:
    shelf.write(session_file("S1", BEGUN)).update()
    bring(shelf, session_file("S1", RESUMED))
    shelf.update()
    with shelf.open() as library, pytest.raises(NothingFound, match=DESK):
        resume_of(library, library.find(session_uuid("S1")))
    (shelf.home / session_path("S1")).unlink()
    with shelf.open() as library:
        (restored,) = put_back(library, session_uuid("S1"), None)
        assert restored.target.read_bytes() == session_file("S1", RESUMED)[session_path("S1")]


def test_a_session_of_another_machine_is_restored_into_a_project_of_this_one(shelf: Shelf, tmp_path: Path) -> None:
    bring(shelf, session_file("S1", BEGUN))
    shelf.update()
    with shelf.open() as library:
        (restored,) = put_back(library, session_uuid("S1"), None, project=tmp_path / "my.shop")
        name = project_folder(str(tmp_path / "my.shop"))
        assert restored.target == shelf.home / "projects" / name / f"{session_uuid('S1')}.jsonl"
        assert restored.target.read_bytes() == session_file("S1", BEGUN)[session_path("S1")]
        library.update()
        assert resume_of(library, library.find(session_uuid("S1"))).session == session_uuid("S1")


# Which machine this is


def test_a_changed_host_name_changes_nothing(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "laptop")
    shelf.write(session_file("S1", BEGUN)).update()
    machine = shelf.machine
    assert (machine.name, machine.id.startswith("laptop-")) == ("laptop", True)
    assert (shelf.folder / "machine.json").stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(platform, "node", lambda: "tower")
    shelf.append("S1", jsonl(draw("c <- b user: more", session="S1")))
    shelf.update()
    assert shelf.machine == machine
    assert {file.machine for file in Archive(archive_folder(shelf.settings)).files.values()} == {machine.id}


def test_reading_writes_nothing_and_two_writers_agree(tmp_path: Path) -> None:
    proposed = read_machine(tmp_path)
    assert (read_machine(tmp_path), list(tmp_path.iterdir())) == (proposed, [])
    assert ensure_machine(tmp_path) == proposed == ensure_machine(tmp_path)
    assert json.loads((tmp_path / "machine.json").read_text())["id"] == proposed.id


def test_a_library_that_knew_host_names_only_takes_all_of_them_as_its_own(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that gets another name with every start."""
    shelf.write(session_file("S1", BEGUN) | session_file("S2", OTHER))
    for name in ("first", "second"):
        with Writer(archive_folder(shelf.settings)) as writer:
            capture(writer, Home(shelf.home), name)
        if name == "first":
            (shelf.home / session_path("S2")).unlink()
    monkeypatch.setattr(platform, "node", lambda: "third")
    shelf.update()
    assert shelf.machine == Machine("second", "third", ("first",))
    assert titles(shelf) == ["about lions", "about zebras"]
    assert shelf.rows("select machine, archived from v_sessions order by archived") == [("second", 0), ("second", 1)]
    with shelf.open() as library, pytest.raises(NothingFound, match="deleted"):
        resume_of(library, library.find(session_uuid("S2")))
    shelf.check_rebuilt(["they"])


@pytest.mark.parametrize(("host", "is_same"), [("laptop", True), ("tower", False)])
def test_a_backup_is_restored_as_the_same_machine_only_under_its_name(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, is_same: bool
) -> None:
    monkeypatch.setattr(system, "hardware_id", lambda: None)
    monkeypatch.setattr(platform, "node", lambda: "laptop")
    shelf.write(session_file("S1", BEGUN))
    keep(shelf.settings, [Home(shelf.home)])
    back_up(shelf.settings, tmp_path / "backup")
    monkeypatch.setattr(platform, "node", lambda: host)
    fresh = Shelf(tmp_path / "fresh")
    restore_backup(fresh.settings, tmp_path / "backup")
    assert (fresh.machine.id == shelf.machine.id) is is_same


@pytest.mark.parametrize("hardware", ["laptop's", "tower's"])
def test_a_backup_is_restored_as_the_same_machine_only_on_its_hardware(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hardware: str
) -> None:
    monkeypatch.setattr(system, "hardware_id", lambda: "laptop's")
    shelf.write(session_file("S1", BEGUN))
    keep(shelf.settings, [Home(shelf.home)])
    back_up(shelf.settings, tmp_path / "backup")
    monkeypatch.setattr(system, "hardware_id", lambda: hardware)
    monkeypatch.setattr(platform, "node", lambda: "renamed since")
    fresh = Shelf(tmp_path / "fresh")
    restore_backup(fresh.settings, tmp_path / "backup")
    assert (fresh.machine.id == shelf.machine.id) is (hardware == "laptop's")


def test_a_library_copied_to_other_hardware_is_another_machine_and_the_same_again_when_it_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(folder: str, hardware: str | None) -> Machine:
        monkeypatch.setattr(system, "hardware_id", lambda: hardware)
        assert read_machine(tmp_path / folder) == ensure_machine(tmp_path / folder)
        return ensure_machine(tmp_path / folder)

    def copy(source: str, target: str) -> None:
        shutil.copytree(tmp_path / source, tmp_path / target)

    first = use("one", "A")
    (tmp_path / "one").rename(tmp_path / "moved")
    assert use("moved", "A") == first
    copy("moved", "copy of A")
    assert use("copy of A", None) == first  # a container knows no hardware
    second = use("copy of A", "B")
    assert (second.id != first.id, second.copied_from) == (True, first.id)
    assert not second.is_own(first.id)
    copy("copy of A", "copy of B")
    third = use("copy of B", "C")
    assert third.id not in (first.id, second.id)
    assert third.copied_from == first.id
    copy("copy of B", "back")
    assert use("back", "A") == first
    copy("back", "back again")
    assert use("back again", "B") == second


def test_a_library_that_several_computers_share_is_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a network drive: the folder is the same one, whatever computer looks at it."""
    ids = set()
    for number in [*range(20), *range(20)]:
        monkeypatch.setattr(system, "hardware_id", lambda number=number: f"computer {number}")
        ids.add(ensure_machine(tmp_path).id)
    assert len(ids) == 1


def test_a_machine_file_of_the_first_version_stays_and_is_read_by_that_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields: dict[str, object] = {"id": "laptop-0a1b2c3d", "name": "laptop", "formerly": ["box"]}

    def sum_of(fields: dict[str, object]) -> str:
        """As that version made it, and made it again to see whether the file is damaged."""
        return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()[:16]

    file = tmp_path / "machine.json"
    file.write_text(json.dumps(fields | {"sum": sum_of(fields)}))
    monkeypatch.setattr(system, "hardware_id", lambda: "A")
    monkeypatch.setattr(platform, "node", lambda: "renamed since")
    assert ensure_machine(tmp_path) == Machine("laptop-0a1b2c3d", "laptop", ("box",))
    written = json.loads(file.read_text())
    assert written["hardware"] == ["A"]
    assert {name: written[name] for name in fields} == fields
    assert written["sum"] == sum_of(fields)
    # What it says of the hardware may be damaged, and is then written again: that makes no other machine.
    file.write_text(file.read_text().replace('"A"', '"B"'))
    assert ensure_machine(tmp_path).id == "laptop-0a1b2c3d"
    assert json.loads(file.read_text())["hardware"] == ["A"]


@pytest.mark.parametrize("damage", ["id", "no JSON", "empty"])
def test_a_damaged_machine_file_makes_no_other_machine(shelf: Shelf, damage: str) -> None:
    shelf.write(session_file("S1", BEGUN)).update()
    file, before = shelf.folder / "machine.json", shelf.machine
    whole = file.read_bytes()
    file.write_bytes({"id": whole.replace(b"-", b"_", 1), "no JSON": whole[:-3], "empty": b""}[damage])
    assert titles(shelf) == ["about zebras"]
    shelf.append("S1", jsonl(draw("c <- b user: and okapis", session="S1")))
    shelf.update()
    assert json.loads(file.read_bytes())["id"] == before.id
    assert shelf.rows("select distinct machine from files") == [(before.id,)]


# Appends


def test_what_another_machine_appends_is_read_from_where_reading_stopped(shelf: Shelf) -> None:
    bring(shelf, session_file("S1", BEGUN))
    assert shelf.update().work.records == 2
    bring(shelf, session_file("S1", RESUMED))
    assert shelf.update().work.records == 2
    assert sorted(shelf.found("legs OR striped")) == ["only their legs", "they are striped"]
    shelf.check_rebuilt(["they", "machine:desk", "legs"])


def test_what_another_machine_rewrote_is_read_from_its_beginning(shelf: Shelf) -> None:
    bring(shelf, session_file("S1", BEGUN))
    shelf.update()
    bring(shelf, session_file("S1", OTHER))
    shelf.update()
    assert "they sleep" in shelf.found("they")
    shelf.check_rebuilt(["they", "machine:desk"])


def test_files_that_came_are_read_without_comparing_all_others(shelf: Shelf) -> None:
    """`take_news` gives what an update gives, and leaves it to an update where that is not sure."""
    bring(shelf, {**session_file("S1", BEGUN), **session_file("S2", OTHER)})
    shelf.update()
    folder = archive_folder(shelf.settings)
    source = SourceKey(DESK, str(shelf.home), session_path("S1")).id
    before = stamp_of(folder)
    bring(shelf, {**session_file("S1", RESUMED), **session_file("S2", OTHER)})
    with shelf.open() as library:
        take_news(library, Archive(folder), [source], before)
    assert shelf.found("legs") == ["only their legs"]
    assert shelf.update().is_nothing
    bring(shelf, {**session_file("S1", RESUMED), **session_file("S3", STRAY)})
    with shelf.open() as library:
        take_news(library, Archive(folder), [], "an older stamp")  # so it does not know what else came
    assert shelf.found("stray") == ["they stray"]
    shelf.check_rebuilt(["they", "machine:desk", "legs"])
