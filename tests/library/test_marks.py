"""Pins, tags, notes and saved searches are never lost."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import BackscrollError
from backscroll.library.marks import Marks, change_marks, read_marks

NOW = datetime(2026, 1, 5, 10, tzinfo=UTC)
LATER = datetime(2026, 1, 6, 10, tzinfo=UTC)


def test_saved_marks_are_read_back(tmp_path: Path) -> None:
    def change(marks: Marks) -> None:
        marks.pin(["s1"])
        marks.tag(["s1"], ["review", "Größe"])
        marks.note(["s1"], "two\nlines “ok”", NOW)
        marks.searches["broken"] = 'is:error "x y"'

    change_marks(tmp_path / "library", change)
    marks = read_marks(tmp_path / "library")
    assert marks.pinned() == {"s1"}
    assert marks.tagged() == {"review": {"s1"}, "größe": {"s1"}}
    assert [(note.text, note.at) for note in marks.of(["s1"]).notes] == [
        ("two\nlines “ok”", "2026-01-05T10:00:00+00:00")
    ]
    assert marks.searches == {"broken": 'is:error "x y"'}


def test_a_library_without_marks_has_none(tmp_path: Path) -> None:
    assert read_marks(tmp_path) == Marks()
    assert list(tmp_path.iterdir()) == []


def test_other_users_cannot_read_them(tmp_path: Path) -> None:
    change_marks(tmp_path / "library", lambda marks: marks.pin(["s1"]))
    assert (tmp_path / "library" / "marks.json").stat().st_mode & 0o077 == 0


def test_a_chat_with_an_older_session_keeps_its_marks() -> None:
    marks = Marks()
    marks.pin(["s2"])
    marks.tag(["s2"], ["review"])
    assert (marks.of(["s1", "s2"]).pinned, marks.of(["s1", "s2"]).tags) == (True, ["review"])
    assert not marks.pin(["s1", "s2"])
    assert marks.tag(["s1", "s2"], ["REVIEW", "new"]) == ["new"]
    assert list(marks.chats) == ["s2"]


def merged() -> Marks:
    """Two marked chats, which turn out to be one."""
    marks = Marks()
    for session, tag in (("s1", "one"), ("s2", "two")):
        marks.pin([session])
        marks.tag([session], [tag, "both"])
    marks.note(["s2"], "first", NOW)
    marks.note(["s1"], "second", LATER)
    marks.note(["s2"], "second", LATER)
    return marks


def test_two_chats_that_become_one_have_the_marks_of_both() -> None:
    mark = merged().of(["s1", "s2"])
    assert mark.pinned
    assert mark.tags == ["one", "both", "two"]
    assert [note.text for note in mark.notes] == ["first", "second", "second"]


def test_a_removed_mark_is_gone_from_both_sessions() -> None:
    marks, chat = merged(), ["s1", "s2"]
    assert marks.pin(chat, undo=True)
    assert not marks.pin(chat, undo=True)
    assert marks.untag(chat, ["BOTH", "none"]) == ["both"]
    assert marks.untag(chat, ["both"]) == []
    assert (marks.of(chat).pinned, marks.of(chat).tags) == (False, ["one", "two"])


def test_a_note_is_removed_by_its_number_and_no_other() -> None:
    marks, chat = merged(), ["s1", "s2"]
    taken = marks.unnote(chat, 2)
    assert taken is not None
    assert [note.text for note in marks.of(chat).notes] == ["first", "second"]
    assert marks.unnote(chat, 3) is None
    assert marks.unnote(chat, 0) is None


def test_if_they_part_again_each_keeps_its_own() -> None:
    marks = merged()
    assert marks.of(["s1"]).tags == ["one", "both"]
    assert [note.text for note in marks.of(["s2"]).notes] == ["first", "second"]


@given(
    st.dictionaries(st.sampled_from(["s1", "s2", "s3"]), st.lists(st.sampled_from("abAB"), max_size=4)),
    st.lists(st.sampled_from("abAB"), max_size=3),
)
def test_tags_taken_from_a_chat_are_gone_and_the_others_stay(given: dict[str, list[str]], gone: list[str]) -> None:
    marks, chat = Marks(), ["s1", "s2", "s3"]
    for session, tags in given.items():
        marks.tag([session], tags)
    before = {tag.lower() for tag in marks.of(chat).tags}
    marks.untag(chat, gone)
    assert {tag.lower() for tag in marks.of(chat).tags} == before - {tag.lower() for tag in gone}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonsense",
        b'{"chats": {"s1": {"pinned": true}',
        b'{"chats": []}',
        b'{"chats": {"s1": {"tags": 5}}}',
        b"\xff",
    ],
)
def test_a_damaged_file_is_an_error_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "marks.json"
    file.write_bytes(content)
    for attempt in (lambda: read_marks(tmp_path), lambda: change_marks(tmp_path, lambda marks: marks.pin(["s2"]))):
        with pytest.raises(BackscrollError) as caught:
            attempt()
        assert str(file) in caught.value.message
        assert "repair the file" in caught.value.hint
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        '{"chats": {}, "searches": {}, "stars": 5}',
        '{"chats": {"s1": {"pinned": true, "colour": "red"}}}',
        '{"chats": {"s1": {"notes": [{"text": "x", "at": "2026", "by": "ada"}]}}}',
    ],
)
def test_what_a_later_version_wrote_is_read_and_never_overwritten(tmp_path: Path, content: str) -> None:
    file = tmp_path / "marks.json"
    file.write_text(content)
    read_marks(tmp_path)
    with pytest.raises(BackscrollError, match="does not know"):
        change_marks(tmp_path, lambda marks: marks.pin(["s2"]))
    assert file.read_text() == content


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    change_marks(tmp_path, lambda marks: marks.pin(["s1"]))
    before = (tmp_path / "marks.json").read_bytes()

    def fail(marks: Marks) -> None:
        marks.chats.clear()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        change_marks(tmp_path, fail)
    assert (tmp_path / "marks.json").read_bytes() == before


def test_bytes_that_are_no_text_do_not_spoil_the_file(tmp_path: Path) -> None:
    def change(marks: Marks) -> None:
        marks.tag(["s1"], ["caf\udce9"])
        marks.note(["s1"], "\udcff")
        marks.searches["x"] = "caf\udce9"

    change_marks(tmp_path, change)
    assert read_marks(tmp_path).of(["s1"]).tags == ["caf?"]


def test_changes_at_the_same_time_all_count(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from backscroll.library.marks import change_marks\n"
        "for number in range(20):\n"
        "    change_marks(Path(sys.argv[1]), lambda marks: marks.tag(['s1'], [f'{sys.argv[2]}-{number}']))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in "abcd"]
    assert [process.wait(timeout=60) for process in running] == [0] * 4
    expected = {f"{name}-{number}" for name in "abcd" for number in range(20)}
    assert set(read_marks(tmp_path).of(["s1"]).tags) == expected
