"""The wheel as a user has it: installed in an environment of its own, run from another folder."""

import os
import subprocess
import sys
import sysconfig
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

from backscroll import __version__
from tests.support.examples import ROOT


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a new environment: ours is the wheel alone; what it depends on is lent by this environment."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    if find_spec("pip"):
        install = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    else:  # uv made this environment
        install = ["uv", "pip", "install", "--python", str(python)]
    subprocess.run(
        [*install, "--quiet", "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True, timeout=300
    )
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    # A path in such a file is searched last, and its own .pth files, ours for the checkout among them, do not count.
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.with_name("backscroll")


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@pytest.mark.all
def test_it_is_the_installed_one_that_runs(program: Path, tmp_path: Path) -> None:
    where = "import backscroll; print(backscroll.__file__)"
    python = program.with_name("python")
    done = subprocess.run([python, "-c", where], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert Path(done.stdout.strip()).is_relative_to(program.parents[1]), done.stderr
    done = subprocess.run([program, "--version"], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.stdout == f"backscroll {__version__}\n"


@pytest.mark.all
def test_a_newcomer_gets_from_the_readme_to_the_last_how_to(program: Path, tmp_path: Path) -> None:
    """Every example of these pages, in their order: `tests/test_examples.py` has the other pages."""
    known = {**environment(), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    words = [str(program.with_name("python")), "-m", "tests.support.newcomer", str(tmp_path)]
    done = subprocess.run(words, cwd=tmp_path, env=known, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(program.parents[1]) in done.stdout, "another backscroll was walked with"
