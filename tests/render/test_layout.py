"""Tables fit: bars shrink before text, text before a column is left out, and ids, dates and numbers are never cut."""

from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.cells import cells, cut_start, wrap
from backscroll.render.folding import fold
from backscroll.render.layout import Column
from backscroll.render.reports import report_table
from backscroll.render.tables import TableBar, fit, has_room, records
from backscroll.render.terminal import short_id

COLUMNS = [
    Column("ID", shrinks="never"),
    Column("TITLE", least=10),
    Column("TOKENS", right=True, shrinks="never", extra=1),
    Column("COST", right=True, shrinks="never"),
    Column("", shrinks="bar"),
]
ROWS = [
    ["4f8c1176", "Implement the following plan", "12.3M", "$12.34", TableBar(2, 4)],
    ["e8811ad6", "日本語のタイトルがここにある", "1.2M", "$1.20", TableBar(4, 4)],
]


def lines(width: int | None) -> list[str]:
    return fit(COLUMNS, ROWS, width).lines


def test_everything_is_shown_where_nothing_limits_it() -> None:
    assert lines(None) == [
        "ID        TITLE                         TOKENS    COST",
        "4f8c1176  Implement the following plan   12.3M  $12.34  ██████",
        "e8811ad6  日本語のタイトルがここにある    1.2M   $1.20  ████████████",
    ]


def test_bars_use_the_room_and_shrink_first() -> None:
    assert lines(100)[2].endswith("█" * 40)
    assert lines(62)[2].endswith("$1.20  ██████")
    assert "█" not in lines(57)[2]
    assert "Implement the following plan" in lines(57)[1]


def test_text_shrinks_before_a_column_is_left_out() -> None:
    assert lines(40)[1] == "4f8c1176  Implement the…   12.3M  $12.34"
    found = fit(COLUMNS, ROWS, 35)
    assert found.lines[1] == "4f8c1176  Implement the fo…  $12.34"
    assert found.left_out == ["TOKENS"]


def test_wide_characters_count_two() -> None:
    for width in range(28, 100):
        assert all(cells(line) <= width for line in lines(width)), width


@given(st.lists(st.text(alphabet="ab 日本é", max_size=60), min_size=1, max_size=5), st.integers(30, 120))
def test_no_line_is_wider_than_the_terminal_and_no_id_is_cut(titles: list[str], width: int) -> None:
    rows = [["4f8c1176", title, "12.3M", "$12.34", TableBar(number, 5)] for number, title in enumerate(titles)]
    for line in fit(COLUMNS, rows, width).lines[1:]:
        assert cells(line) <= width
        assert line.startswith("4f8c1176")
        assert "$12.34" in line


def test_a_report_ends_with_its_total_and_short_ids_are_for_people() -> None:
    columns = ("chat", "messages", "cost_microdollars")
    rows = [("4f8c1176-93d9-4ee6-997d-2447a5d496f3", 3, 1_500_000)]
    total = {"messages": 3, "cost_microdollars": 1_500_000}
    assert report_table(columns, rows, None, 80, total).lines == [
        "CHAT      MESSAGES   COST",
        "4f8c1176         3  $1.50",
        "total            3  $1.50",
    ]
    assert report_table(columns, rows, None, None).lines[1].startswith("4f8c1176-93d9-4ee6-997d-2447a5d496f3 ")


def test_short_ids_keep_what_is_their_own() -> None:
    assert short_id("msg_01Vb73KmXyZabc") == "msg_01Vb73Km"
    assert short_id("4f8c1176-93d9-4ee6-997d-2447a5d496f3") == "4f8c1176"
    assert short_id("Explore") == "Explore"


def test_of_a_path_the_end_is_kept() -> None:
    assert cut_start("/home/ada/shop/cart.py", 12) == "…hop/cart.py"
    assert cut_start("日本/日本", 6) == "…/日本"


@given(st.text(alphabet="abc 日本", max_size=200), st.integers(10, 60))
def test_words_are_never_broken_where_they_fit_on_a_line(text: str, width: int) -> None:
    for start, end in wrap(text, width):
        assert cells(text[start:end].rstrip()) <= width
        if end < len(text) and not text[end - 1].isspace() and not text[end].isspace():
            word = text[text.rfind(" ", 0, end) + 1 :].split(" ")[0]
            assert cells(word) > width or text[start:end].count(" ") == 0


def test_long_lines_are_folded_with_their_colours() -> None:
    assert fold("one two three", 8) == "one two\n  three"
    assert fold("\x1b[1mone two\x1b[0m three", 8) == "\x1b[1mone two\x1b[0m\n  three"
    assert fold("  one two three", 11) == "  one two\n    three"
    assert fold("short", 8) == "short"


def test_a_narrow_terminal_keeps_the_first_column_and_the_text() -> None:
    narrow = fit(COLUMNS, ROWS, 22)
    assert narrow.lines == ["ID        TITLE", "4f8c1176  Implement t…", "e8811ad6  日本語のタ…"]
    assert narrow.left_out == ["TOKENS", "COST"]


@given(st.integers(min_value=18, max_value=120))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(cells(line) <= width for line in lines(width))


def test_what_a_label_says_goes_on_below_itself() -> None:
    assert fold("Expiring  one two three", 20).split("\n") == ["Expiring  one two", "          three"]
    assert fold("  indented text goes on", 15).split("\n") == ["  indented text", "    goes on"]


def test_tabs_are_as_wide_as_a_terminal_shows_them() -> None:
    assert fold("a\tbc\td", 80) == "a       bc      d"
    assert fold("\x1b[1ma\tb\x1b[0m\tc", 80) == "\x1b[1ma       b\x1b[0m       c"
    assert fold("1\tone two three", 16).split("\n") == ["1       one two", "  three"]


def test_rows_with_too_many_columns_are_shown_one_below_the_other() -> None:
    names, rows = [f"column_{number}" for number in range(9)], [["a longer value", *range(8)], [None, *range(8)]]
    assert has_room(names, rows, None)
    assert has_room(names, rows, 88)
    assert not has_room(names, rows, 87)
    made = list(records(names[:2], [row[:2] for row in rows]))
    assert made == [
        "── 1 ─────",
        "column_0  a longer value",
        "column_1  0",
        "── 2 ─────",
        "column_0",
        "column_1  0",
    ]
