"""Errors by their pattern, and whether the next try went well."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backscroll.library.analytics.errors import WITHIN, errors
from backscroll.library.analytics.reports import Report, ReportRequest
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_file, session_path

SHOP = """
a <- - user: fix the parser
b <- a call(m1) t1 Edit {"file_path": "/shop/x.py", "old_string": "a", "new_string": "b"}
c <- b error t1: <tool_use_error>String to replace not found in file.</tool_use_error>
d <- c call(m2) t2 Edit {"file_path": "/shop/y.py", "old_string": "a", "new_string": "b"}
e <- d result t2: fine
f <- e call(m3) t3 Edit {"file_path": "/shop/x.py", "old_string": "c", "new_string": "b"}
g <- f error t3: <tool_use_error>String to replace not found in file.</tool_use_error>
h <- g call(m4) t4 Edit {"file_path": "/shop/x.py", "old_string": "d", "new_string": "b"}
i <- h result t4: fine
j <- i call(m5) t5 Bash {"command": "cd /shop && npm run lint"}
k <- j error t5: "Exit code 1\\nerror: 3 problems in x.py"
l <- k call(m6) t6 Bash {"command": "npm run test"}
m <- l result t6: fine
n <- m call(m7) t7 Bash {"command": "npm run lint -- --fix"}
o <- n result t7: fine
p <- o call(m8) t8 Bash {"command": "rm x"}
q <- p error t8: The user doesn't want to proceed with this tool use
"""


def report(
    shelf: Shelf, asked: ReportRequest | None = None, limit: int | None = None, tool: str | None = None
) -> Report:
    shelf.update()
    with shelf.open() as library:
        return errors(library, asked or ReportRequest(), limit, tool)


def by_signature(found: Report) -> dict[str, dict[str, Any]]:
    return {row["signature"]: row for row in found.as_dicts()}


def test_errors_are_grouped_and_the_latest_is_the_example(tmp_path: Path) -> None:
    found = report(Shelf(tmp_path).write(session_file("S1", SHOP)))
    edit = by_signature(found)["String to replace not found in file."]
    assert (edit["tool"], edit["count"], edit["chats"]) == ("Edit", 2, 1)
    assert (edit["first"], edit["last"]) == ("2026-01-05T10:00:01.000Z", "2026-01-05T10:00:05.000Z")
    assert (edit["example_chat"], edit["example_message"]) == (session_uuid("S1"), "g")
    assert edit["example"] == "<tool_use_error>String to replace not found in file.</tool_use_error>"
    assert (found.facts["counted"], found.facts["patterns"], found.facts["denied"]) == (3, 2, 1)


def test_only_the_next_try_of_the_same_thing_solves(tmp_path: Path) -> None:
    """The first edit of x.py is followed by one of another file, and by one of x.py that fails too."""
    found = by_signature(report(Shelf(tmp_path).write(session_file("S1", SHOP))))
    edit, lint = found["String to replace not found in file."], found["error: <n> problems in x.py"]
    assert (edit["retried"], edit["solved"], edit["solved_share"]) == (2, 1, 0.5)
    assert (lint["retried"], lint["solved"]) == (1, 1)


def solved(root: Path, between: int, command: str) -> int:
    """Whether a failed `make` is solved by a command after some other calls."""
    lines = ["a <- - user: go", 'b <- a call(m) t Bash {"command": "make"}', "c <- b error t: error: no"]
    for number in range(between):
        lines.append(f'd{number} <- c call(n{number}) u{number} Grep {{"pattern": "x"}}')
        lines.append(f"e{number} <- c result u{number}: x")
    lines += [f'y <- c call(o) v Bash {{"command": "{command}"}}', "z <- y result v: fine"]
    shelf = Shelf(root / f"{between} {command}").write(session_file("S1", "\n".join(lines)))
    return int(by_signature(report(shelf))["error: no"]["solved"])


def test_a_try_that_comes_too_late_or_does_something_else_does_not_solve(tmp_path: Path) -> None:
    assert solved(tmp_path, WITHIN - 1, "make -j4") == 1
    assert solved(tmp_path, WITHIN, "make -j4") == 0
    assert solved(tmp_path, 0, "make all") == 0


def test_copies_in_a_resumed_session_count_once(tmp_path: Path) -> None:
    copies = draw(SHOP, session="S2", time="2026-01-06T10:00:00.000Z")
    shelf = Shelf(tmp_path).write(session_file("S1", SHOP) | {session_path("S2"): jsonl(copies)})
    found = report(shelf)
    assert (found.facts["counted"], found.facts["copies"]) == (3, 3)
    assert by_signature(found)["String to replace not found in file."]["solved"] == 1


def test_a_try_after_the_time_that_is_asked_about_still_solves(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", SHOP))
    found = report(shelf, ReportRequest(until=datetime(2026, 1, 5, 10, 0, 6, tzinfo=UTC)))
    assert (found.facts["counted"], found.rows[0][7]) == (2, 1)


def test_a_limit_and_a_tool(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", SHOP))
    found = report(shelf, limit=1)
    assert (len(found.rows), found.facts["patterns"]) == (1, 2)
    assert [row[1] for row in report(shelf, tool="Bash").rows] == ["Bash"]
