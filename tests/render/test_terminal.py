"""Nothing from a transcript can command the terminal."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.terminal import clean, clean_line, for_terminal, moment, plural, size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\tand\nlines", "plain\tand\nlines"),
        ("日本語 é 😀", "日本語 é 😀"),
        ("\x1b]0;renamed\x07title", "title"),
        ("\x1b]8;;https://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;aGk=\x07x", "x"),
        ("\x9d0;renamed\x9cx", "x"),
        ("\x1b[2J\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1bP+q544e\x1b\\x", "x"),
        ("\x1b_apc\x1b\\x", "x"),
        ("\x1bcreset", "reset"),
        ("over\rwritten\b\x07", "overwritten"),
        ("\x1b]0;never ended", ""),
        ("\x1b]0;never ended\nnext", "\nnext"),
        ("abc\u202edcba\u2066", "abcdcba"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("\udcff", ""),
    ],
)
def test_cleaned_texts(text: str, expected: str) -> None:
    assert clean(text) == expected


@given(st.text() | st.text(alphabet="\x1b\x9b\x9d[]P;0m\x07\\\x90\n\ta\r\u202e"))
def test_no_control_character_is_ever_left(text: str) -> None:
    for character in clean(text):
        code = ord(character)
        assert code >= 0x20 or character in "\t\n"
        assert not 0x7F <= code <= 0x9F
    clean(text).encode("utf-8")


@given(st.text())
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("\x1b[1;31mred\x1b[0m\ttext\n", "\x1b[1;31mred\x1b[0m\ttext\n"),
        ("\x1b]8;id=1;https://x/?a;b\x1b\\https://x/?a;b\x1b]8;;\x1b\\", "\x1b]8;id=1;https://x/?a;b\x1b\\https://x/?a;b\x1b]8;;\x1b\\"),
        ("\x1b]8;;ssh://x\x1b\\y\x1b]8;;\x1b\\", "y\x1b]8;;\x1b\\"),
        ("\x1b]8;;https://x\x07y", "y"),
        ("\x1b]8;;https://x \x1b\\y", "y"),
        ("a\x1b[2Jb\x1b]0;x\x07c\u202ed\x9b31me\rf", "abcdef"),
    ],
)  # fmt: skip
def test_only_our_own_colours_and_links_are_written(written: str, expected: str) -> None:
    assert for_terminal(written) == expected


@given(st.text() | st.text(alphabet="\x1b\x9b\x9d[]P;08m\x07\\\x90\n\ta\r\u202e"))
def test_what_was_cleaned_is_written_as_it_is(text: str) -> None:
    assert for_terminal(clean(text)) == clean(text)


def test_a_line_stays_a_line() -> None:
    assert clean_line(" a\n\tb\u2028c\r\n") == "a bc"


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (99_400, "99.4 kB"), (123_456, "123 kB"), (999_999, "1.0 MB"),
     (4_000_000_000, "4.0 GB"), (2 * 10**13, "20.0 TB")],
)  # fmt: skip
def test_sizes_as_people_say_them(count: int, expected: str) -> None:
    assert size(count) == expected


def test_moments_are_in_utc() -> None:
    when = datetime(2026, 1, 5, 12, 0, 0, 5000, tzinfo=timezone(timedelta(hours=2)))
    assert moment(when) == "2026-01-05T10:00:00.005Z"
    assert moment(datetime(2026, 1, 5, tzinfo=UTC)) == "2026-01-05T00:00:00.000Z"


def test_a_moment_at_the_edge_of_the_calendar_is_shown_all_the_same() -> None:
    edge = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=10)))
    assert moment(edge).startswith("0001-01-01")


def test_one_file_and_two_files() -> None:
    assert (plural(1, "file"), plural(0, "file"), plural(1234, "file")) == ("1 file", "0 files", "1,234 files")
