"""Intact lines of the catalogue that say what no file can be: one costs its own file at most."""

from pathlib import Path
from typing import Any, Final

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.merge import merge
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import verify
from tests.support.crafted import AT, CraftedArchive
from tests.support.homes import session_path

TEXT: Final = b"their legs are striped\n"
GOOD: Final = session_path("good")
ODD: Final = session_path("odd")
NUMBERS: Final = (2**63 - 1, 2**63, 2**64 - 1, 2**70, 10**30, -1, -(2**63), -(2**70))
NO_NUMBERS: Final[tuple[Any, ...]] = (10**4000, 1.5, 1e300, "1", None, [])
NAMES: Final = ("", ".", "//", "a/../../b", "/etc/passwd", "a\0b", "x\ny", "\x1b]0;x\x07", "a" * 5000)

LINES_OF_FILES: Final = [
    *({"file": number} for number in (*NUMBERS, *NO_NUMBERS)),
    *({name: text} for name in ("machine", "home", "path", "type", "at") for text in NAMES),
    *({name: digits} for name in ("home_hex", "path_hex") for digits in ("zz", "abc", "", "00", "ff")),
]
LINES_OF_BYTES: Final = [
    *({name: value} for name in ("modified_ns", "version", "size", "file") for value in (*NUMBERS, *NO_NUMBERS)),
    *({"bookmark": [value] * 9} for value in (*NUMBERS, *NO_NUMBERS)),
    {"bookmark": [1, 2, 3]},
    *({"at": text} for text in NAMES),
]
MORE_LINES: Final[list[dict[str, Any]]] = [
    {"kind": "gone", "at": "never", "file": 2},
    {"kind": "gone", "at": AT, "file": 2**70},
    {"kind": "suspect", "at": AT, "file": -5},
    *({"kind": "moved", "at": AT, "file": 2, "path": name} for name in NAMES),
    {"kind": "moved", "at": AT, "file": 2, "path": "x", "path_hex": "zz"},
    {"kind": "captured", "at": "never", "machine": "", "home": "a\0b"},
    {"kind": "captured", "at": AT, "machine": "x", "home": "y", "home_hex": "z"},
    *({"kind": "verified", "at": AT, "damaged": number, "quick": False} for number in (*NUMBERS, *NO_NUMBERS)),
    {"kind": "forgotten", "at": AT, "key": "a\0b"},
]


def check(folder: Path, crafted: CraftedArchive) -> Archive:
    """The good file can be read, checked and copied, and the catalogue be written anew; return what it is then."""
    crafted.lay(folder / "archive")
    archive = Archive(folder / "archive")
    check_good(archive)
    damaged = [file.path for damage in verify(archive).damages for file in damage.files]
    assert GOOD not in damaged
    verify(archive, quick=True)
    with Writer(folder / "backup") as backup:
        merge(archive, backup)
    check_good(Archive(folder / "backup"))
    with Writer(folder / "archive") as writer:
        odd = [file for file in writer.files.values() if file.path != GOOD]
        writer.new_file("box", "/home/ada/.claude", "plans/x.md", "plan")
        writer.forget(odd, ["a key"])
    after = Archive(folder / "archive")
    check_good(after)
    assert verify(after).damages == []
    return after


def check_good(archive: Archive) -> None:
    (file,) = [file for file in archive.files.values() if file.path == GOOD]
    assert file.latest is not None
    assert b"".join(archive.content(file.latest)) == TEXT


def with_odd(**what: Any) -> CraftedArchive:  # noqa: ANN401
    crafted = CraftedArchive()
    crafted.keep(GOOD, TEXT)
    crafted.keep(ODD, b"odd\n", **what)
    return crafted


def test_a_line_that_introduces_an_odd_file_costs_that_file(tmp_path: Path) -> None:
    for number, line in enumerate(LINES_OF_FILES):
        check(tmp_path / str(number), with_odd(of=line))


def test_a_line_of_odd_bytes_costs_these_bytes(tmp_path: Path) -> None:
    for number, line in enumerate(LINES_OF_BYTES):
        check(tmp_path / str(number), with_odd(bytes_of=line))


@pytest.mark.parametrize("place", [0, 1, 2, 3, 4])
def test_an_odd_chunk_costs_the_file_that_it_is_part_of(tmp_path: Path, place: int) -> None:
    for number, value in enumerate(("", "zz", "A" * 64) if place == 0 else (*NUMBERS, *NO_NUMBERS)):
        crafted = CraftedArchive()
        crafted.keep(GOOD, TEXT)
        crafted.keep(ODD, b"odd\n")["chunks"][0][place] = value
        check(tmp_path / str(number), crafted)


def test_any_other_odd_line_costs_nothing(tmp_path: Path) -> None:
    for number, line in enumerate(MORE_LINES):
        crafted = with_odd()
        crafted.lines.append(line)
        check(tmp_path / str(number), crafted)


def test_an_odd_header_costs_nothing(tmp_path: Path) -> None:
    for number, value in enumerate((*NUMBERS, *NO_NUMBERS)):
        crafted = with_odd()
        crafted.lines[0]["first_pack"] = value
        check(tmp_path / str(number), crafted)


def test_a_time_that_no_index_can_hold_is_the_nearest_that_one_can(tmp_path: Path) -> None:
    for number, value in enumerate(NUMBERS):
        (file,) = [
            file
            for file in Archive(with_odd(bytes_of={"modified_ns": value}).lay(tmp_path / str(number))).files.values()
            if file.path == ODD
        ]
        assert file.latest is not None
        assert -(2**63) < file.latest.modified_ns < 2**63
        assert (file.latest.modified_ns < 0) == (value < 0)
        assert not file.is_suspect


def test_lines_that_were_left_out_are_reported_with_the_files_they_were_about(tmp_path: Path) -> None:
    damages = verify(Archive(with_odd(bytes_of={"version": 2**40}).lay(tmp_path))).damages
    assert [(damage.what, [file.path for file in damage.files]) for damage in damages] == [
        ("lines of the catalogue with impossible numbers or names are left out: 5", []),
        (f"a line about {ODD} is lost, or it was found damaged before", [ODD]),
    ]
