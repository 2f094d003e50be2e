"""Commands that need a package which is not installed say what to install, wherever they first need it."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from backscroll.errors import EXTRAS

ROOT = Path(__file__).parents[2]
BLOCKER = """
import sys
class Blocker:
    names = set({names!r})
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
"""
EVERYTHING = sorted({package for packages in EXTRAS.values() for package in packages})


def run_without(tmp_path: Path, packages: list[str], *words: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a Python that cannot import these packages."""
    blocker = tmp_path / "blocker"
    blocker.mkdir(exist_ok=True)
    (blocker / "sitecustomize.py").write_text(BLOCKER.format(names=packages))
    own = {"PYTHONPATH": str(blocker), "HOME": str(tmp_path), "BACKSCROLL_LIBRARY": str(tmp_path / "library")}
    command = [sys.executable, "-P", "-m", "backscroll", *map(str, words)]
    return subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)


COMMANDS = (
    ("server",), ("server", "web"), ("server", "worker"), ("server", "migrate"), ("server", "--demo"),
    ("server", "backup", "{folder}/backup"), ("server", "backup", "{folder}/backup", "--check"),
    ("server", "restore", "{folder}"), ("server", "erase", "ada", "--yes"), ("server", "export", "{folder}/out"),
    ("server", "import", "{folder}", "--person", "ada"), ("server", "allow-passwords"),
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_server_says_what_it_needs(tmp_path: Path, words: tuple[str, ...]) -> None:
    options = () if words == ("server", "--demo") else ("--data", tmp_path / "data")
    done = run_without(tmp_path, EVERYTHING, *(word.format(folder=tmp_path) for word in words), *options)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("backscroll: this needs") == 1
    assert "psycopg" in done.stderr
    assert re.search(
        r"next: run (python3 .*/scripts/environment.py server|pip install 'backscroll\[server\]')", done.stderr
    )
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("package", EXTRAS["server"])
def test_each_package_of_a_server_is_asked_for_before_it_starts(tmp_path: Path, package: str) -> None:
    done = run_without(tmp_path, [package], "server", "migrate", "--data", tmp_path / "data")
    assert done.returncode == 1
    assert f"this needs {package}, not installed here" in done.stderr
    assert not (tmp_path / "data").exists()


def test_remotes_say_what_they_need(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    done = run_without(tmp_path, EVERYTHING, "sync", "add", "far", "s3://bucket/x", "--yes")
    assert done.returncode == 1, done.stderr
    assert "this needs obstore, not installed here" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_needs_no_extra_works_without_any(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    for words in (("list",), ("sync", "add", "near", tmp_path / "remote", "--create", "--yes"), ("server", "--help")):
        done = run_without(tmp_path, EVERYTHING, *words)
        assert "Traceback" not in done.stderr
        assert "this needs" not in done.stderr
    done = run_without(tmp_path, EVERYTHING, "connect", "https://127.0.0.1:1", "--yes")
    assert "cannot reach" in done.stderr


def test_the_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        named = {re.split(r"[\[>=]", one)[0].replace("-", "_").removesuffix("_cffi") for one in extras[extra]}
        assert named <= set(packages), extra


@pytest.mark.parametrize(
    ("words", "purpose"),
    [
        ("server", "server"),
        ("--library X server", "server"),
        ("--library=X --json --home server server backup", "server"),
        ("search server", "run"),
        ("--library server list", "run"),
        ("", "run"),
    ],
)
def test_a_checkout_fetches_a_database_for_the_command_server_only(tmp_path: Path, words: str, purpose: str) -> None:
    """The script itself, in a checkout whose environment is ready and prints what it was made for."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "backscroll", tmp_path / "scripts" / "backscroll")
    (tmp_path / "scripts" / "environment.sh").write_text('echo "$purpose: $*"; exit\n')
    done = subprocess.run(
        [tmp_path / "scripts" / "backscroll", *words.split()], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{purpose}: {words}\n"
