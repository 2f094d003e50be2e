"""Create the environment for the scripts in this folder: `.venv` inside the checkout.

Uses only the standard library, because it runs before anything is installed. Uses uv if it is installed, else venv and
pip. Changes nothing outside the checkout: caches go to `.cache`, and no Python is downloaded.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
CACHE = ROOT / ".cache"
MORE = {"server": ["--extra", "server"], "test": ["--group", "dev"]}
"""What each purpose needs beside the program's own packages, as uv names it."""


def main(purpose: str) -> int:
    """Bring `.venv` up to date for `purpose`, run, server or test, and stamp it."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "environment.lock").open("w") as lock:
        # Two first runs at once would build into one folder; the second waits and then finds its work done.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_ready(purpose):
            return 0
        print("Setting up backscroll in .venv (once)…", file=sys.stderr, flush=True)
        try:
            if uv := shutil.which("uv"):
                install_with_uv(uv, purpose)
            else:
                install_with_pip(purpose)
        except subprocess.CalledProcessError as failure:
            print(f"backscroll: set-up failed: {' '.join(map(str, failure.cmd))}", file=sys.stderr)
            print("  next: see the message above; then run this command again", file=sys.stderr)
            return 1
        for name in {"run", purpose, *(["server"] if purpose == "test" else [])}:  # tests need all of it
            (ENVIRONMENT / f"ready-{name}").write_text(f"{ROOT}\n", encoding="utf-8")
    return 0


def is_ready(purpose: str) -> bool:
    """The same question as in environment.sh, asked again under the lock."""
    stamp = ENVIRONMENT / f"ready-{purpose}"
    if not stamp.exists() or stamp.read_text(encoding="utf-8").strip() != str(ROOT):
        return False
    made = stamp.stat().st_mtime_ns
    return all((ROOT / name).stat().st_mtime_ns <= made for name in ("uv.lock", "pyproject.toml"))


def install_with_uv(uv: str, purpose: str) -> None:
    """Let uv read its own lock file.

    The build backend comes first, from the lock like everything else; then it builds the project where it stands. In
    an isolated environment uv would fetch it without looking at a hash.
    """
    groups = ["--group", "build", *MORE.get(purpose, [])]
    environment = os.environ | {
        "UV_CACHE_DIR": str(CACHE / "uv"),
        "UV_PROJECT_ENVIRONMENT": str(ENVIRONMENT),
        "UV_PYTHON_DOWNLOADS": "never",
    }
    environment.pop("VIRTUAL_ENV", None)
    command = [uv, "sync", "--quiet", "--frozen", "--inexact", "--python", sys.executable, "--project", str(ROOT)]
    subprocess.run([*command, *groups, "--no-install-project"], check=True, env=environment)
    subprocess.run([*command, *groups, "--no-build-isolation-package", "backscroll"], check=True, env=environment)


def install_with_pip(purpose: str) -> None:
    """Install the same versions, by hash, from the lists exported from the lock file (scripts/lock).

    The build backend is one of them: an isolated build would fetch it without looking at a hash, and run it.
    """
    # pip asks rustc for its version, and rustup, where that is what answers, writes into the user's home.
    environment = os.environ | {"RUSTUP_HOME": str(CACHE / "rustup")}
    pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip"]
    # An environment that works is brought up to date; a broken, moved or half-made one is made anew.
    if not _works([*pip, "--version"], environment):
        command = [sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)]
        made = subprocess.run(command, capture_output=True, text=True, env=environment)
        if made.returncode:
            print(made.stdout + made.stderr, file=sys.stderr)
            print("  perhaps this Python lacks venv: install python3-venv, or install uv", file=sys.stderr)
            made.check_returncode()
    # Python compiles what it imports: most of what is installed never is.
    pip += ["install", "--quiet", "--no-cache-dir", "--no-compile", "--disable-pip-version-check"]
    lists = [option for name in ("build", purpose) for option in ("-r", str(ROOT / "requirements" / f"{name}.txt"))]
    subprocess.run([*pip, "--require-hashes", *lists], check=True, env=environment)
    project = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    subprocess.run([*pip, *project], check=True, env=environment)


def _works(command: list[str], environment: dict[str, str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, env=environment).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
