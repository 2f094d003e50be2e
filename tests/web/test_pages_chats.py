"""The list of chats: filtered, ordered, by project, page by page."""

from pathlib import Path

import pytest

from backscroll.web.pages import pane
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import session_file
from tests.web.shown import Page, Viewer


def chat(name: str, title: str, cwd: str = "/home/ada/shop", day: int = 5, answers: int = 1) -> dict[str, bytes]:
    """A session of one prompt, which is its title, and so many answers."""
    rows = [f"@ cwd={cwd} time=2026-01-{day:02}T10:00", f"{name}-0 <- - user: {title}"]
    rows += [f"{name}-{number + 1} <- {name}-{number} assistant({name}-m{number}): ok" for number in range(answers)]
    return session_file(name, "\n".join(rows))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path).write({
        **chat("one", "fix the parser", day=5, answers=3),
        **chat("two", "write a post", cwd="/home/ada/blog", day=6, answers=1),
        **chat("three", "a new cart", cwd="/home/ada/shop2", day=7, answers=2),
    })  # fmt: skip
    shelf.update()
    return shelf


@pytest.fixture
def viewer(shelf: Shelf) -> Viewer:
    return Viewer(shelf)


def titles(page: Page) -> list[str]:
    return [link.text for link in page.links if link.href.startswith("/chats/")]


def test_the_one_that_was_last_active_comes_first(viewer: Viewer) -> None:
    assert titles(viewer.get("/chats")) == ["a new cart", "write a post", "fix the parser"]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("oldest", ["fix the parser", "write a post", "a new cart"]),
        ("messages", ["fix the parser", "a new cart", "write a post"]),
        ("title", ["a new cart", "fix the parser", "write a post"]),
        ("cost", ["fix the parser", "a new cart", "write a post"]),
    ],
)
def test_other_orders(viewer: Viewer, sort: str, expected: list[str]) -> None:
    page = viewer.get(f"/chats?sort={sort}")
    assert titles(page) == expected
    assert [values["value"] for values in page.all("option") if "selected" in values] == [sort]


def test_an_order_that_is_not_there_is_said_to_be_none(viewer: Viewer) -> None:
    assert "unknown sort order loudest" in viewer.get("/chats?sort=loudest", 400).text
    assert "cannot group chats by mood" in viewer.get("/chats?by=mood", 400).text
    assert "offset must be a number" in viewer.get("/chats?offset=-1", 400).text


def test_the_filter_takes_the_query_language(viewer: Viewer) -> None:
    assert titles(viewer.get("/chats?q=project:blog")) == ["write a post"]
    assert titles(viewer.get("/chats?q=parser OR post&sort=oldest")) == ["fix the parser", "write a post"]


def test_a_filter_that_is_not_understood_is_shown_with_its_place_and_stays_in_the_box(viewer: Viewer) -> None:
    page = viewer.get("/chats?q=parser proejct:x", 400)
    assert "there is no field proejct: parser proejct:x ^ did you mean project:?" in page.text
    assert any(field.get("value") == "parser proejct:x" for field in page.all("input"))


def test_a_project_is_that_one_and_not_one_with_a_longer_name(viewer: Viewer) -> None:
    viewer.post(f"/chats/{session_uuid('three')}/marks", 204, pin="1")
    assert titles(viewer.get("/chats?project=/home/ada/shop")) == ["fix the parser"]


def test_where_nothing_is_like_that_there_are_ways_on(viewer: Viewer) -> None:
    page = viewer.get("/chats?q=nowhere")
    assert "No chats match" in page.text
    assert page.link("search all messages") == "/search?q=nowhere"
    assert "The list ends before this page" in viewer.get("/chats?offset=50").text


def test_pinned_chats_come_first_and_only_once(viewer: Viewer) -> None:
    viewer.post(f"/chats/{session_uuid('one')}/marks", 204, pin="1")
    page = viewer.get("/chats")
    assert titles(page) == ["fix the parser", "a new cart", "write a post"]
    assert "Pinned" in page.text
    assert "Other chats" in page.text
    viewer.post(f"/chats/{session_uuid('one')}/marks", 204, pin="0")
    assert titles(viewer.get("/chats"))[-1] == "fix the parser"


def test_every_row_can_be_pinned_without_a_script(viewer: Viewer) -> None:
    forms = [form["action"] for form in viewer.get("/chats").all("form") if form.get("method") == "post"]
    assert len(forms) == 3
    viewer.post(forms[-1], 204, pin="1")
    assert titles(viewer.get("/chats"))[0] == "fix the parser"


def test_tags_are_shown_and_lead_to_all_that_have_them(viewer: Viewer) -> None:
    viewer.post(f"/chats/{session_uuid('two')}/marks", 204, tag="to read")
    page = viewer.get("/chats")
    assert page.link("to read") == page.link("#to read") == "/chats?q=tag%3A%22to+read%22"
    assert titles(viewer.get(page.link("to read"))) == ["write a post"]


def test_saved_searches_are_a_click_away(viewer: Viewer) -> None:
    viewer.post("/searches", 303, name="broken", query="is:error since:7d")
    assert viewer.get("/chats").link("broken") == "/search?q=is%3Aerror+since%3A7d"


def test_by_project_each_has_its_own(viewer: Viewer) -> None:
    page = viewer.get("/chats?by=project")
    assert titles(page) == ["a new cart", "write a post", "fix the parser"]
    assert page.link("shop") == "/chats?project=%2Fhome%2Fada%2Fshop"


def test_projects_add_up_their_chats(shelf: Shelf, viewer: Viewer) -> None:
    shelf.write(chat("four", "once more", day=8, answers=4))
    shelf.update()
    page = viewer.get("/projects")
    assert [link.text for link in page.links if link.href.startswith("/chats?project")] == ["shop", "shop2", "blog"]
    assert "/home/ada/shop 2026-01-08 10:00 2 chats 9 messages 2 prompts" in page.text


def test_projects_of_the_same_name_are_distinguished(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({**chat("a", "x", cwd="/home/ada/cli"), **chat("b", "y", cwd="/home/bob/cli", day=6)})
    shelf.update()
    names = [link.text for link in Viewer(shelf).get("/projects").links if link.href.startswith("/chats?project")]
    assert names == ["bob/cli", "ada/cli"]


def test_long_lists_come_in_pages(tmp_path: Path) -> None:
    files: dict[str, bytes] = {}
    for number in range(53):
        files |= chat(f"n{number}", f"number {number}", day=1 + number // 2)
    shelf = Shelf(tmp_path).write(files)
    shelf.update()
    viewer = Viewer(shelf)
    for sort in ("", "sort=messages&"):
        first = viewer.get(f"/chats?{sort}")
        assert len(titles(first)) == 50
        rest = viewer.get(first.link("Next"))
        assert sorted(titles(first) + titles(rest)) == sorted(f"number {number}" for number in range(53))
        assert len(titles(viewer.get(rest.link("Previous")))) == 50


def test_the_palette_offers_recent_chats_and_those_similar_to_the_input(viewer: Viewer) -> None:
    assert len(titles(viewer.get("/palette"))) == 3
    page = viewer.get("/palette?q=parser")
    assert [link.href for link in page.links][-1] == "/search?q=parser"
    assert len(titles(page)) == 1
    assert [link.href for link in viewer.get("/palette?q=project:").links] == ["/search?q=project%3A"]


def test_the_list_beside_a_chat_goes_on_where_it_ends(
    shelf: Shelf, viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.rest()  # none of them is live
    monkeypatch.setattr(pane, "ROWS", 2)
    first = viewer.get("/pane")
    assert [link.href.rpartition("/")[2] for link in first.links[:2]] == [session_uuid("three"), session_uuid("two")]
    rest = viewer.get(first.link("Older chats"))
    assert [link.text for link in rest.links][:1] == ["Newer chats"]
    assert [link.href.rpartition("/")[2] for link in rest.links[1:]] == [session_uuid("one")]
    monkeypatch.setattr(pane, "ROWS", 3)
    assert len(viewer.get("/pane").links) == 3


def test_the_id_of_a_session_opens_its_branch(tmp_path: Path) -> None:
    start = "begin <- - user: paint it\nred <- begin assistant(r1): in red\n"
    shelf = Shelf(tmp_path).write(session_file("first", f"{start}bright <- red user: bright"))
    for day, name in enumerate(("dark", "light"), start=6):
        later = f"@ time=2026-01-0{day}T10:00:00.000Z\n{name} <- red user: {name}"
        shelf.write(session_file(name, start + later))
    shelf.update()
    viewer, first = Viewer(shelf), session_uuid("first")
    found = viewer.ask("GET", f"/chats/{session_uuid('dark')}")
    assert (found.status, found.headers["location"]) == (302, f"/chats/{first}?branch=2")
    assert "Branch 1 of 3" in viewer.get(f"/chats/{session_uuid('light')}").text
    assert "Branch 1 of 3" in viewer.get(f"/chats/{first}").text
    assert "Branch 3 of 3" in viewer.get(f"/chats/{session_uuid('dark')}?branch=3").text
