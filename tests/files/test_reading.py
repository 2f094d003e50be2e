import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.files import reading
from backscroll.files.reading import Bookmark, Change, Line, Reading, read_lines
from tests.support.drawings import draw, jsonl

TEN_LINES = jsonl(
    draw(
        """
        a <- - user: grüße
        b <- a assistant(m1): 🦊 hello
        c <- b user: what is in x.py?
        d <- c call(m2) t1 Read {"file_path": "x.py"}
        e <- d result t1: "a = 1\\n"
        f <- e assistant(m3): one line
        g <- f user: "…"
        h <- g assistant(m4): 漢字
        custom-title: Ten lines
        mode: default
        """
    )
)

# Few bytes, many newlines: lines of every length next to every constant.
contents = st.lists(st.sampled_from([b"\n", b"a", b"{}", "🦊".encode(), b"\x00", b"longer"]), max_size=40).map(b"".join)
sizes = st.integers(1, 12)


@contextmanager
def constants(**values: int) -> Iterator[None]:
    """Make the pieces small, so that little data goes every way that much data would."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(reading, name, value)
        yield


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def complete_lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")[:-1]


def whole(lines: Reading, line: Line) -> bytes:
    """Return the bytes of a line, however long it is."""
    return b"".join(lines.pieces(line)) if line.data is None else line.data


def read(path: Path, bookmark: Bookmark | None = None) -> tuple[list[bytes], Bookmark]:
    """Read on from a bookmark to the end; return the lines and the new bookmark."""
    with Reading(path, bookmark) as lines:
        return [whole(lines, line) for line in lines], lines.bookmark


def change_of(path: Path, bookmark: Bookmark) -> Change:
    with Reading(path, bookmark) as lines:
        return lines.change


def check_change(path: Path, bookmark: Bookmark, expected: Change, lines: list[bytes]) -> None:
    """Check what is said to have happened, and which lines are read on account of it."""
    assert change_of(path, bookmark) is expected
    assert read(path, bookmark)[0] == lines


# --- lines ---


def test_each_line_says_where_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"ab\n\ncde\n")
    with Reading(path) as lines:
        assert list(lines) == [Line(0, 3, b"ab"), Line(3, 4, b""), Line(4, 8, b"cde")]
        assert (lines.change, lines.tail) == (Change.NEW, None)


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a", b""))[0] == []


def test_the_unfinished_last_line_is_no_line_but_the_tail(tmp_path: Path) -> None:
    with Reading(write(tmp_path / "a", b"ab\ncd")) as lines:
        assert list(lines) == [Line(0, 3, b"ab")]
        assert lines.tail == Line(3, 5, b"cd")
        assert lines.bookmark.offset == 3


def test_a_tail_that_was_taken_is_not_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"ab\ncd")
    with Reading(path) as lines:
        list(lines)
        lines.take_tail()
        assert lines.tail is None
        bookmark = lines.bookmark
    assert bookmark.offset == 5
    check_change(path, bookmark, Change.UNCHANGED, [])
    append(path, b"\nef\n")
    check_change(path, bookmark, Change.GROWN, [b"", b"ef"])


def test_taking_no_tail_changes_nothing(tmp_path: Path) -> None:
    with Reading(write(tmp_path / "a", b"ab\n")) as lines:
        list(lines)
        before = lines.bookmark
        lines.take_tail()
        assert lines.bookmark == before


def test_bytes_written_after_opening_are_left_for_the_next_reading(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"ab\n")
    with Reading(path) as lines:
        append(path, b"cd\n")
        assert [line.data for line in lines] == [b"ab"]
        bookmark = lines.bookmark
    assert read(path, bookmark)[0] == [b"cd"]


def test_a_file_that_is_cut_while_it_is_read_ends_early(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"ab\ncd\nef\n")
    with constants(PIECE=3), Reading(path) as lines:
        steps = iter(lines)
        assert next(steps).data == b"ab"
        os.truncate(path, 4)
        assert list(steps) == []
        assert lines.tail == Line(3, 4, b"c")
        bookmark = lines.bookmark
    assert read(path, bookmark)[0] == []


def test_a_second_reading_continues_where_the_first_stopped(tmp_path: Path) -> None:
    with Reading(write(tmp_path / "a", b"1\n2\n3\n")) as lines:
        assert next(iter(lines)).data == b"1"
        assert [line.data for line in lines] == [b"2", b"3"]
        assert lines.bookmark == read(tmp_path / "a")[1]


def test_read_lines_begins_at_the_given_offset(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"ab\ncd\ntail")
    assert list(read_lines(path)) == [Line(0, 3, b"ab"), Line(3, 6, b"cd")]
    assert list(read_lines(path, 3)) == [Line(3, 6, b"cd")]
    assert list(read_lines(path, 100)) == []


def test_a_closed_reading_keeps_its_bookmark(tmp_path: Path) -> None:
    with Reading(write(tmp_path / "a", b"ab\n")) as lines:
        list(lines)
        inside = lines.bookmark
    assert lines.bookmark == inside
    lines.close()


# --- long lines ---


def test_a_line_too_long_for_memory_comes_in_pieces(tmp_path: Path) -> None:
    with constants(PIECE=4, LONGEST_LINE=5), Reading(write(tmp_path / "a", b"12345\n123456\nab\n")) as lines:
        first, long, last = lines
        assert (first.data, last.data) == (b"12345", b"ab")
        assert long == Line(6, 13, None)
        assert list(lines.pieces(long)) == [b"1234", b"56"]
    with constants(PIECE=4, LONGEST_LINE=5):
        assert list(read_lines(tmp_path / "a")) == [first, long, last]


def test_a_tail_too_long_for_memory_can_be_had_and_taken(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"ab\n1234567")
    with constants(PIECE=4, LONGEST_LINE=5):
        with Reading(path) as lines:
            list(lines)
            assert lines.tail == Line(3, 10, None)
            assert b"".join(lines.pieces(lines.tail)) == b"1234567"
            lines.take_tail()
            bookmark = lines.bookmark
        append(path, b"\ncd\n")
        assert read(path, bookmark)[0] == [b"", b"cd"]


@given(data=contents, piece=sizes, more=sizes)
def test_joined_lines_are_the_file_for_any_piece_size(scratch: Path, data: bytes, piece: int, more: int) -> None:
    path = write(scratch / "joined", data)
    longest = piece + more
    with constants(PIECE=piece, LONGEST_LINE=longest), Reading(path) as lines:
        found = list(lines)
        assert [whole(lines, line) for line in found] == complete_lines(data)
        assert [line.data is None for line in found] == [len(line) > longest for line in complete_lines(data)]
        assert b"".join(data[line.start : line.end] for line in found) == data[: data.rfind(b"\n") + 1]
        tail = b"" if lines.tail is None else whole(lines, lines.tail)
        assert tail == data.rpartition(b"\n")[2]
        assert list(read_lines(path)) == found


# --- bookmarks ---


@given(data=contents, piece=sizes, more=sizes, window=sizes)
def test_at_every_line_the_bookmark_covers_the_line_given_last(
    scratch: Path, data: bytes, piece: int, more: int, window: int
) -> None:
    path = write(scratch / "bookmarks", data)
    lines = complete_lines(data)
    with constants(PIECE=piece, LONGEST_LINE=piece + more, WINDOW=window), Reading(path) as first:
        assert read(path, first.bookmark)[0] == lines
        for count, line in enumerate(first, start=1):
            assert first.bookmark.offset == line.end
            with Reading(path, first.bookmark) as second:
                assert second.change in (Change.GROWN, Change.UNCHANGED)
                assert [whole(second, line) for line in second] == lines[count:]
                # However it was reached, a place in a file has one bookmark.
                assert second.bookmark == read(path)[1]


@given(data=contents, cut=st.integers(0, 300), piece=sizes, more=sizes, window=sizes, take=st.booleans())
def test_two_steps_cut_anywhere_read_the_same_as_one(
    scratch: Path, data: bytes, cut: int, piece: int, more: int, window: int, take: bool
) -> None:
    path = write(scratch / "steps", data[:cut])
    with constants(PIECE=piece, LONGEST_LINE=piece + more, WINDOW=window):
        with Reading(path) as first:
            lines = [whole(first, line) for line in first]
            tail = b"" if first.tail is None or not take else whole(first, first.tail)
            if take:
                first.take_tail()
        append(path, data[cut:])
        rest, last = read(path, first.bookmark)
        if tail and rest:
            rest[0] = tail + rest[0]
        assert lines + rest == complete_lines(data)
        if not take:
            assert last == read(path)[1]


def test_a_file_cut_at_every_byte_lacks_only_its_unfinished_line(tmp_path: Path) -> None:
    path = tmp_path / "a"
    lines = complete_lines(TEN_LINES)
    assert len(lines) == 10
    for cut in range(len(TEN_LINES) + 1):
        write(path, TEN_LINES[:cut])
        first, bookmark = read(path)
        assert first == complete_lines(TEN_LINES[:cut])
        assert read(path, bookmark)[0] == []
        append(path, TEN_LINES[cut:])
        assert first + read(path, bookmark)[0] == lines
        path.unlink()


def test_a_bookmark_is_plain_numbers_and_survives_being_kept(tmp_path: Path) -> None:
    bookmark = read(write(tmp_path / "a", b"ab\n"))[1]
    assert Bookmark(*json.loads(json.dumps(bookmark))) == bookmark


# --- what happened to a file ---


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "a.jsonl", b"one\ntwo\nthree\n")


@pytest.fixture
def bookmark(path: Path) -> Bookmark:
    return read(path)[1]


def test_nothing_happened(path: Path, bookmark: Bookmark) -> None:
    check_change(path, bookmark, Change.UNCHANGED, [])


def test_a_file_grew(path: Path, bookmark: Bookmark) -> None:
    append(path, b"four\n")
    check_change(path, bookmark, Change.GROWN, [b"four"])


def test_a_file_was_cut(path: Path, bookmark: Bookmark) -> None:
    os.truncate(path, 8)
    check_change(path, bookmark, Change.TRUNCATED, [b"one", b"two"])


def test_a_file_was_emptied(path: Path, bookmark: Bookmark) -> None:
    os.truncate(path, 0)
    check_change(path, bookmark, Change.TRUNCATED, [])


def test_only_the_tail_was_cut(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"one\nta")
    bookmark = read(path)[1]
    os.truncate(path, 5)
    append(path, b"wo\n")
    check_change(path, bookmark, Change.GROWN, [b"two"])


@pytest.mark.parametrize("data", [b"ONE\ntwo\nthree\n", b"one\ntwo\nTHREE\n", b"one\nTWO\nthree\nfour\n"])
def test_a_file_was_rewritten_in_place(path: Path, bookmark: Bookmark, data: bytes) -> None:
    check_change(write(path, data), bookmark, Change.REWRITTEN, complete_lines(data))


def test_a_file_was_replaced(path: Path, bookmark: Bookmark) -> None:
    write(path.with_name("new"), b"uno\ndue\ntre!!\n").replace(path)
    check_change(path, bookmark, Change.REPLACED, [b"uno", b"due", b"tre!!"])


def test_a_file_was_replaced_by_a_shorter_one(path: Path, bookmark: Bookmark) -> None:
    write(path.with_name("new"), b"one\n").replace(path)
    check_change(path, bookmark, Change.REPLACED, [b"one"])


def test_a_file_replaced_by_an_identical_one_continues(path: Path, bookmark: Bookmark) -> None:
    write(path.with_name("new"), path.read_bytes()).replace(path)
    check_change(path, bookmark, Change.UNCHANGED, [])
    write(path.with_name("new"), path.read_bytes() + b"four\n").replace(path)
    check_change(path, bookmark, Change.GROWN, [b"four"])


@pytest.mark.parametrize("when", [0, 10**18, 4 * 10**18])
def test_a_file_that_was_only_touched_is_unchanged(path: Path, bookmark: Bookmark, when: int) -> None:
    os.utime(path, ns=(when, when))
    check_change(path, bookmark, Change.UNCHANGED, [])


def test_other_content_of_the_same_size_and_time_is_noticed(path: Path, bookmark: Bookmark) -> None:
    write(path, b"ONE\ntwo\nthree\n")
    os.utime(path, ns=(bookmark.modified_ns, bookmark.modified_ns))
    assert path.stat().st_mtime_ns == bookmark.modified_ns
    check_change(path, bookmark, Change.REWRITTEN, [b"ONE", b"two", b"three"])


def test_other_content_between_the_windows_is_noticed_where_nothing_was_appended(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with constants(WINDOW=2, PIECE=3):
        bookmark = read(write(path, b"12\n34\n56\n"))[1]
        write(path, b"12\n!!\n56\n")
        check_change(path, bookmark, Change.REWRITTEN, [b"12", b"!!", b"56"])
        write(tmp_path / "b", b"12\n!!\n56\n78\n").replace(path)
        check_change(path, bookmark, Change.REPLACED, [b"12", b"!!", b"56", b"78"])


@pytest.mark.parametrize("data", [b"!2\n34\n56\n78\n", b"12\n34\n5!\n78\n"])
def test_other_content_in_the_windows_is_noticed_although_lines_were_appended(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a"
    with constants(WINDOW=2):
        bookmark = read(write(path, b"12\n34\n56\n"))[1]
        check_change(write(path, data), bookmark, Change.REWRITTEN, complete_lines(data))


def test_other_content_between_the_windows_is_noticed_although_lines_were_appended(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with constants(WINDOW=2, PIECE=3):
        bookmark = read(write(path, b"12\n34\n56\n"))[1]
        check_change(write(path, b"12\n!!\n56\n78\n"), bookmark, Change.REWRITTEN, [b"12", b"!!", b"56", b"78"])


def test_in_a_long_file_it_is_noticed_once_the_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with constants(WINDOW=2, PIECE=3, CHECKED_AT_ONCE=4, CLOCK_TICK_NS=-(10**18)):
        bookmark = read(write(path, b"12\n34\n56\n"))[1]
        write(path, b"12\n!!\n56\n78\n")
        lines, after = read(path, bookmark)
        assert lines == [b"78"]
        assert after.changed_ns == reading.UNSETTLED, "it would not be looked at again"
        assert read(path, after)[1].changed_ns == reading.UNSETTLED
        with constants(QUIET_NS=0):
            check_change(path, after, Change.REWRITTEN, [b"12", b"!!", b"56", b"78"])


def test_a_long_file_that_only_grew_settles_once_it_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with constants(WINDOW=2, PIECE=3, CHECKED_AT_ONCE=4, CLOCK_TICK_NS=-(10**18)):
        bookmark = read(write(path, b"12\n34\n56\n"))[1]
        append(path, b"78\n")
        lines, after = read(path, bookmark)
        assert (lines, after.changed_ns) == ([b"78"], reading.UNSETTLED)
        with constants(QUIET_NS=0):
            lines, settled = read(path, after)
        assert (lines, settled.changed_ns) == ([], path.stat().st_ctime_ns)


@pytest.mark.parametrize("change", Change)
def test_a_reading_starts_over_where_what_was_read_is_gone(change: Change) -> None:
    assert change.starts_over == (change in ("truncated", "rewritten", "replaced"))


def test_real_sessions_are_read_step_by_step_as_they_grew(corpus: Path, tmp_path: Path) -> None:
    """Some of their steps are not appends."""
    for session in sorted((corpus / "growing").iterdir()):
        path = tmp_path / session.name
        lines: list[bytes] = []
        bookmark = None
        for step in sorted(session.iterdir()):
            write(path, step.read_bytes())
            with Reading(path, bookmark) as reading:
                lines = [] if reading.change.starts_over else lines
                lines += [whole(reading, line) for line in reading]
                bookmark = reading.bookmark
            assert lines == complete_lines(step.read_bytes())


# --- work, counted ---


class CountingReading(Reading):
    """Counts the bytes that it gets from the disk."""

    def __init__(self, path: Path, bookmark: Bookmark | None = None) -> None:
        self.count = 0
        super().__init__(path, bookmark)

    def read(self, start: int, end: int) -> bytes:
        data = super().read(start, end)
        self.count += len(data)
        return data


def bytes_read_after_appending(path: Path, lines_before: int) -> int:
    write(path, b"x" * 99 + b"\n")
    append(path, (b"y" * 99 + b"\n") * (lines_before - 1))
    bookmark = read(path)[1]
    append(path, b'{"a":1}\n')
    with CountingReading(path, bookmark) as lines:
        assert [line.data for line in lines] == [b'{"a":1}']
        return lines.count


def test_after_an_append_that_line_and_a_constant_are_read_however_long_the_file(tmp_path: Path) -> None:
    constant = 4 * reading.WINDOW  # head and edge, once to compare them and once to carry them on
    for lines_before in (1_000, 50_000):
        size = 100 * lines_before
        compared = size if size <= reading.CHECKED_AT_ONCE else 0
        assert bytes_read_after_appending(tmp_path / "a", lines_before) == constant + compared + len(b'{"a":1}\n')


def test_a_file_that_did_not_change_costs_a_constant(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"x" * 99_999 + b"\n")
    with CountingReading(path, read(path)[1]) as lines:
        assert list(lines) == []
        assert lines.count == 4 * reading.WINDOW


def test_a_first_reading_reads_each_byte_once(tmp_path: Path) -> None:
    with CountingReading(write(tmp_path / "a", b"ab\ncd\n" * 1000 + b"tail")) as lines:
        assert len(list(lines)) == 2000
        assert lines.count == 6004
