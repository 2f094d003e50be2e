"""An earlier version of backscroll, as another machine of the same person still runs it: its real code, from git."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
LANDED: Final = "a0625f77a0da68f1b1e23ad7120c5d30e9b0f76e"
"""A version that writes remotes, and does not sign."""


@contextmanager
def checked_out(commit: str = LANDED) -> Iterator[Path]:
    """The source of an earlier version. Skips the test where the history of the repository is not there."""
    with TemporaryDirectory(prefix="landed-") as folder:
        archive = Path(folder) / "source.tar"
        made = subprocess.run(
            ["git", "-C", str(ROOT), "archive", "--output", str(archive), commit, "src"],
            capture_output=True,
            check=False,
        )
        if made.returncode:
            pytest.skip("the repository does not have the earlier version")
        subprocess.run(["tar", "-xf", str(archive), "-C", folder], check=True)
        yield Path(folder) / "src"


def run_landed(source: Path, *arguments: object) -> CompletedProcess[str]:
    """Run a command of that version."""
    words = [str(argument) for argument in arguments]
    return subprocess.run(
        [sys.executable, "-P", "-m", "backscroll", *words],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
