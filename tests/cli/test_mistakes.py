"""What the program says to mistyped commands, options and fields."""

from pathlib import Path

import pytest

from tests.support.command import run_command


@pytest.mark.parametrize(
    ("typed", "problem", "meant"),
    [
        (["serach", "x"], "there is no command serach", "backscroll search"),
        (["stat"], "there is no command stat", "backscroll stats"),
        (["verify"], "there is no command verify", "backscroll archive verify"),
        (["usage"], "there is no command usage", "backscroll stats usage"),
        (["archive", "verfy"], "there is no command verfy", "backscroll archive verify"),
        (["stats", "usgae"], "there is no command usgae", "backscroll stats usage"),
        (["list", "--sicne", "3d"], "there is no option --sicne", "--since"),
        (["stats", "usage", "--limt", "3"], "there is no option --limt", "--limit"),
        (["--demo", "search", "proejct:x"], "there is no field proejct:", "project:"),
    ],
)
def test_what_was_probably_meant_is_suggested(typed: list[str], problem: str, meant: str) -> None:
    done = run_command(*typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert f"did you mean {meant}?" in done.stderr


@pytest.mark.parametrize("typed", [["xyzzy"], ["archive", "xyzzy"], ["list", "--xyzzy"]])
def test_nothing_is_suggested_where_nothing_is_near(typed: list[str]) -> None:
    done = run_command(*typed)
    assert done.returncode == 2
    assert "did you mean" not in done.stderr
    assert "--help" in done.stderr


def test_a_group_without_a_command_shows_its_help() -> None:
    done = run_command("archive")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run_command("archive", "--help").stdout


@pytest.mark.parametrize(
    "typed",
    [
        "list", "search x --quiet", "show x", "follow", "status", "tree x", "recall x", "stats usage", "stats blocks",
        "export x", "resume x", "pin", "tag", "note", "blame x", "file x", "update", "keep", "archive status",
        "archive versions x", "archive forget x", "doctor", "inspect",
    ],
)  # fmt: skip
def test_without_a_home_every_command_says_where_it_looked_and_what_to_do(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "nowhere"))
    done = run_command(*typed.split())
    assert f"no Claude Code home at {tmp_path / 'nowhere'}" in done.stderr
    assert "next: " in done.stderr
    assert "--home" in done.stderr
