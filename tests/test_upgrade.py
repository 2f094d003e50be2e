"""An upgrade by uv and by pipx, with the real tools: what was installed into Claude Code goes on working."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

import pytest

from backscroll.archive.archive import Archive
from tests.support.examples import ROOT
from tests.support.homes import session_file, session_path, write_home
from tests.support.landed import LANDED
from tests.support.processes import until

NEWER: Final = "0.9.9"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two wheels: an earlier version, and this one with a later number. Neither brings what it depends on."""
    folder = tmp_path_factory.mktemp("wheels")
    earlier, later = folder / "earlier", folder / "later"
    earlier.mkdir()
    archive = folder / "source.tar"
    if subprocess.run(["git", "-C", str(ROOT), "archive", "-o", str(archive), LANDED], capture_output=True).returncode:
        pytest.skip("the repository does not have the earlier version")
    subprocess.run(["tar", "-xf", str(archive), "-C", str(earlier)], check=True)
    later.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "src"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, later / name)
    init = later / "src" / "backscroll" / "__init__.py"
    text = init.read_text()
    assert '__version__ = "' in text
    head, _, rest = text.partition('__version__ = "')
    init.write_text(f'{head}__version__ = "{NEWER}"{rest[rest.index(chr(34)) + 1 :]}')
    return _wheel(earlier), _wheel(later)


def _wheel(source: Path) -> Path:
    project = source / "pyproject.toml"
    lines = project.read_text().splitlines(keepends=True)
    start = lines.index("dependencies = [\n")
    lines[start : lines.index("]\n", start) + 1] = ["dependencies = []\n"]
    project.write_text("".join(lines))
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(source / "dist")]
    subprocess.run(build, cwd=source, check=True, capture_output=True, timeout=300)
    (wheel,) = (source / "dist").glob("*.whl")
    return wheel


class Computer:
    """A user with a tool that installs programs, and a Claude Code home."""

    def __init__(self, root: Path, tool: list[str]) -> None:
        self.root, self._tool = root, tool
        self.home = write_home(root / ".claude", session_file("S1", "a1 <- - user: the first zebra"))
        self.environment = {
            "HOME": str(root), "PATH": f"{root}/.local/bin:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
            "UV_PYTHON": sys.executable, "UV_OFFLINE": "1",
            "UV_CACHE_DIR": str(root / "cache"), "PIPX_DEFAULT_PYTHON": sys.executable,
        } | {name: value for name, value in os.environ.items() if name.startswith("PIP_")}  # fmt: skip

    def install(self, wheel: Path, **environment: str) -> None:
        words, own = [*self._tool, "install", "--force", str(wheel)], self.environment | environment
        done = subprocess.run(words, env=own, capture_output=True, text=True, timeout=300, cwd=self.root)
        assert done.returncode == 0, done.stderr
        # What it depends on is lent by this environment; a path in such a file is searched last, and its own .pth
        # files, ours for the checkout among them, do not count.
        (packages,) = self.command.resolve().parent.parent.glob("lib/python*/site-packages")
        (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        words = [str(self.command), *arguments]
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=120, cwd=self.root)

    @property
    def command(self) -> Path:
        return self.root / ".local" / "bin" / "backscroll"

    def hook(self) -> str:
        settings = json.loads((self.home / "settings.json").read_text())
        (command,) = [hook["command"] for group in settings["hooks"]["SessionEnd"] for hook in group["hooks"]]
        return str(command)

    def end_session(self, name: str) -> None:
        """Write a session, and run the hook as Claude Code does when it ends; wait until the session is kept."""
        write_home(self.home, session_file(name, f"{name}1 <- - user: the zebra {name}"))
        done = subprocess.run(
            ["sh", "-c", self.hook()], input="{}", env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        archive = self.root / ".local" / "share" / "backscroll" / "archive"
        until(lambda: session_path(name) in {file.path for file in Archive(archive).files.values()})
        until(lambda: not self._is_running())  # a program that runs writes into its folder, which uv then cannot remove

    def _is_running(self) -> bool:
        root = str(self.root).encode()
        return any(root in _command_line(process) for process in Path("/proc").glob("[0-9]*"))


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""  # it has ended


@pytest.fixture(params=["uv", "pipx"])
def computer(request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Computer:
    tool = shutil.which(request.param)
    if tool is None:
        tools = tmp_path_factory.getbasetemp() / request.param
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tools), request.param]
        if subprocess.run(install, capture_output=True, timeout=300).returncode:
            pytest.skip(f"there is no {request.param} here, and none can be had")
        tool = str(tools / "bin" / request.param)
        if request.param == "pipx":
            start = f"import sys; sys.path.insert(0, {str(tools)!r}); from pipx.main import cli; sys.exit(cli())"
            return Computer(tmp_path, [sys.executable, "-c", start])
    return Computer(tmp_path, [tool, "tool"] if request.param == "uv" else [tool])


@pytest.mark.all
def test_hooks_outlive_an_upgrade(computer: Computer, wheels: tuple[Path, Path]) -> None:
    earlier, later = wheels
    computer.install(earlier)
    assert computer.run("install", "hooks", "--yes").returncode == 0
    old_hook = computer.hook()
    computer.end_session("A")

    computer.install(later)
    assert computer.run("--version").stdout == f"backscroll {NEWER}\n"
    assert computer.hook() == old_hook
    computer.end_session("B")  # what the earlier version wrote goes on working

    assert computer.run("install", "hooks", "--yes").returncode == 0
    assert computer.hook() != old_hook
    assert str(computer.command) in shlex.split(computer.hook().replace("$(", " "))
    computer.end_session("C")
    assert computer.run("install", "hooks").stdout == "Nothing to do: the hooks are already installed.\n"

    # The environment is made again in another place, as when the tool itself was changed or moved.
    inside = computer.command.resolve().parent.parent
    elsewhere = str(computer.root / "elsewhere")
    computer.install(later, UV_TOOL_DIR=elsewhere, PIPX_HOME=elsewhere)
    shutil.rmtree(inside)
    assert computer.command.resolve().is_relative_to(elsewhere)
    computer.end_session("D")


@pytest.mark.all
def test_the_timer_and_the_plugin_call_the_command_on_the_path(computer: Computer, wheels: tuple[Path, Path]) -> None:
    computer.install(wheels[1])
    printed = computer.run("install", "timer", "--kind", "systemd", "--print").stdout
    assert f'ExecStart="{computer.command}" "keep"' in printed
    shown = computer.run("install", "claude", "--json")
    assert f'"command": "{computer.command}"' in json.loads(shown.stdout)["diff"], shown.stderr
    assert computer.command.is_symlink()  # as the tools make it
