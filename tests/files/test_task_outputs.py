"""The outputs of background commands, in the temporary folders of a real layout."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from backscroll.files import task_outputs
from backscroll.files.discovery import HomeFile, Omission, discover
from backscroll.files.homes import Home
from backscroll.files.layout import FileKind, LeftOut
from backscroll.files.task_outputs import find_task_outputs, output_folders
from tests.support.drawings import session_uuid
from tests.support.homes import SHOP, session_path, write_home

S1, S2 = session_uuid("S1"), session_uuid("S2")


class Computer:
    """A home, and a temporary folder with what its sessions have there."""

    def __init__(self, root: Path) -> None:
        self.home = write_home(root / "claude", {session_path("S1"): "", session_path("S2"): ""})
        self.temporary = root / "tmp"
        self.own = self.temporary / f"claude-{os.getuid()}"
        self.own.mkdir(parents=True, mode=0o700)

    def folder(self, session: str, project: str = "-home-ada-shop") -> Path:
        folder = self.own / project / session / "tasks"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def found(self) -> Sequence[HomeFile | Omission]:
        return list(find_task_outputs(discover(Home(self.home)).files))

    def paths(self) -> list[str]:
        return [found.relative for found in self.found() if isinstance(found, HomeFile)]


@pytest.fixture
def computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Computer:
    for name in ("TMPDIR", "TMP", "TEMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLAUDE_CODE_TMPDIR", str(tmp_path / "tmp"))
    return Computer(tmp_path)


def test_an_output_is_a_file_of_its_session(computer: Computer) -> None:
    (computer.folder(S1) / "b12ab34cd.output").write_text("built")
    (output,) = computer.found()
    assert isinstance(output, HomeFile)
    assert output.relative == f"{SHOP}/{S1}/tasks/b12ab34cd.output"
    assert output.path == computer.folder(S1) / "b12ab34cd.output"
    assert output.name == str(computer.home / SHOP / S1 / "tasks" / "b12ab34cd.output")
    assert (output.kind, output.place.kind) == (FileKind.TASK_OUTPUT, FileKind.TASK_OUTPUT)
    assert (output.size, output.place.session_id) == (5, S1)


def test_only_the_outputs_of_sessions_of_the_home_are_found(computer: Computer) -> None:
    (computer.folder(S2) / "b2.output").write_text("two")
    (computer.folder(session_uuid("another home's")) / "b3.output").write_text("three")
    (computer.folder(S1, "-home-ada-blog") / "b4.output").write_text("another project's")
    (computer.folder(S1).parent / "scratchpad").mkdir()
    (computer.folder(S1).parent / "scratchpad" / "b5.output").write_text("what the agent works with")
    (computer.folder(S1) / "b6.txt").write_text("no output")
    assert computer.paths() == [f"{SHOP}/{S2}/tasks/b2.output"]


def test_no_link_leads_out_and_only_files_are_read(computer: Computer, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    folder = computer.folder(S1)
    (folder / "b1.output").symlink_to(secret)
    (folder / "b2.output").hardlink_to(secret)
    os.mkfifo(folder / "b3.output")
    (folder / "b4.output").mkdir()
    left_out = {found.path.name: found.reason for found in computer.found() if isinstance(found, Omission)}
    assert computer.paths() == []
    assert left_out == {
        "b1.output": LeftOut.LINK,
        "b2.output": LeftOut.OTHER,
        "b3.output": LeftOut.NOT_A_FILE,
        "b4.output": LeftOut.NOT_A_FILE,
    }


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_folder_on_the_way_that_is_a_link_is_not_followed(computer: Computer, tmp_path: Path, depth: int) -> None:
    (computer.folder(S1) / "b1.output").write_text("built")
    assert computer.paths()
    folder = computer.folder(S1)
    way = [computer.own, folder.parent.parent, folder.parent, folder][depth]
    way.rename(tmp_path / "moved")
    way.symlink_to(tmp_path / "moved")
    assert computer.paths() == []


def test_a_folder_that_others_could_fill_is_not_read(computer: Computer) -> None:
    (computer.folder(S1) / "b1.output").write_text("built")
    for mode in (0o777, 0o770, 0o702):
        computer.own.chmod(mode)
        assert computer.paths() == []
    computer.own.chmod(0o755)
    assert len(computer.paths()) == 1


def test_what_belongs_to_another_user_is_not_read(computer: Computer, monkeypatch: pytest.MonkeyPatch) -> None:
    (computer.folder(S1) / "b1.output").write_text("built")
    other = os.getuid() + 1
    if os.getuid() == 0:  # only root can give files away
        os.chown(computer.folder(S1) / "b1.output", other, -1)
        assert computer.paths() == []
        os.chown(computer.folder(S1) / "b1.output", 0, -1)
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert computer.paths() == []
    computer.own.rename(computer.temporary / f"claude-{other}")
    assert computer.paths() == []


def test_of_very_much_only_a_part_is_found_the_shortest_first(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_outputs, "MOST_FILES", 3)
    monkeypatch.setattr(task_outputs, "MOST_BYTES", 100)
    for name, size in {"a": 90, "b": 10, "c": 20, "d": 30}.items():
        (computer.folder(S1) / f"{name}.output").write_bytes(b"x" * size)
    (computer.folder(S2) / "e.output").write_bytes(b"x" * 100)
    assert [Path(path).stem for path in computer.paths()] == ["e", "b", "c", "d"]
    (too_much,) = [found for found in computer.found() if isinstance(found, Omission)]
    assert (too_much.path.name, too_much.reason) == ("a.output", LeftOut.TOO_MUCH)


def test_no_more_entries_are_looked_at_than_the_limit(computer: Computer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_outputs, "MOST_LOOKED_AT", 50)
    for number in range(60):
        (computer.folder(S1) / f"b{number}.output").write_text("x")
    assert len(computer.found()) == 50


def test_the_work_does_not_grow_with_what_others_have_there(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever lies beside the sessions of the home, on every level but that of the outputs themselves."""
    (computer.folder(S1) / "b1.output").write_text("built")
    before = looks(computer, monkeypatch)
    assert before > 0
    for number in range(1500):
        (computer.temporary / f"file-{number}").touch()
        (computer.own / f"-project-{number}" / session_uuid("x")).mkdir(parents=True)
        (computer.own / "-home-ada-shop" / f"entry-{number}").touch()
        (computer.own / "-home-ada-shop" / S1 / f"entry-{number}").touch()
    assert looks(computer, monkeypatch) == before


def looks(computer: Computer, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many entries a look at the outputs asks the system for."""
    count = 0
    files = discover(Home(computer.home)).files
    stat, scandir = os.stat, os.scandir

    def counting_stat(*arguments: Any, **named: Any) -> os.stat_result:  # noqa: ANN401 - whatever stat takes
        nonlocal count
        count += 1
        return stat(*arguments, **named)

    def counting_scandir(folder: Path) -> Any:  # noqa: ANN401 - an iterator of its own type
        nonlocal count
        count += 1 + len(os.listdir(folder))  # noqa: PTH208 - the oracle is plain os
        return scandir(folder)

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", counting_stat)
        patch.setattr(os, "lstat", counting_stat)
        patch.setattr(os, "scandir", counting_scandir)
        assert [found.path.name for found in find_task_outputs(files)] == ["b1.output"]
    return count


def test_the_folders_are_where_clients_put_them() -> None:
    own = f"claude-{os.getuid()}"
    assert output_folders({}) == [Path("/tmp", own)]
    named = output_folders({"CLAUDE_CODE_TMPDIR": "/a", "TMPDIR": "/b/", "HOME": "/c"})
    assert named == [Path("/a", own), Path("/b", own), Path("/tmp", own)]
