import os
import subprocess
import sys
from pathlib import Path

import pytest

from backscroll.files.live import is_running

NEVER = 99_999_999  # Linux ends at 4194304

linux_only = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells when a process began")


def start_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def test_this_very_process_runs() -> None:
    assert is_running(os.getpid(), None)


@linux_only
def test_this_very_process_began_when_it_began() -> None:
    assert is_running(os.getpid(), start_of(os.getpid()))


@linux_only
def test_another_process_under_the_same_number_is_not_the_one() -> None:
    assert not is_running(os.getpid(), str(int(start_of(os.getpid())) + 1))


def test_a_process_that_ended_does_not_run() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert not is_running(process.pid, None)


def test_a_process_of_another_user_is_running() -> None:
    assert is_running(1, None)


@linux_only
def test_a_program_may_call_itself_anything(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to("/bin/cat")
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"x")
        process.stdin.flush()
        process.stdout.read(1)  # it has its own name only once it runs
        assert is_running(process.pid, start_of(process.pid))
        assert not is_running(process.pid, "1")
        process.stdin.close()


@pytest.mark.parametrize("pid", [NEVER, 2**31, 2**64])
def test_a_number_that_no_process_has_does_not_run(pid: int) -> None:
    assert not is_running(pid, None)


@pytest.mark.parametrize("pid", [0, -1])
def test_a_number_that_means_many_processes_is_none(pid: int) -> None:
    assert not is_running(pid, None)
