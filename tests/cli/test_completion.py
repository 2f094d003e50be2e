"""What a shell completes: asked as its script asks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.library.support import Shelf
from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path

PARSER = session_uuid("parser")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    shelf = Shelf(tmp_path_factory.mktemp("completion"))
    drawn = draw("""
        @ session=parser cwd=/home/ada/shop time=2026-01-05T10:00
        pa-1 <- - user: why does the parser fail?
    """)
    shelf.write({session_path("parser"): jsonl(drawn)})
    shelf.update()
    done = run_command("tag", PARSER[:8], "review", "--home", shelf.home, "--library", shelf.folder)
    assert done.returncode == 0, done.stderr
    return shelf


def environment(shelf: Shelf) -> dict[str, str]:
    return os.environ | {"CLAUDE_CONFIG_DIR": str(shelf.home), "BACKSCROLL_LIBRARY": str(shelf.folder)}


def completed(shelf: Shelf, line: str) -> list[str]:
    asked = environment(shelf) | {"_BACKSCROLL_COMPLETE": "bash_complete", "COMP_WORDS": line}
    done = run_command(environment=asked)
    assert done.stderr == ""
    return [item.partition(",")[2] for item in done.stdout.split()]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("comp", "completion"),
        ("archive ver", "verify"),
        ("list --si", "--since"),
        (f"show {PARSER[:3]}", PARSER[:8]),
        (f"show {PARSER[:12]}", PARSER),
        ("list --project sh", "shop"),
        ("search proj", "project:"),
        ("search project:sh", "project:shop"),
        ("search fails is:e", "is:error"),
        ("stats usage tag:", "tag:review"),
        (f"tag {PARSER[:8]} re", "review"),
    ],
)
def test_commands_options_ids_projects_fields_and_tags_are_completed(shelf: Shelf, typed: str, offered: str) -> None:
    assert offered in completed(shelf, f"backscroll {typed}")


def test_what_fails_is_silent(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "rows.sqlite").write_bytes(b"not a database" * 100)
    for library in (tmp_path, tmp_path / "none"):
        line = f"backscroll --library {library} show "
        assert completed(shelf, line) == []
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_reads_its_script(shell: str) -> None:
    program = shutil.which(shell)
    written = run_command("completion", shell)
    assert written.returncode == 0, written.stderr
    assert "_BACKSCROLL_COMPLETE" in written.stdout
    if program is None:
        pytest.skip(f"no {shell} here")
    subprocess.run([program, "-n"], input=written.stdout, text=True, check=True, timeout=60)


def test_bash_puts_a_value_behind_its_colon(shelf: Shelf, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    program = tmp_path / "backscroll"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m backscroll "$@"\n')
    program.chmod(0o755)
    line = "backscroll search project:sh"
    script = (
        run_command("completion", "bash").stdout
        + f"COMP_LINE='{line}' COMP_POINT={len(line)}\n_backscroll_completion {program}\necho \"${{COMPREPLY[@]}}\"\n"
    )
    done = subprocess.run([bash], input=script, env=environment(shelf), text=True, capture_output=True, timeout=60)
    assert done.stdout.split() == ["shop"], done.stderr


def test_the_man_page_has_every_command() -> None:
    from backscroll.cli.main import COMMANDS

    page = run_command("completion", "man").stdout
    assert page.startswith(".TH BACKSCROLL 1")
    for name in COMMANDS:
        assert f".SS backscroll {name.replace('-', chr(92) + '-')} " in page
    assert ".SS backscroll archive verify " in page
    man = shutil.which("mandoc") or shutil.which("groff")
    if man is not None:
        options = ["-Tlint"] if man.endswith("mandoc") else ["-man", "-Tutf8", "-ww", "-z"]
        done = subprocess.run([man, *options], input=page, text=True, capture_output=True, timeout=60)
        assert "error" not in done.stderr.lower(), done.stderr
