"""Saved prompts are never lost, and only what can be a prompt becomes one."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.library.prompts.prompt import PromptChange, PromptSource, matching_prompts, new_prompt
from backscroll.library.prompts.prompt_file import PromptFile, prompts_from

NOW = datetime(2026, 1, 5, 10, tzinfo=UTC)


def test_a_saved_prompt_is_read_back(tmp_path: Path) -> None:
    prompts = PromptFile(tmp_path / "library")
    source = PromptSource(chat="c1", message="m1")
    prompts.add(
        new_prompt("größe".replace("ö", "o").replace("ß", "ss"), "Prüfe {{größe}}\n\n目录", description=" two\nlines ",
                   tags=["Git", "git", " a,b "], source=source, now=NOW)
    )  # fmt: skip
    (read,) = PromptFile(tmp_path / "library").all()
    assert (read.name, read.text, read.description) == ("grosse", "Prüfe {{größe}}\n\n目录", "two lines")
    assert (read.tags, read.source, read.created) == (["Git", "a b"], source, "2026-01-05T10:00:00Z")
    assert (read.variables, read.uses, read.used) == (("größe",), 0, "")
    assert (tmp_path / "library" / "prompts.json").stat().st_mode & 0o077 == 0


def test_a_library_without_prompts_has_none(tmp_path: Path) -> None:
    assert PromptFile(tmp_path).all() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("../../etc/passwd", "etc-passwd"), ("a/b", "a-b"), ("a\\b", "a-b"), (".hidden", "hidden"),
        ("Review", "review"),        ("Über prüfen", "uber-prufen"), ("", ""), ("目录", ""), ("a" * 65, "a" * 64),
        ("a:b", "a-b"), ("a\0b", "a-b"),
    ],
)  # fmt: skip
def test_a_name_that_could_not_be_a_slash_command_is_refused(name: str, better: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name") as refused:
        new_prompt(name, "text")
    assert refused.value.hint.endswith(f": {better}" if better else "- and _")


def test_a_text_that_is_empty_or_too_long_is_refused() -> None:
    for text in ("", " \n\t", "\0\x1b"):
        with pytest.raises(UsageError, match="cannot be empty"):
            new_prompt("a", text)
    assert len(new_prompt("a", "x" * 100_000).text) == 100_000
    with pytest.raises(UsageError, match="100,001 characters"):
        new_prompt("a", "x" * 100_001)
    with pytest.raises(UsageError, match="21 tags"):
        new_prompt("a", "x", tags=map(str, range(21)))


def test_what_a_terminal_or_a_database_would_choke_on_is_left_out() -> None:
    assert new_prompt("a", "\n\x1b[31mred\0\r\nnext\tline\r\ud800\n").text == "[31mred\nnext\tline\n?"


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    prompts = PromptFile(tmp_path)
    prompts.add(new_prompt("a", "first"))
    prompts.add(new_prompt("b", "second"))
    with pytest.raises(UsageError, match="there is a saved prompt a already"):
        prompts.add(new_prompt("a", "third"))
    with pytest.raises(UsageError, match="there is a saved prompt b already"):
        prompts.change("a", PromptChange(name="b"))
    assert [(one.name, one.text) for one in prompts.all()] == [("a", "first"), ("b", "second")]


def test_a_change_changes_only_what_it_names(tmp_path: Path) -> None:
    prompts = PromptFile(tmp_path)
    prompts.add(new_prompt("a", "text", description="about", tags=["x"], now=NOW))
    prompts.count_use("a")
    changed = prompts.change("a", PromptChange(name="z", tags=["y"]))
    assert prompts.all() == [changed]
    assert (changed.name, changed.text, changed.description, changed.tags) == ("z", "text", "about", ["y"])
    assert (changed.uses, changed.created) == (1, "2026-01-05T10:00:00Z")
    assert changed.used
    assert changed.changed
    assert prompts.change("z", PromptChange(description="", text="other")).description == ""
    assert prompts.remove("z").text == "other"
    for use in (prompts.find, prompts.remove, prompts.count_use):
        with pytest.raises(NothingFound):
            use("z")


def test_words_and_tags_select() -> None:
    found = [
        new_prompt("review", "look at {{branch}}", tags=["Git"]),
        new_prompt("explain", "Erkläre GRÖSSE", description="for newcomers"),
    ]
    assert [one.name for one in matching_prompts(found, ["LOOK", "branch"])] == ["review"]
    assert [one.name for one in matching_prompts(found, ["erkläre"])] == ["explain"]
    assert [one.name for one in matching_prompts(found, [], "gIT")] == ["review"]
    assert matching_prompts(found, ["newcomers"], "git") == []


def test_a_file_of_a_later_version_is_read_but_not_written(tmp_path: Path) -> None:
    prompts = PromptFile(tmp_path)
    prompts.add(new_prompt("a", "text"))
    file = tmp_path / "prompts.json"
    content = json.loads(file.read_text())
    content["prompts"][0]["colour"] = "red"
    file.write_text(json.dumps(content))
    assert prompts.find("a").text == "text"
    before = file.read_bytes()
    with pytest.raises(BackscrollError, match="colour"):
        prompts.count_use("a")
    assert file.read_bytes() == before


def test_a_damaged_file_is_an_error_and_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "prompts.json").write_text('{"prompts": [{"name":')
    for use in (PromptFile(tmp_path).all, lambda: PromptFile(tmp_path).add(new_prompt("a", "b"))):
        with pytest.raises(BackscrollError, match="cannot read your saved prompts"):
            use()
    assert (tmp_path / "prompts.json").read_text() == '{"prompts": [{"name":'


def test_no_use_is_lost_when_processes_count_at_once(tmp_path: Path) -> None:
    PromptFile(tmp_path).add(new_prompt("a", "text"))
    program = (
        "import sys; from pathlib import Path; from backscroll.errors import Busy\n"
        "from backscroll.library.prompts.prompt_file import PromptFile\n"
        "left = 20\n"
        "while left:\n"
        "    try: PromptFile(Path(sys.argv[1])).count_use('a'); left -= 1\n"
        "    except Busy: pass\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(3)]
    assert [one.wait() for one in started] == [0, 0, 0]
    assert PromptFile(tmp_path).find("a").uses == 60


def test_prompts_of_a_chat_are_known(tmp_path: Path) -> None:
    prompts = PromptFile(tmp_path)
    prompts.add(new_prompt("a", "text", source=PromptSource(chat="C1", message="m")))
    prompts.add(new_prompt("b", "text"))
    assert prompts_from(tmp_path, {"c1"}) == ["a"]


def test_prompts_of_one_machine_are_shared_with_no_one(tmp_path: Path) -> None:
    PromptFile(tmp_path).add(new_prompt("a", "text"))
    with pytest.raises(UsageError, match="cannot be shared"):
        PromptFile(tmp_path).share("a", "org")
