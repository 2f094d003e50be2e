import os
import queue
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest

from backscroll.files.homes import Home
from backscroll.files.watching import ChangedFile, watch
from tests.support.homes import EVERYTHING, SECRETS, session_path, write_home

A, B, C = "projects/one/agent-a.jsonl", "projects/one/agent-b.jsonl", "projects/two/agent-c.jsonl"

PATIENCE: Final = 15.0
"""Seconds until we give up on something that should come at once."""
NEVER: Final = 3600.0


class Watch:
    """A watch over homes in a separate thread, and its reports: `+ FILE`, or `- FILE` for a deleted one."""

    def __init__(
        self, *homes: Path, polling: bool = False, sweep_seconds: float = NEVER, poll_seconds: float = 0.02
    ) -> None:
        self.told: list[str] = []
        self._stop = threading.Event()
        self._batches: queue.Queue[list[ChangedFile] | BaseException] = queue.Queue()
        self._watch = watch(
            [Home(home) for home in homes],
            stop=self._stop,
            polling=polling,
            sweep_seconds=sweep_seconds,
            poll_seconds=poll_seconds,
        )
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            for batch in self._watch:
                self._batches.put(batch)
        except BaseException as error:
            self._batches.put(error)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the watch does not stop"

    def next_batch(self) -> list[str]:
        try:
            batch = self._batches.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"nothing more was told, only {self.told}") from None
        if isinstance(batch, BaseException):
            raise batch
        told = [f"{'-' if changed.gone else '+'} {changed.file.relative}" for changed in batch]
        self.told += told
        return told

    def wait_for(self, *expected: str) -> None:
        """Wait until all of these were told since the last call, in whatever batches, and check that nothing else was.

        A file may be told of twice: one write can be two events.
        """
        told: set[str] = set()
        while not told >= set(expected):
            told |= set(self.next_batch())
        assert told == set(expected)


def append(path: Path, data: bytes = b"more\n") -> None:
    with path.open("ab") as file:
        file.write(data)


both_ways = pytest.mark.parametrize("polling", [False, True], ids=["events", "polling"])


@both_ways
def test_the_first_batch_is_everything(polling: bool, tmp_path: Path) -> None:
    write_home(tmp_path, EVERYTHING)
    with Watch(tmp_path, polling=polling) as watched:
        told = {line.removeprefix("+ ") for line in watched.next_batch()}
    assert told < EVERYTHING.keys()
    assert not told & SECRETS
    assert {"history.jsonl", "plans/brave-drawing-heron.md", "projects/-home-ada-shop/agent-be11ce0.jsonl"} <= told


@both_ways
def test_appended_lines_are_reported(polling: bool, tmp_path: Path) -> None:
    write_home(tmp_path, {A: "1\n", B: "1\n"})
    with Watch(tmp_path, polling=polling) as watched:
        watched.wait_for(f"+ {A}", f"+ {B}")
        append(tmp_path / A)
        watched.wait_for(f"+ {A}")
        append(tmp_path / B)
        watched.wait_for(f"+ {B}")


@both_ways
def test_a_session_in_a_new_project_is_reported(polling: bool, tmp_path: Path) -> None:
    write_home(tmp_path, {A: ""})
    with Watch(tmp_path, polling=polling) as watched:
        watched.wait_for(f"+ {A}")
        write_home(tmp_path, {C: "1\n"})
        watched.wait_for(f"+ {C}")
        append(tmp_path / C)
        watched.wait_for(f"+ {C}")


@both_ways
def test_a_deleted_file_is_gone(polling: bool, tmp_path: Path) -> None:
    write_home(tmp_path, {A: "", B: ""})
    with Watch(tmp_path, polling=polling) as watched:
        watched.wait_for(f"+ {A}", f"+ {B}")
        (tmp_path / A).unlink()
        watched.wait_for(f"- {A}")


@both_ways
def test_with_a_folder_all_that_was_in_it_is_gone(polling: bool, tmp_path: Path) -> None:
    write_home(tmp_path, {A: "", B: "", C: ""})
    with Watch(tmp_path, polling=polling) as watched:
        watched.wait_for(f"+ {A}", f"+ {B}", f"+ {C}")
        shutil.rmtree(tmp_path / "projects" / "one")
        watched.wait_for(f"- {A}", f"- {B}")


@both_ways
def test_a_renamed_folder_is_gone_and_come(polling: bool, tmp_path: Path) -> None:
    write_home(tmp_path, {A: "", "projects/one/deep/x": ""})
    with Watch(tmp_path, polling=polling) as watched:
        watched.wait_for(f"+ {A}")
        (tmp_path / "projects" / "one").rename(tmp_path / "projects" / "new")
        watched.wait_for(f"- {A}", "+ projects/new/agent-a.jsonl")


def test_a_folder_moved_in_is_reported_completely(tmp_path: Path) -> None:
    home = write_home(tmp_path / "home", {A: ""})
    write_home(tmp_path / "outside", {"agent-c.jsonl": "1\n"})
    with Watch(home) as watched:
        watched.wait_for(f"+ {A}")
        (tmp_path / "outside").rename(home / "projects" / "two")
        watched.wait_for(f"+ {C}")


@both_ways
def test_other_files_are_not_reported(polling: bool, tmp_path: Path) -> None:
    write_home(tmp_path, {A: "", "sessions/1.json": "{}"})
    with Watch(tmp_path, polling=polling) as watched:
        watched.wait_for(f"+ {A}", "+ sessions/1.json")
        write_home(tmp_path, {"sessions/1.key": "secret", "projects/one/notes.txt": "", "debug/x": ""})
        append(tmp_path / A)
        watched.wait_for(f"+ {A}")


@both_ways
def test_a_home_may_come_into_being_later(polling: bool, tmp_path: Path) -> None:
    with Watch(tmp_path / "home", polling=polling) as watched:
        write_home(tmp_path / "home", {A: "1\n"})
        watched.wait_for(f"+ {A}")
        append(tmp_path / "home" / A)
        watched.wait_for(f"+ {A}")


def test_projects_that_come_later_are_watched_from_the_next_event_on(tmp_path: Path) -> None:
    write_home(tmp_path, {"history.jsonl": ""})
    with Watch(tmp_path) as watched:
        watched.wait_for("+ history.jsonl")
        write_home(tmp_path, {A: "1\n"})
        append(tmp_path / "history.jsonl")
        watched.wait_for("+ history.jsonl", f"+ {A}")
        append(tmp_path / A)
        watched.wait_for(f"+ {A}")


def test_projects_created_later_next_to_a_history_are_found_by_the_sweep(tmp_path: Path) -> None:
    write_home(tmp_path, {"history.jsonl": ""})
    with Watch(tmp_path, sweep_seconds=0.05) as watched:
        watched.wait_for("+ history.jsonl")
        write_home(tmp_path, {A: "1\n"})
        watched.wait_for(f"+ {A}")
        append(tmp_path / A)
        watched.wait_for(f"+ {A}")


def test_a_change_that_the_system_did_not_report_is_found_by_the_sweep(tmp_path: Path) -> None:
    """What is written through another name of the same file is no event in our folder."""
    home = write_home(tmp_path / "home", {A: "1\n"})
    os.link(home / A, tmp_path / "other-name")
    with Watch(home, sweep_seconds=0.05) as watched:
        watched.wait_for(f"+ {A}")
        append(tmp_path / "other-name")
        watched.wait_for(f"+ {A}")


def test_the_outputs_of_commands_are_reported_by_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lie in the temporary folder, which is not watched."""
    monkeypatch.setenv("CLAUDE_CODE_TMPDIR", str(tmp_path / "tmp"))
    session = session_path("S1")
    home = write_home(tmp_path / "home", {session: "1\n"})
    own = tmp_path / "tmp" / f"claude-{os.getuid()}"
    output = own / "-home-ada-shop" / Path(session).stem / "tasks" / "b1.output"
    own.mkdir(parents=True, mode=0o700)
    output.parent.mkdir(parents=True)
    told = f"{session.removesuffix('.jsonl')}/tasks/b1.output"
    with Watch(home, sweep_seconds=0.05) as watched:
        watched.wait_for(f"+ {session}")
        output.write_text("building\n")
        watched.wait_for(f"+ {told}")
        append(output)
        watched.wait_for(f"+ {told}")
        output.unlink()
        watched.wait_for(f"- {told}")


def test_several_homes_are_watched_at_once(tmp_path: Path) -> None:
    first, second = write_home(tmp_path / "1", {A: ""}), write_home(tmp_path / "2", {C: ""})
    with Watch(first, second) as watched:
        watched.wait_for(f"+ {A}", f"+ {C}")
        append(second / C)
        watched.wait_for(f"+ {C}")
        append(first / A)
        watched.wait_for(f"+ {A}")


@both_ways
def test_a_linked_projects_folder_is_watched(polling: bool, tmp_path: Path) -> None:
    disk = write_home(tmp_path / "disk", {A: "1\n"})
    home = tmp_path / "home"
    home.mkdir()
    (home / "projects").symlink_to(disk / "projects")
    with Watch(home, polling=polling) as watched:
        watched.wait_for(f"+ {A}")
        append(home / A)
        watched.wait_for(f"+ {A}")


def test_a_linked_projects_folder_that_is_touched_loses_nothing(tmp_path: Path) -> None:
    disk = write_home(tmp_path / "disk", {A: "1\n"})
    home = tmp_path / "home"
    home.mkdir()
    (home / "projects").symlink_to(disk / "projects")
    with Watch(home) as watched:
        watched.wait_for(f"+ {A}")
        (disk / "projects").chmod(0o700)
        append(home / A)
        watched.wait_for(f"+ {A}")


@both_ways
def test_changes_behind_a_link_are_not_reported(polling: bool, tmp_path: Path) -> None:
    outside = write_home(tmp_path / "outside", {"agent-x.jsonl": "1\n"})
    home = write_home(tmp_path / "home", {A: "1\n"})
    (home / "projects" / "linked").symlink_to(outside)
    with Watch(home, polling=polling) as watched:
        watched.wait_for(f"+ {A}")
        append(outside / "agent-x.jsonl")
        append(home / A)
        watched.wait_for(f"+ {A}")


def test_projects_that_are_removed_and_made_again_are_watched_on(tmp_path: Path) -> None:
    write_home(tmp_path, {A: "1\n"})
    with Watch(tmp_path) as watched:
        watched.wait_for(f"+ {A}")
        shutil.rmtree(tmp_path / "projects")
        write_home(tmp_path, {B: "1\n"})
        watched.wait_for(f"- {A}", f"+ {B}")
        append(tmp_path / B)
        watched.wait_for(f"+ {B}")


def test_a_fifo_is_not_reported_and_does_not_block(tmp_path: Path) -> None:
    write_home(tmp_path, {A: ""})
    with Watch(tmp_path) as watched:
        watched.wait_for(f"+ {A}")
        os.mkfifo(tmp_path / B)
        append(tmp_path / A)
        watched.wait_for(f"+ {A}")


@pytest.mark.parametrize("home", ["with projects", "without"])
@both_ways
def test_it_stops_on_request(polling: bool, home: str, tmp_path: Path) -> None:
    write_home(tmp_path, {A: ""} if home == "with projects" else {})
    with Watch(tmp_path, polling=polling, poll_seconds=NEVER) as watched:
        if home == "with projects":
            watched.wait_for(f"+ {A}")


def test_a_watch_that_was_stopped_before_it_began_reports_nothing(tmp_path: Path) -> None:
    write_home(tmp_path, {A: ""})
    stop = threading.Event()
    stop.set()
    assert list(watch([Home(tmp_path)], stop=stop)) == []


WITHOUT_INOTIFY = """
import os, pathlib, resource, sys
from backscroll.files.homes import Home
from backscroll.files.watching import watch
import watchfiles._rust_notify

home = pathlib.Path(sys.argv[1])
free = os.dup(0)
os.close(free)
# Descriptors for listing folders, but not enough for an inotify.
resource.setrlimit(resource.RLIMIT_NOFILE, (free + 2, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
watched = watch([Home(home)], poll_seconds=0.01)
print([changed.file.relative for changed in next(watched)])
os.truncate(home / "history.jsonl", 5)
print([changed.file.size for changed in next(watched)])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has inotify")
def test_where_the_system_has_no_watcher_left_we_look_for_ourselves(tmp_path: Path) -> None:
    write_home(tmp_path, {A: "", "history.jsonl": ""})
    command = [sys.executable, "-c", WITHOUT_INOTIFY, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * 4, check=False)
    assert (result.stdout, result.stderr) == (f"['history.jsonl', '{A}']\n[5]\n", "")
