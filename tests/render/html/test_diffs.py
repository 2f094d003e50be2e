"""A diff shows every line once on each side that has it, with its number there."""

from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.html.code import normalize_text
from backscroll.render.html.diffs import MAX_ROWS, DiffHunk, diff, diff_hunks, diff_texts, differing_spans, split_lines
from tests.render.html.markup_parser import assert_harmless, look

LINES = st.lists(st.sampled_from(["", "a", "b", "c d", "c e", "<x>", "    return 1"]), max_size=30).map("\n".join)


def applied(old: str, new: str) -> list[str]:
    """What the hunks make of the old text."""
    lines = split_lines(old)
    out: list[str] = []
    at = 0
    for hunk in diff_hunks(old, new):
        out += lines[at : hunk.old_start - 1]
        assert len(out) == hunk.new_start - 1
        at = hunk.old_start - 1
        for line in hunk.lines:
            if line[0] != "+":
                assert lines[at] == line[1:]
                at += 1
            if line[0] != "-":
                out.append(line[1:])
    return out + lines[at:]


@given(LINES, LINES)
def test_the_hunks_lead_from_one_text_to_the_other(old: str, new: str) -> None:
    assert applied(old, new) == split_lines(new)


def test_what_would_take_long_to_compare_is_replaced_whole() -> None:
    old, new = "a\nb\n" * 500 + "x", "b\na\n" * 500 + "y"
    (hunk,) = diff_hunks(old, new)
    assert [line[0] for line in hunk.lines] == ["-"] * 1001 + ["+"] * 1001
    assert applied(old, new) == split_lines(new)


def test_lines_have_the_numbers_of_their_sides_and_a_mark() -> None:
    seen = look(diff([DiffHunk(4, 7, [" a", "-b", "+c", "+d", " e"])]))
    assert seen.values("data-line") == ["4", "7", "5", "8", "9", "6", "10"]
    assert seen.text == " a-b+c+d e"
    assert [value for value in seen.values("class") if value.startswith("row")] == [
        "row same", "row removed", "row added", "row added", "row same",
    ]  # fmt: skip


def test_changed_words_are_marked() -> None:
    shown = diff_texts("the quick brown fox", "the slow brown foxes")
    assert "the <del>quick</del> brown <del>fox</del>" in shown
    assert "the <ins>slow</ins> brown <ins>foxes</ins>" in shown


def test_words_are_marked_across_colours() -> None:
    shown = diff_texts("x = call(1, 'a')\n", "x = call(2, 'a')\n", "a.py")
    assert '<del><span class="c-number">1</span></del>' in shown
    assert '<ins><span class="c-number">2</span></ins>' in shown


def test_lines_with_little_in_common_have_no_marked_words() -> None:
    assert differing_spans("abc def", "something else") == ((), ())
    assert differing_spans("a " * 400, "b " * 400) == ((), ())


def test_long_stretches_without_a_change_are_folded() -> None:
    lines = [f" {number}" for number in range(20)]
    seen = look(diff([DiffHunk(1, 1, [*lines, "+x"])]))
    assert seen.tags.count("details") == 1
    assert "14 unchanged lines" in seen.text
    assert "details" not in look(diff([DiffHunk(1, 1, [*lines[:12], "+x"])])).tags


def test_a_new_file_is_all_added_and_equal_texts_have_no_hunk() -> None:
    assert look(diff_texts("", "a\nb\n")).text == "+a+b"
    assert look(diff_texts("a\n", "")).text == "-a"
    assert diff_texts("a\n", "a\n") == '<div class="diff"></div>'


def test_a_very_long_diff_ends_as_plain_text_with_nothing_left_out() -> None:
    seen = look(diff([DiffHunk(1, 1, [f"+line {number}" for number in range(MAX_ROWS + 10)]), DiffHunk(1, 1, ["-z"])]))
    assert seen.values("class").count("row added") == MAX_ROWS
    assert f"+line {MAX_ROWS + 9}" in seen.text
    assert "-z" in seen.text


def test_remarks_and_lines_without_a_mark_are_shown() -> None:
    seen = look(diff([DiffHunk(1, 1, ["-a", "\\ No newline at end of file", "", "odd"])]))
    assert "No newline at end of file" in seen.text
    assert "odd" in seen.text


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)), st.sampled_from(["", "a.py", "a.html"]))
def test_any_two_texts_make_a_harmless_diff(old: str, new: str, file: str) -> None:
    assert_harmless(diff_texts(old, new, file))


@given(st.lists(st.text(st.characters(codec=None))), st.sampled_from(["", "a.py"]), st.integers(-5, 5))
def test_any_hunk_is_harmless_and_whole(lines: list[str], file: str, start: int) -> None:
    seen = assert_harmless(diff([DiffHunk(start, start, lines)], file))
    for line in lines:
        for shown in normalize_text(line).split("\n"):
            assert shown[1:].strip() in seen.text


@given(LINES, LINES)
def test_every_line_of_both_is_in_the_diff_or_the_same(old: str, new: str) -> None:
    seen = assert_harmless(diff_texts(old, new, "a.py"))
    for line in set(split_lines(old)) ^ set(split_lines(new)):
        assert line in seen.text
