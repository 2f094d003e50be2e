"""The page that compares two branches, the banner that says which one is read, and where a change of branch lands."""

from pathlib import Path

import pytest

from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path
from tests.web.shown import Page, Viewer

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
FORKED = f"""
@ session=S1 cwd=/home/ada/shop time=2026-01-05T10:00
a <- - user: Draw a logo
b <- a assistant(m1): Here is a circle.
c <- b user: Make it blue
d <- c assistant(m2): It is blue {HOSTILE}
@ time=2026-01-05T11:00
e <- b user: Make it red {HOSTILE}
f <- e assistant(m3): It is red.
custom-title: The logo
"""
ADDRESS = f"/chats/{session_uuid('S1')}"


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Viewer:
    shelf = Shelf(tmp_path_factory.mktemp("shelf")).write({
        session_path("S1"): jsonl(draw(FORKED)),
        session_path("S2"): jsonl(draw("@ session=S2\nx <- - user: alone\ny <- x assistant: yes")),
    })  # fmt: skip
    shelf.update()
    return Viewer(shelf)


def test_both_branches_are_on_the_page(viewer: Viewer) -> None:
    page = viewer.get(f"{ADDRESS}/compare?left=2&right=1")
    assert "They share 2 messages and part after “Draw a logo”." in page.text
    assert page.text.index("Make it blue") < page.text.index("Make it red", page.text.index("Make it blue"))
    assert "It is red." in page.text
    assert not page.all("img")
    assert [one for one in page.all("script") if not one.get("src", "").startswith("/static/")] == []
    assert page.link("Swap") == "?left=1&right=2"


def test_without_numbers_the_active_branch_is_compared_with_the_next(viewer: Viewer) -> None:
    assert viewer.get(f"{ADDRESS}/compare").link("Swap") == "?left=2&right=1"
    assert viewer.get(f"{ADDRESS}/compare?left=2").link("Swap") == "?left=1&right=2"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{ADDRESS}/compare?left=1&right=3", 404),
        (f"{ADDRESS}/compare?left=2&right=2", 400),
        (f"{ADDRESS}/compare?left=x", 400),
        (f"/chats/{session_uuid('S2')}/compare", 404),
    ],
)
def test_what_cannot_be_compared_is_said(viewer: Viewer, path: str, status: int) -> None:
    viewer.get(path, status)


@pytest.mark.parametrize(("here", "there", "place"), [(1, 2, "?at=c&branch=2#m-c"), (2, 1, "?at=e#m-e")])
def test_a_change_of_branch_lands_where_they_part(viewer: Viewer, here: int, there: int, place: str) -> None:
    answer = viewer.ask("GET", f"{ADDRESS}?branch={there}&from={here}")
    assert (answer.status, answer.headers["location"]) == (302, ADDRESS + place)


def banner(page: Page) -> str:
    start = page.text.index("Branch ")
    return page.text[start : page.text.index("Compare with", start)]


def test_commands_without_an_answer_are_one_line(tmp_path: Path) -> None:
    drawing = """
    @ session=S1 time=2026-01-05T10:00
    a <- - user: Draw a logo
    b <- a assistant(m1): Here is a circle.
    c <- b user: Make it blue
    d <- c assistant(m2): It is blue.
    @ time=2026-01-05T11:00
    e <- b user: <command-name>/compact</command-name>
    f <- e user: <command-name>/compact</command-name>
    g <- f user: Make it red
    h <- g assistant(m3): It is red.
    """
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(drawing))})
    shelf.update()
    page = Viewer(shelf).get(f"{ADDRESS}/compare")
    assert page.text.count("/compact no answer × 2") == 1
    assert page.text.count("Read in the chat") == 2


def test_a_banner_says_which_branch_is_read_and_where_it_left_the_other(viewer: Viewer) -> None:
    second = viewer.get(f"{ADDRESS}?branch=2")
    assert banner(second).startswith("Branch 2 of 2 leaves branch 1 after “Draw a logo”")
    assert second.link("Read branch 1") == f"{ADDRESS}?branch=1&from=2"
    first = viewer.get(ADDRESS)
    assert banner(first).startswith("Branch 1 of 2, the active one · branch 2 leaves after “Draw a logo”")
    assert first.link("Compare with branch 2") == f"{ADDRESS}/compare?left=2&right=1"
    assert "branch-banner" not in viewer.ask("GET", f"/chats/{session_uuid('S2')}").text


def test_the_tree_beside_the_chat_leads_to_the_fork(viewer: Viewer) -> None:
    assert f"{ADDRESS}?branch=2&from=1" in viewer.get(ADDRESS).hrefs()
