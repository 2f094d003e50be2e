"""`backscroll demo`: the viewer on the sample, with one session that is played live."""

import json
import signal
import subprocess
import urllib.request
from datetime import UTC, datetime
from http.cookiejar import CookieJar
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from backscroll.demo.live import LONGEST_PAUSE, WHOLE, in_time, pauses_of
from tests.demo.support import DemoMachine
from tests.support.processes import until
from tests.web.served import free_port


class LiveReader:
    """A browser without a window, let in by the link that is printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self._told = json.loads(_object(process.stdout))
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.first_page = self._open(self._told["link"])

    def _open(self, url: str) -> str:
        with self._opener.open(url, timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    def page(self, path: str) -> str:
        return self._open(self._told["url"] + path)

    def chats(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.page("/api/v1/chats"))["chats"]
        return found


def session_of(room: Path) -> str:
    """The id of the session that is played."""
    rows = [json.loads(line) for line in (room / "live.jsonl").read_bytes().splitlines()]
    (session,) = {row["sessionId"] for row in rows if "sessionId" in row}
    return str(session)


def _object(stream: Any) -> str:  # noqa: ANN401 - a stream of text
    """The lines up to the end of an object."""
    lines = []
    for line in stream:
        lines.append(line)
        if line.startswith("}"):
            break
    return "".join(lines)


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_serves_the_sample_plays_a_session_and_is_removed(
    machine: DemoMachine, ending: signal.Signals, code: int
) -> None:
    known = {chat["id"] for chat in machine.answer("--demo", "list")["chats"]}
    with machine.running("demo", "--no-browser", "--port", free_port(), "--speed", "100", "--json") as process:
        reader = LiveReader(process)
        assert "Recent chats" in reader.first_page  # all of it is there at once
        assert "sample conversations" in reader.first_page
        assert known <= {chat["id"] for chat in reader.chats()}
        (room,) = machine.rooms
        script = (room / "live.jsonl").read_bytes()

        session = session_of(room)

        def played() -> bytes:
            return b"".join(path.read_bytes() for path in room.glob(f"home/projects/*/{session}.jsonl"))

        until(lambda: played().count(b"\n") == script.count(b"\n"))
        until(lambda: len(reader.chats()) == len(known) + 1)
        process.send_signal(ending)
        assert process.wait(60) == code
    assert machine.is_clean()


def test_it_says_what_is_played_and_how_it_ends(machine: DemoMachine) -> None:
    with machine.running("demo", "--no-browser", "--port", free_port()) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        assert process.wait(60) == 130
    assert "sample conversations" in told
    assert "Live, for the next" in told
    assert "Press Ctrl-C to stop the demo and remove its files." in told
    assert machine.is_clean()


def test_rows_bear_the_time_at_which_they_are_written(machine: DemoMachine) -> None:
    with machine.running("demo", "--no-browser", "--port", free_port(), "--speed", "100", "--json") as process:
        assert process.stdout
        _object(process.stdout)
        (room,) = machine.rooms
        room_began = (room / "live.jsonl").stat().st_mtime
        session = session_of(room)
        until(lambda: list(room.glob(f"home/projects/*/{session}.jsonl")))
        (path,) = room.glob(f"home/projects/*/{session}.jsonl")
        until(lambda: path.stat().st_size and path.read_bytes().count(b'"timestamp"') > 3)
        rows = [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    times = [row["timestamp"] for row in rows if "timestamp" in row]
    assert times == sorted(times)
    began = datetime.fromtimestamp(room_began, UTC)
    assert began <= datetime.fromisoformat(times[0]) <= datetime.now(UTC)


@pytest.mark.parametrize("option", ["--home", "--library"])
def test_it_has_a_home_and_a_library_of_its_own(machine: DemoMachine, option: str) -> None:
    done = machine.run("demo", "--no-browser", option, "x")
    assert done.returncode == 2
    assert machine.is_clean()


def lines_at(*seconds: float) -> list[bytes]:
    return [f'{{"timestamp":"2026-03-10T09:{at // 60:02.0f}:{at % 60:06.3f}Z"}}\n'.encode() for at in seconds]


def test_pauses_follow_the_recording_and_are_bounded() -> None:
    lines = lines_at(0, 0, 1, 3, 7, 600, *(600 + number * 5 for number in range(1, 40)))
    pauses = pauses_of(lines)
    assert len(pauses) == len(lines)
    assert 0.8 * WHOLE < sum(pauses) < 1.2 * WHOLE
    assert max(pauses) <= LONGEST_PAUSE
    assert min(pauses) > 0
    assert pauses[2] < pauses[3] < pauses[4] < pauses[5]
    assert all(one == two for one, two in pairwise(pauses[6:]))


def test_rows_are_played_in_the_order_of_their_times() -> None:
    unordered = [b'{"type":"mode"}\n', *lines_at(3, 1), b'{"type":"summary"}\n', *lines_at(2)]
    assert in_time(unordered) == [b'{"type":"mode"}\n', *lines_at(1), b'{"type":"summary"}\n', *lines_at(2, 3)]


def test_a_session_without_times_is_played_at_once() -> None:
    assert len(pauses_of([b'{"type":"summary"}\n', b"no JSON\n"])) == 2
    assert pauses_of([]) == []
