"""Which tools follow one another, and calls that fail again and again."""

from pathlib import Path

from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.sequences import loops, sequences
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_file, session_path

STEPS = """
a <- - user: fix the parser
b <- a call(m1) t1 Read {"file_path": "x"}
c <- b result t1: x
d <- c call(m2) t2 Read {"file_path": "y"}
e <- d result t2: y
f <- e call(m3) t3 Edit {"file_path": "y"}
g <- f result t3: y
h <- g user: and the tests
i <- h call(m4) t4 Bash {"command": "make"}
j <- i result t4: y
"""
LOOP = """
a <- - user: fix the parser
b <- a call(m1) t1 Bash {"command": "make"}
c <- b error t1: "error: no rule 1"
d <- c call(m2) t2 Bash {"command": "make"}
e <- d error t2: "error: no rule 2"
f <- e user: again
g <- f call(m3) t3 Bash {"command": "make"}
h <- g error t3: The user doesn't want to proceed with this tool use
i <- h call(m4) t4 Bash {"command": "make all"}
j <- i error t4: "error: no rule 3"
k <- j call(m5) t5 Bash {"command": "make all"}
l <- k error t5: "error: no rule 4"
m <- l call(m6) t6 Read {"file_path": "x"}
n <- m result t6: x
o <- n call(m7) t7 Bash {"command": "make all"}
p <- o error t7: "error: no rule 5"
"""


def found(shelf: Shelf, lengths: tuple[int, int] = (2, 4), *, fold: bool = False) -> dict[str, int]:
    shelf.update()
    with shelf.open() as library:
        report = sequences(library, ReportRequest(), lengths, fold=fold)
        return {row["sequence"]: row["count"] for row in report.as_dicts()}


def test_sequences_end_with_their_turn(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", STEPS))
    assert found(shelf) == {"Read → Read": 1, "Read → Edit": 1, "Read → Read → Edit": 1}
    assert found(shelf, (3, 3)) == {"Read → Read → Edit": 1}


def test_a_tool_several_times_in_a_row_may_be_taken_as_one(tmp_path: Path) -> None:
    assert found(Shelf(tmp_path).write(session_file("S1", STEPS)), fold=True) == {"Read → Edit": 1}


def test_copies_and_other_sessions_make_no_sequences(tmp_path: Path) -> None:
    copies = draw(STEPS, session="S2", time="2026-01-06T10:00:00.000Z")
    other = draw('z <- - user: go\ny <- z call(n1) u1 Grep {"pattern": "x"}', session="S3")
    files = session_file("S1", STEPS) | {session_path("S2"): jsonl(copies), session_path("S3"): jsonl(other)}
    assert found(Shelf(tmp_path).write(files)) == {"Read → Read": 1, "Read → Edit": 1, "Read → Read → Edit": 1}


def test_the_same_call_that_fails_three_times_in_a_row_is_a_loop(tmp_path: Path) -> None:
    """Across turns, denied or not; but not where another call stands between, or with another input."""
    shelf = Shelf(tmp_path).write(session_file("S1", LOOP))
    shelf.update()
    with shelf.open() as library:
        report = loops(library, ReportRequest())
        assert sequences(library, ReportRequest()).facts["loops"] == 1
    (row,) = report.as_dicts()
    assert (row["tool"], row["count"], row["chat"], row["message"]) == ("Bash", 3, session_uuid("S1"), "b")
    assert (row["first"], row["last"]) == ("2026-01-05T10:00:01.000Z", "2026-01-05T10:00:06.000Z")
    assert row["signature"] == "error: no rule <n>"


def test_the_same_call_in_two_chats_is_no_loop(tmp_path: Path) -> None:
    files: dict[str, bytes] = {}
    for name in ("S1", "S2", "S3"):
        drawing = f'{name}a <- - user: go {name}\n{name}b <- {name}a call(m{name}) t{name} Bash {{"command": "make"}}\n'
        files |= session_file(name, drawing + f"{name}c <- {name}b error t{name}: error: no")
    shelf = Shelf(tmp_path).write(files)
    shelf.update()
    with shelf.open() as library:
        assert loops(library, ReportRequest()).rows == []
