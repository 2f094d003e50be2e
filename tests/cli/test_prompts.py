"""prompts, as a user runs it."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.cli.test_install import run_and_answer
from tests.support.command import place_options, run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

CHAT = """
@ session=S1
first-prompt <- - user: review the branch main-2 and list {{risks}}
b <- first-prompt assistant: it looks good
second-prompt <- b user: now fix größe in src/größe.py
last-answer <- second-prompt assistant: done
"""
LATER = "2099-01-06T10:00:00.000Z"
RUN = "<command-message>review</command-message><command-name>/review</command-name><command-args>x</command-args>"
OTHER = "<command-name>/review-all</command-name>"
COMMANDS = f"""
@ session=S2 time={LATER}
e <- - user: {RUN}
f <- e assistant: reviewed
g <- f user: {OTHER}
h <- g assistant: reviewed all
i <- h user: I typed review, the command-name of it
"""
S1 = session_uuid("S1")


def run(home: Path, *arguments: object, stdin: str = "") -> CompletedProcess[str]:
    return run_command("prompts", *arguments, *place_options(("prompts", *arguments), home), given=stdin)


def answer(home: Path, *arguments: object, stdin: str = "") -> Any:  # noqa: ANN401 - whatever JSON says
    done = run(home, *arguments, "--json", stdin=stdin)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(CHAT))})


def test_a_prompt_is_saved_from_a_chat_filled_and_counted(home: Path) -> None:
    assert run(home).returncode == 3
    done = run(home, "save", "review", S1[:8], "--variable", "branch=main-2", "--tag", "Git", "--description", "a look")
    assert (done.returncode, done.stdout) == (0, "saved: review\n")
    assert done.stderr == "variables: branch, risks\n"
    shown = answer(home, "show", "review")["prompt"]
    assert shown["text"] == "review the branch {{branch}} and list {{risks}}"
    assert (shown["uses"], shown["variables"], shown["source"]) == (
        0, ["branch", "risks"], {"chat": S1, "message": "first-prompt"},
    )  # fmt: skip
    done = run(home, "fill", "review", "branch=dev", "risks={{branch}}=1")
    assert done.stdout == "review the branch dev and list {{branch}}=1\n"
    assert answer(home, "fill", "review", "branch=", "risks=r")["text"] == "review the branch  and list r"
    (listed,) = answer(home)["prompts"]
    assert (listed["uses"], listed["filled"], listed["commands"]) == (2, 2, 0)
    assert run(home).stdout.splitlines()[1].split() == ["review", "2", "Git", "a", "look"]
    assert "used: 2 times" in run(home, "show", "review").stdout


def test_a_message_of_a_chat_is_named_by_its_id(home: Path) -> None:
    for number, name in enumerate(("second-prompt", f"{S1[:8]}/second-pr")):
        saved = answer(home, "save", f"fix-{number}", name)["saved"]
        assert saved["text"] == "now fix größe in src/größe.py"
        assert saved["source"] == {"chat": S1, "message": "second-prompt"}
    assert run(home, "save", "answer", "last-answer").returncode == 3  # not typed by the user
    assert run(home, "save", "nothing", "ffffffff").returncode == 3
    assert run(home, "save", "nothing", f"{S1}/ffffffff").returncode == 3


def test_a_text_can_be_given_or_piped(home: Path) -> None:
    assert answer(home, "save", "a", "--text", "Erkläre {{目录}}")["saved"]["variables"] == ["目录"]
    assert answer(home, "save", "b", stdin="one\ntwo\n")["saved"]["text"] == "one\ntwo"
    assert answer(home, "edit", "b", "--text", "-", stdin="three")["changed"]["text"] == "three"
    assert answer(home, "edit", "b", stdin="four")["changed"]["text"] == "four"
    assert run(home, "save", "c").returncode == 2  # nothing was piped
    assert run(home, "save", "c", S1, "--text", "both").returncode == 2
    assert [one["name"] for one in answer(home, "list", "ERKLÄRE")["prompts"]] == ["a"]


def test_a_bad_name_value_or_variable_is_refused_and_nothing_is_counted(home: Path) -> None:
    answer(home, "save", "a", "--text", "{{x}}")
    for arguments, told in [
        (("save", "../a", "--text", "t"), "cannot be the name"),
        (("save", "A", "--text", "t"), "lower-case letters, digits, - and _: a"),
        (("save", "a", "--text", "t"), "already"),
        (("save", "big", "--text", "x" * 100_001), "100,001 characters"),
        (("save", "b", "--text", "t", "--variable", "x"), "NAME=WORDS"),
        (("save", "b", "--text", "t", "--variable", "x=absent"), "not in the prompt"),
        (("fill", "a"), "no value for x"),
        (("fill", "a", "x=1", "x=2"), "given twice"),
        (("fill", "a", "x=1", "y=2"), "no variable y"),
        (("fill", "a", "noequals"), "VARIABLE=VALUE"),
        (("edit", "a", "--name", "a/b"), "cannot be the name"),
        (("uninstall", "../a", "--yes"), "cannot be the name"),
    ]:
        done = run(home, *arguments)
        assert (done.returncode, told in done.stderr) == (2, True), (arguments, done.stderr)
    for what in ("show", "fill", "edit", "delete", "install"):
        assert run(home, what, "b").returncode == 3
    (left,) = answer(home)["prompts"]
    assert (left["name"], left["uses"]) == ("a", 0)


def test_a_prompt_is_renamed_tagged_and_deleted(home: Path) -> None:
    answer(home, "save", "a", "--text", "t", "--tag", "one", "--tag", "Two")
    changed = answer(home, "edit", "a", "--name", "b", "--tag", "three", "--untag", "TWO", "--description", "about")
    assert (changed["changed"]["name"], changed["changed"]["tags"]) == ("b", ["one", "three"])
    assert run(home, "list", "--tag", "THREE").returncode == 0
    assert run(home, "list", "--tag", "two").returncode == 3
    assert run(home, "delete", "b").stdout == "deleted: b\n"
    assert run(home).returncode == 3


def test_runs_of_the_slash_command_count_as_uses(home: Path) -> None:
    answer(home, "save", "review", "--text", "t")
    answer(home, "save", "review-none", "--text", "t")
    rows = jsonl(draw(COMMANDS))
    (home / session_path("S2")).write_bytes(rows)
    (home / session_path("S3")).write_bytes(rows.replace(session_uuid("S2").encode(), session_uuid("S3").encode()))
    listed = {one["name"]: one for one in answer(home)["prompts"]}
    assert (listed["review"]["uses"], listed["review"]["commands"], listed["review"]["filled"]) == (1, 1, 0)
    assert listed["review-none"]["uses"] == 0
    assert "used: 1 time, 1 of them as /review" in run(home, "show", "review").stdout


def test_prompts_need_no_history(tmp_path: Path) -> None:
    home = tmp_path / "nowhere"
    assert answer(home, "save", "a", "--text", "t")["saved"]["name"] == "a"
    assert run(home, "fill", "a").stdout == "t\n"
    assert answer(home)["prompts"][0]["uses"] == 1


def test_prompts_of_another_machine_are_imported(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "prompts.json"
    file.write_text(
        json.dumps({"prompts": [{"name": "a", "text": "theirs"}, {"name": "b", "text": "{{x}}", "uses": 3}]})
    )
    answer(home, "save", "a", "--text", "mine")
    done = run(home, "import", file)
    assert done.stdout == "added: b\n"
    assert "left out, because there is one of this name: a" in done.stderr
    assert [(one["name"], one["uses"]) for one in answer(home)["prompts"]] == [("a", 0), ("b", 3)]
    assert answer(home, "import", "-", stdin=file.read_text()) == {"added": [], "kept": ["a", "b"]}
    assert run(home, "import", "-", stdin="{").returncode == 2
    assert run(home, "import", tmp_path / "none.json").returncode == 2


# Slash commands


def test_a_slash_command_is_shown_and_written_after_a_yes(home: Path) -> None:
    answer(home, "save", "review", S1[:8], "--variable", "branch=main-2", "--description", 'a "look"')
    file = home / "commands" / "review.md"
    asked = ("prompts", "install", "review", "--home", home)
    done = run_and_answer("n\n", *asked)
    assert "+review the branch {{branch}} and list {{risks}}" in done.stdout
    assert str(file) in done.stdout
    assert not file.exists()
    assert run_command(*asked).returncode == 2  # no terminal to ask on
    assert run(home, "install", "review", "--print").returncode == 0
    assert not file.exists()
    assert run_and_answer("y\n", *asked).returncode == 0
    assert file.read_text() == (
        '---\n# written by backscroll prompts install\ndescription: "a \\"look\\""\n'
        'argument-hint: "[branch] [risks]"\n---\n\nreview the branch {{branch}} and list {{risks}}\n\n'
        "In the text above, replace {{branch}}, {{risks}} by these values, given in this order: $ARGUMENTS\n"
    )
    assert "is up to date" in run(home, "install", "review", "--yes").stdout
    assert (home / session_path("S1")).exists()


def test_one_variable_is_all_arguments_and_none_needs_none(home: Path) -> None:
    answer(home, "save", "one", "--text", "explain {{file}}, then {{ file }} again; \\{{kept}}")
    answer(home, "save", "none", "--text", "\n  run the tests\nand fix them")
    for name in ("one", "none"):
        assert run(home, "install", name, "--yes").returncode == 0
    text = (home / "commands" / "one.md").read_text()
    assert text.endswith("explain $ARGUMENTS, then $ARGUMENTS again; {{kept}}\n")
    text = (home / "commands" / "none.md").read_text()
    assert 'description: "run the tests"\n---\n\n  run the tests\nand fix them\n' in text
    assert "ARGUMENTS" not in text


def test_what_the_client_would_replace_or_run_is_said(home: Path) -> None:
    answer(home, "save", "a", "--text", "run !`rm -rf x` and awk '{print $1}' with $ARGUMENTS")
    done = run(home, "install", "a", "--yes")
    assert "note: Claude Code replaces or runs this in a slash command: !`rm -rf x` $1 $ARGUMENTS" in done.stderr


def test_a_command_that_backscroll_did_not_write_is_left_alone(home: Path) -> None:
    answer(home, "save", "mine", "--text", "t")
    file = home / "commands" / "mine.md"
    file.parent.mkdir()
    file.write_text("my own")
    for what in ("install", "uninstall"):
        done = run(home, what, "mine", "--yes")
        assert (done.returncode, "left alone" in done.stderr) == (2, True)
    assert file.read_text() == "my own"


def test_a_slash_command_is_removed_also_after_its_prompt(home: Path) -> None:
    answer(home, "save", "a", "--text", "t")
    assert run(home, "uninstall", "a", "--yes").returncode == 3
    run(home, "install", "a", "--yes")
    file = home / "commands" / "a.md"
    assert "prompts install a to bring it up to date" in run(home, "edit", "a", "--text", "u").stderr
    run(home, "install", "a", "--yes")
    assert file.read_text().endswith("\nu\n")
    assert "prompts uninstall a removes it" in run(home, "delete", "a").stderr
    assert file.exists()
    assert run(home, "uninstall", "a", "--yes").returncode == 0
    assert not file.exists()


def test_a_slash_command_of_a_project(home: Path, tmp_path: Path) -> None:
    answer(home, "save", "a", "--text", "t")
    project = tmp_path / "project"
    project.mkdir()
    assert run(home, "install", "a", "--project", project, "--yes").returncode == 0
    assert (project / ".claude" / "commands" / "a.md").exists()
    assert not (home / "commands").exists()
    assert run(home, "uninstall", "a", "--project", project, "--yes").returncode == 0
    assert run(home, "install", "a", "--project", tmp_path / "none", "--yes").returncode == 2


def test_the_editor_changes_a_prompt(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(home, "save", "a", "--text", "old words")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/old/new/" "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    assert run_and_answer("", "prompts", "edit", "a", "--home", home).returncode == 0
    assert answer(home, "show", "a")["prompt"]["text"] == "new words"
