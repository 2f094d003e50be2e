"""A session belongs to the project that its rows name."""

from backscroll.records.decode import decode_line
from backscroll.records.project import project_of
from backscroll.records.record import Record
from tests.support.drawings import draw, line


def check(drawing: str, expected: str | None) -> None:
    records = [record for row in draw(drawing) if isinstance(record := decode_line(line(row)), Record)]
    assert project_of(records) == expected


def test_the_project_is_where_the_session_began() -> None:
    check("@ cwd=/home/ada/shop\na <- - user: hi\n@ cwd=/home/ada/shop/web\nb <- a assistant: ho", "/home/ada/shop")


def test_a_session_that_moved_belongs_where_it_moved_to() -> None:
    check("@ cwd=/a\na <- - user: hi\nrelocated: /b\nb <- a assistant: ho\nrelocated: /c\ntag: x", "/c")


def test_rows_that_do_not_say_are_passed_over() -> None:
    check("ai-title: T\na <- - user -cwd: hi\n@ cwd=/a\nb <- a assistant: ho", "/a")


def test_a_session_of_titles_only_has_no_project() -> None:
    check("ai-title: T\nsummary a: S", None)
