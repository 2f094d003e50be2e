"""Nothing runs at install, or with the program, that is not pinned by hash and argued for."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NOTES_ITS_ARGUMENTS = '#!/bin/sh\necho "$@" >>"{log}"\n'


def listed(name: str) -> dict[str, str]:
    """What a list of requirements pins, with all that stands behind each version."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8").replace("\\\n", " ")
    return dict(re.findall(r"^([\w.-]+)==(.*)$", text, re.MULTILINE))


def test_the_build_backend_is_the_one_that_is_pinned_by_hash() -> None:
    pinned = listed("build.txt")
    required = PROJECT["build-system"]["requires"]
    assert required == PROJECT["dependency-groups"]["build"]
    for requirement in required:
        name, _, version = requirement.partition("==")
        assert pinned[name].split()[0] == version, "run ./scripts/lock"


@pytest.mark.parametrize("name", ["build.txt", "run.txt", "server.txt", "test.txt"])
def test_every_package_that_is_installed_has_its_hashes(name: str) -> None:
    pinned = listed(name)
    assert pinned
    assert [package for package, rest in pinned.items() if "--hash=sha256:" not in rest] == []


def installed_with(tmp_path: Path, program: str) -> list[str]:
    """The commands that scripts/environment.py gives to an installer, which only notes them."""
    checkout, log = tmp_path / "checkout", tmp_path / "log"
    (checkout / "scripts").mkdir(parents=True)
    (checkout / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "environment.py", checkout / "scripts")
    stub = checkout / ".venv" / "bin" / program
    stub.write_text(NOTES_ITS_ARGUMENTS.format(log=log), encoding="utf-8")
    stub.chmod(0o755)
    environment = os.environ | {"PATH": f"{stub.parent}:/usr/bin:/bin" if program == "uv" else str(tmp_path)}
    subprocess.run(
        [sys.executable, str(checkout / "scripts" / "environment.py"), "run"],
        check=True, env=environment, capture_output=True,
    )  # fmt: skip
    return log.read_text(encoding="utf-8").splitlines()


def test_pip_installs_by_hash_and_builds_with_what_it_installed(tmp_path: Path) -> None:
    commands = [line for line in installed_with(tmp_path, "python") if " install " in f"{line} "]
    *packages, project = commands
    assert all("--require-hashes" in command for command in packages)
    assert any("build.txt" in command for command in packages)
    assert "--no-build-isolation" in project
    assert "--no-deps" in project


def test_uv_installs_from_the_lock_and_builds_with_what_it_installed(tmp_path: Path) -> None:
    packages, project = installed_with(tmp_path, "uv")
    for command in (packages, project):
        assert "--frozen" in command
        assert "--group build" in command
    assert "--no-install-project" in packages
    assert "--no-build-isolation-package backscroll" in project


def test_every_dependency_has_its_reasons() -> None:
    page = (ROOT / "docs" / "why" / "dependencies.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    wanted = {re.split(r"[^\w-]", requirement)[0] for requirement in PROJECT["project"]["dependencies"]}
    assert rows == wanted
