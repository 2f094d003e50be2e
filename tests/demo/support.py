"""The demo as a user runs it: in its own processes, with its own home and its own folder for temporary files."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.command import run_command

Finished = subprocess.CompletedProcess[str]


class DemoMachine:
    """A user's machine: where nothing is, unless a test puts it there."""

    def __init__(self, root: Path) -> None:
        self.home, self.temporary = root / "user", root / "temporary"
        self.home.mkdir()
        self.temporary.mkdir()

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"),
            "TMPDIR": str(self.temporary),
        }

    def run(self, *arguments: object, stdin: str = "") -> Finished:
        """Run a command to its end."""
        return run_command(*arguments, given=stdin, environment=self.environment)

    def answer(self, *arguments: object) -> Any:  # noqa: ANN401 - whatever JSON says
        """What a command answers as JSON."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    @contextmanager
    def running(self, *arguments: object) -> Iterator[subprocess.Popen[str]]:
        """A command that goes on until it is ended."""
        process = subprocess.Popen(
            command(*arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()

    @property
    def rooms(self) -> list[Path]:
        """The demos' folders that are there now."""
        return sorted(self.temporary.glob("backscroll-demo-*"))

    @property
    def files(self) -> dict[str, bytes]:
        """All that is in the user's home."""
        return {str(path): path.read_bytes() for path in sorted(self.home.rglob("*")) if path.is_file()}

    def is_clean(self) -> bool:
        """Whether nothing of a demo is left anywhere."""
        return not list(self.temporary.iterdir()) and not list(self.home.iterdir())


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "backscroll", *map(str, arguments)]
