"""The report of prompts, compared with drawn chats and the chats' own counts."""

from datetime import UTC
from pathlib import Path

from backscroll.library.analytics.prompts import prompts
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import EVERYTHING, session_path

REWOUND = """
a <- - user: please fix the broken parser
b <- a assistant(m1): which one?
c <- b user: [Request interrupted by user]
d <- b user: "please  fix the BROKEN parser"
e <- d assistant(m2): fixed
f <- e user: ok
g <- f assistant(m3): good
h <- g user: ok
i <- h assistant(m4): good
"""


def test_lengths_interruptions_and_rework_are_counted(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(REWOUND))})
    shelf.update()
    with shelf.open() as library:
        found = prompts(library, ReportRequest(zone=UTC)).facts["total"]
    assert (found["prompts"], found["interruptions"], found["characters"]) == (4, 1, 28 + 29 + 2 + 2)
    # A short prompt may come twice.
    assert found["repeated"] == 1
    assert found["rework_share"] == 1 / 4


def test_a_prompt_that_was_taken_back_is_rework(tmp_path: Path) -> None:
    drawing = """
        a <- - user: sketch a logo
        b <- a assistant(m1): sketched
        c <- b user: in red
        d <- c assistant(m2): red
        e <- b user: in blue
        f <- e assistant(m3): blue
        """
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(drawing))})
    shelf.update()
    with shelf.open() as library:
        found = prompts(library, ReportRequest(zone=UTC)).facts["total"]
    assert (found["prompts"], found["abandoned"], found["repeated"]) == (3, 1, 0)


def test_copies_count_once(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({session_path(name): jsonl(draw(REWOUND, session=name)) for name in ("S1", "S2")})
    shelf.update()
    with shelf.open() as library:
        found = prompts(library, ReportRequest(zone=UTC))
    assert (found.facts["total"]["prompts"], found.facts["copies"], found.facts["chats"]) == (4, 5, 1)


def test_every_home_has_as_many_as_its_chats_say(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(EVERYTHING)
    shelf.update()
    with shelf.open() as library:
        report = prompts(library, ReportRequest(zone=UTC))
        told = library.sql("select sum(prompts) from v_chats").rows[0][0]
    assert report.facts["total"]["prompts"] + report.facts["without_time"] == told


def test_the_corpus_has_as_many_as_its_chats_say(corpus_library: Library) -> None:
    report = prompts(corpus_library, ReportRequest(zone=UTC))
    told = corpus_library.sql("select sum(prompts) from v_chats").rows[0][0]
    assert report.facts["total"]["prompts"] + report.facts["without_time"] == told
