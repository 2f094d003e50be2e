"""The outputs of background commands are kept before they go, and belong to their session."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture_changed
from backscroll.archive.rewriting import Writer
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.files.layout import FileKind
from backscroll.files.task_outputs import LARGEST
from backscroll.files.watching import ChangedFile
from backscroll.library.keeping import watched
from tests.library.support import Shelf
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, session_path, write_home

S1, S2 = session_uuid("S1"), session_uuid("S2")
TALK = "a <- - user: build it\nb <- a assistant: it runs"


class Builds(Shelf):
    """A home whose session S1 has commands in the background."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.own = root / "tmp" / f"claude-{os.getuid()}"
        self.tasks = self.own / "-home-ada-shop" / S1 / "tasks"
        self.tasks.mkdir(parents=True)
        self.own.chmod(0o700)
        self.write(session_file("S1", TALK)).write(session_file("S2", "c <- - user: another"))

    def run(self, *arguments: str) -> Any:  # noqa: ANN401 - whatever JSON says
        done = run_command("--library", self.folder, "--home", self.home, *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    def kept(self, session: str = S1) -> dict[str, list[tuple[int, bool]]]:
        """What is kept of the outputs of a session: of each version its size, and whether it is the live one."""
        kept: dict[str, list[tuple[int, bool]]] = {}
        for item in self.run("archive", "versions", session, "--json")["versions"]:
            assert item["damage"] is None
            if "/tasks/" in item["file"]:
                kept.setdefault(Path(item["file"]).name, []).append((item["bytes"], item["live"]))
        return kept


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builds:
    monkeypatch.setenv("CLAUDE_CODE_TMPDIR", str(tmp_path / "tmp"))
    return Builds(tmp_path)


def test_an_output_is_kept_with_its_session_grows_and_stays(builds: Builds) -> None:
    output = builds.tasks / "b1.output"
    output.write_text("compiling\n")
    builds.run("keep")
    assert builds.kept() == {"b1.output": [(10, True)]}
    assert builds.kept(S2) == {}
    output.write_text("compiling\nrunning\n")
    builds.run("update")
    assert builds.kept() == {"b1.output": [(18, True)]}
    output.unlink()
    builds.run("keep")
    assert builds.kept() == {"b1.output": [(18, False)]}
    assert "everything is intact" in builds.run("archive", "verify")


def test_versions_that_do_not_know_outputs_and_jobs_take_them_for_what_is_only_kept(builds: Builds) -> None:
    """They end in an error where a kind is new to them, and may still run as a hook."""
    (builds.tasks / "b1.output").write_text("built")
    write_home(builds.home, {"jobs/pins.json": b"{}"})
    builds.run("keep")
    lines = map(json.loads, (builds.folder / "archive" / "catalogue.jsonl").read_text().splitlines())
    types = {line["path"]: line["type"] for line in lines if line["kind"] == "file"}
    beside = f"{session_path('S1').removesuffix('.jsonl')}/tasks/b1.output"
    assert (types[beside], types["jobs/pins.json"]) == ("sidecar", "sidecar")
    kinds = {file.path: file.kind for file in Archive(builds.folder / "archive").files.values()}
    assert (kinds[beside], kinds["jobs/pins.json"]) == (FileKind.TASK_OUTPUT, FileKind.JOB)


def test_a_command_that_writes_without_end_is_kept_from_its_beginning(builds: Builds) -> None:
    output = builds.tasks / "b1.output"
    output.write_bytes(b"begun\n")
    os.truncate(output, 1 << 28)
    builds.run("keep")
    os.truncate(output, 1 << 29)
    builds.run("keep")
    assert builds.kept() == {"b1.output": [(LARGEST, True)]}
    done = builds.run("archive", "verify", "--json")
    assert (done["same_as_live"], done["not_kept_yet"]) == (3, [])


def test_an_output_that_was_kept_is_restored_beside_its_session(builds: Builds, tmp_path: Path) -> None:
    (builds.tasks / "b1.output").write_text("built")
    builds.run("keep")
    builds.run("archive", "restore", S1, "--to", str(tmp_path / "to"))
    beside = Path(session_path("S1")).with_suffix("") / "tasks" / "b1.output"
    assert (tmp_path / "to" / beside).read_text() == "built"
    (builds.tasks / "b1.output").unlink()
    builds.run("keep")
    builds.run("archive", "restore", S1, "--in-place")
    assert (builds.home / beside).read_text() == "built"
    builds.run("keep")
    assert builds.kept() == {"b1.output": [(5, True)]}


def test_where_an_output_is_in_both_places_that_of_the_command_counts(builds: Builds) -> None:
    (builds.tasks / "b1.output").write_text("built")
    builds.run("keep")
    builds.run("archive", "restore", S1, "--in-place")
    (builds.tasks / "b1.output").write_text("built again")
    builds.run("keep")
    builds.run("keep")
    assert builds.kept() == {"b1.output": [(11, True)]}


def test_an_output_is_forgotten_with_its_session_and_stays_so(builds: Builds) -> None:
    (builds.tasks / "b1.output").write_text("xyzzy")
    builds.run("keep")
    stays = builds.run("archive", "forget", S1, "--yes", "--json")
    assert str(builds.tasks / "b1.output") in json.dumps(stays)
    builds.run("keep")
    done = run_command("--library", builds.folder, "--home", builds.home, "archive", "versions", S1)
    assert done.returncode == 3
    assert "b1.output" not in (builds.folder / "archive" / "catalogue.jsonl").read_text()


def test_a_session_that_grows_is_kept_with_its_outputs_by_a_watcher(builds: Builds) -> None:
    builds.run("keep")
    (builds.tasks / "b1.output").write_text("built")
    builds.append("S1", b'{"type":"tag","tag":"done"}\n')
    home = Home(builds.home, builds.machine.id)
    (grown,) = [file for file in discover(home).files if file.relative == session_path("S1")]
    with Writer(builds.folder / "archive") as writer:
        done = capture_changed(writer, home, builds.machine.id, [ChangedFile(grown)])
    assert done.files == 2
    assert builds.kept() == {"b1.output": [(5, True)]}


def test_what_another_process_has_not_kept_yet_is_known(builds: Builds, monkeypatch: pytest.MonkeyPatch) -> None:
    """`keep` says that all is kept while another process has the archive only if the outputs are, too."""
    builds.run("keep")
    (builds.tasks / "b1.output").write_text("built")
    monkeypatch.setattr(watched, "OTHER_SECONDS", 0.0)
    with Writer(builds.folder / "archive"):
        done = run_command("--library", builds.folder, "--home", builds.home, "keep")
    assert done.returncode == 4
    builds.run("keep")
    with Writer(builds.folder / "archive"):
        builds.run("keep")


def test_doctor_counts_outputs_and_what_is_left_out_of_them(builds: Builds) -> None:
    (builds.tasks / "b1.output").write_text("built")
    (builds.tasks / "b2.output").symlink_to(builds.home / session_path("S2"))
    (home,) = builds.run("doctor", "--json")["homes"]
    assert home["files"]["task-output"] == {"count": 1, "bytes": 5}
    assert home["left_out"] == {"link": 1}


def test_a_session_that_moves_takes_its_outputs_along(builds: Builds) -> None:
    (builds.tasks / "b1.output").write_text("built")
    builds.run("keep")
    other = builds.home / "projects" / "-home-ada-elsewhere"
    other.mkdir()
    (builds.home / session_path("S1")).rename(other / f"{S1}.jsonl")
    (builds.own / "-home-ada-shop").rename(builds.own / "-home-ada-elsewhere")
    builds.run("keep")
    assert builds.kept() == {"b1.output": [(5, True)]}
