"""The versions of a file, from the calls that read, wrote and changed it."""

from datetime import UTC, datetime

import pytest

from backscroll.conversation.versions import FOUND, FileAccess, FileVersion, apply_hunks, apply_replacements, versions
from backscroll.records.edits import FileInput, FileResult, Hunk, TextReplacement

WHEN = datetime(2026, 1, 5, tzinfo=UTC)


def write(text: str, before: str | None = None) -> FileAccess:
    return FileAccess(WHEN, "Write", FileInput(text), FileResult(before=before))


def edit(old: str, new: str, before: str | None = None, everywhere: bool = False, **more: object) -> FileAccess:
    asked = FileInput(None, (TextReplacement(old, new, everywhere),))
    return FileAccess(WHEN, "Edit", asked, FileResult(before=before, **more))  # type: ignore[arg-type]


def read(text: str, first: int = 1, lines: int | None = None, total: int | None = None) -> FileAccess:
    count = len(text.split("\n")) if lines is None else lines
    return FileAccess(
        WHEN, "Read", FileInput(), FileResult(content=text, first_line=first, lines=count, total_lines=total or count)
    )


def check(touches: list[FileAccess], *expected: tuple[str | None, bool]) -> list[FileVersion]:
    found = list(versions(touches))
    assert [(version.content, version.certain) for version in found] == list(expected)
    return found


def test_a_file_that_was_written_is_what_was_written() -> None:
    check([write("one\n"), write("two\n")], ("one\n", True), ("two\n", True))


def test_an_edit_changes_the_version_before() -> None:
    check([write("a b a\n"), edit("a", "c")], ("a b a\n", True), ("c b a\n", True))
    check([write("a b a\n"), edit("a", "c", everywhere=True)], ("a b a\n", True), ("c b c\n", True))


def test_an_edit_with_the_original_file_needs_nothing_else() -> None:
    found = check([edit("a", "c", before="a b\n")], ("a b\n", True), ("c b\n", True))
    assert found[0].basis == FOUND


def test_a_change_outside_claude_code_is_a_separate_version() -> None:
    found = check([write("a\n"), edit("a", "c", before="a!\n")], ("a\n", True), ("a!\n", True), ("c!\n", True))
    assert found[1].basis == FOUND


def test_an_edit_of_an_unknown_file_shows_nothing() -> None:
    check([edit("a", "c")], (None, False))
    check([write("x\n"), edit("a", "c")], ("x\n", True), (None, False))


def test_an_edit_of_nothing_makes_a_file() -> None:
    check([edit("", "new\n")], ("new\n", True))


def test_reading_a_whole_file_makes_a_version_and_reading_it_again_does_not() -> None:
    check([read("a\nb\n"), read("a\nb\n"), read("a\nb")], ("a\nb\n", True))
    check([write("x\n"), read("a\nb\n")], ("x\n", True), ("a\nb\n", True))


def test_reading_a_part_only_confirms_or_casts_doubt() -> None:
    check([read("a", lines=1, total=9)])
    check([write("a\nb\nc\n"), read("b\nc", first=2, lines=2, total=4)], ("a\nb\nc\n", True))
    check([write("a\nb\nc\n"), read("B", first=2, lines=1, total=4)], ("a\nb\nc\n", True), ("a\nb\nc\n", False))


def test_what_the_user_let_change_wins_over_what_was_asked() -> None:
    hunk = Hunk(1, ("-a", "+user"))
    check([write("a\nb\n"), edit("a", "c", hunks=(hunk,), by_user=True)], ("a\nb\n", True), ("user\nb\n", True))


def test_what_the_user_changed_is_not_certain_without_its_lines() -> None:
    check([write("a\nb\n"), edit("a", "c", by_user=True)], ("a\nb\n", True), ("c\nb\n", False))


def test_lines_are_used_where_the_texts_do_not_fit() -> None:
    check(
        [write("a\nb\n"), edit("?", "c", hunks=(Hunk(2, ("-b", "+c", "+d")),))], ("a\nb\n", True), ("a\nc\nd\n", True)
    )


@pytest.mark.parametrize(
    ("text", "hunks", "expected"),
    [
        ("a\nb\nc", [Hunk(1, (" a", "-b", "+B", " c"))], "a\nB\nc"),
        ("a\nb\nc\nd", [Hunk(1, ("+x", " a")), Hunk(4, ("-d", "+D"))], "x\na\nb\nc\nD"),
        ("a", [Hunk(1, ("-b",))], None),
    ],
)
def test_hunks_fit_or_are_refused(text: str, hunks: list[Hunk], expected: str | None) -> None:
    assert apply_hunks(text, hunks) == expected


def test_replacements_follow_one_another() -> None:
    assert apply_replacements("a", [TextReplacement("a", "b"), TextReplacement("b", "c")]) == "c"
    assert apply_replacements("a", [TextReplacement("", "b")]) is None
