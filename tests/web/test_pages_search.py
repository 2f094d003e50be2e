"""What a search shows, and how it leads on."""

import json
from pathlib import Path

import pytest

from backscroll.query.fields import FIELDS
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import FAMILIES, session_file
from tests.web.shown import Viewer

SHOP = """
@ cwd=/home/ada/shop model=claude-opus-4-1-20250805 time=2026-01-05T10:00
sh-a <- - user: the parser loses a comma
sh-b <- sh-a call(sh-m1) sh-t1 Bash {"command": "grep comma parser.py"}
sh-c <- sh-b error sh-t1: no comma here
sh-d <- sh-c assistant(sh-m2): the comma is back
custom-title: Commas
"""
BLOG = """
@ cwd=/home/ada/blog time=2026-01-06T10:00
bl-a <- - user: a comma too many
bl-b <- bl-a assistant(bl-m1): it is gone
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    shelf.write({**session_file("shop", SHOP), **session_file("blog", BLOG), **FAMILIES["2.1.2 session folders"]})
    shelf.update()
    return shelf


@pytest.fixture
def viewer(shelf: Shelf) -> Viewer:
    return Viewer(shelf)


def test_passages_are_grouped_by_chat_and_link_to_their_messages(viewer: Viewer) -> None:
    page = viewer.get("/search?q=comma")
    shop, blog = session_uuid("shop"), session_uuid("blog")
    assert set(page.hrefs("/chats/")) >= {
        f"/chats/{shop}",
        f"/chats/{shop}?at=sh-d&find=comma#m-sh-d",
        f"/chats/{blog}?at=bl-a&find=comma#m-bl-a",
    }
    assert "6 passages in 2 chats" in page.text
    assert len(page.all("mark")) >= 4


def test_a_passage_leads_to_a_page_that_finds_the_others_and_knows_what_to_mark(viewer: Viewer) -> None:
    shop = session_uuid("shop")
    found = json.loads(viewer.ask("GET", f"/chats/{shop}/find?q=%2Bcommma project:shop").text)
    assert found["total"] == len(found["matches"]) >= 2
    assert found["texts"] == ["commma", "comma"]


def test_the_part_the_tool_and_failures_are_said(viewer: Viewer) -> None:
    text = viewer.get("/search?q=comma tool:Bash").text
    assert "Bash output failed 2026-01-05 10:00 no comma here" in text
    assert "Bash input 2026-01-05 10:00" in text


def test_what_an_agent_said_is_on_its_own_page(viewer: Viewer) -> None:
    hrefs = viewer.get('/search?q="look deeper" is:agent').hrefs(f"/chats/{session_uuid('folder')}/agents/")
    assert f"/chats/{session_uuid('folder')}/agents/f01bbbb#m-fo-y1" in hrefs


def test_a_match_in_the_title_is_marked_in_the_title(viewer: Viewer) -> None:
    page = viewer.get("/search?q=Commas role:title")
    assert "1 passage in 1 chat" in page.text
    assert len(page.all("mark")) == 1
    assert page.hrefs("/chats/") == [f"/chats/{session_uuid('shop')}"]


def test_a_corrected_word_is_marked_in_the_title(viewer: Viewer) -> None:
    assert len(viewer.get("/search?q=Commass role:title").all("mark")) == 1


def test_facets_narrow_the_search(viewer: Viewer) -> None:
    page = viewer.get("/search?q=comma")
    assert "Project shop 4 blog 2" in page.text
    assert "Counts cover all matches." in page.text
    narrowed = viewer.get(page.link("blog"))
    assert "2 passages in 1 chat" in narrowed.text
    assert page.link("Bash") == "/search?q=tool%3A%3DBash+comma"  # and nothing like BashOutput, which is not counted
    assert "2 passages in 1 chat" in viewer.get(page.link("Bash")).text
    assert "2 passages in 2 chats" in viewer.get(page.link("prompt")).text


def test_a_field_can_be_left_out_again(viewer: Viewer) -> None:
    page = viewer.get("/search?q=project:blog comma -tool:Bash")
    assert page.link("project:blog ✕") == "/search?q=comma+-tool%3ABash"
    assert page.link("-tool:Bash ✕") == "/search?q=project%3Ablog+comma"


def test_facets_stay_true_for_alternatives(viewer: Viewer) -> None:
    page = viewer.get("/search?q=comma OR gone")
    assert "3 passages in 1 chat" in viewer.get(page.link("blog")).text


def test_more_of_a_chat_is_one_click_away(viewer: Viewer) -> None:
    page = viewer.get("/search?q=comma")
    more = next(link for link in page.links if link.text.endswith("more in this chat"))
    assert len(viewer.get(more.href).hrefs(f"/chats/{session_uuid('shop')}?at=")) == 4


def test_orders(viewer: Viewer) -> None:
    for sort, first in (("newest", "blog"), ("oldest", "shop")):
        assert viewer.get(f"/search?q=comma&sort={sort}").hrefs("/chats/")[0] == f"/chats/{session_uuid(first)}"
    assert "unknown sort order loudest" in viewer.get("/search?q=a&sort=loudest", 400).text


def test_an_unknown_word_is_corrected(viewer: Viewer) -> None:
    page = viewer.get("/search?q=coma role:prompt")
    assert 'Searching also for comma; to search only for coma, write "coma"' in page.text
    assert "2 passages in 2 chats" in page.text
    assert "Did you mean" in viewer.get('/search?q="coma" role:prompt').text


def test_a_query_that_is_not_understood_is_shown_with_its_place(viewer: Viewer) -> None:
    page = viewer.get('/search?q=comma "open', 400)
    assert "^" in page.text
    assert any(field.get("value") == 'comma "open' for field in page.all("input"))


def test_a_regular_expression_may_be_looked_for(viewer: Viewer) -> None:
    assert len(viewer.get("/search?q=/com%2Ba t/").hrefs(f"/chats/{session_uuid('blog')}?at=")) == 1


def test_without_a_query_it_says_how_to_ask(viewer: Viewer) -> None:
    page = viewer.get("/search")
    for info in FIELDS:
        assert info.example in page.text
        assert info.help in page.text
    for href in page.hrefs("/search?q="):
        viewer.get(href)


def test_many_chats_come_in_pages(tmp_path: Path) -> None:
    files: dict[str, bytes] = {}
    for number in range(23):
        files |= session_file(f"n{number}", f"n{number} <- - user: a comma, for the {number}th time")
    shelf = Shelf(tmp_path).write(files)
    shelf.update()
    viewer = Viewer(shelf)
    first = viewer.get("/search?q=comma")
    rest = viewer.get(first.link("Next"))
    chats = [{href for href in page.hrefs("/chats/") if "?" not in href} for page in (first, rest)]
    assert [len(found) for found in chats] == [20, 3]
    assert not chats[0] & chats[1]
    assert viewer.get("/search?q=comma&page=9").link("Go to the first page") == "/search?q=comma"


def test_a_search_is_saved_and_forgotten(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("blog", BLOG))
    shelf.update()
    viewer = Viewer(shelf)
    back = viewer.post("/searches", 303, name="  my <commas> ", query="comma role:prompt")
    page = viewer.get(back)
    assert "Saved as my <commas>" in page.text
    assert viewer.get("/search").link("my <commas>") == viewer.get("/").link("my <commas>") == back
    viewer.post("/searches", 303, name="my <commas>", query="comma role:prompt", forget="1")
    assert "my <commas>" not in viewer.get("/search").text


def test_a_search_without_a_name_or_a_sense_is_not_saved(viewer: Viewer) -> None:
    viewer.post("/searches", 400, name=" ", query="comma")
    viewer.post("/searches", 400, name="odd", query='"open')
    assert "Saved searches" not in viewer.get("/search").text


def test_what_cannot_be_found_yet_is_said(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("blog", BLOG))
    with shelf.open() as library:
        library.refresh(with_text=False)
    assert "not indexed yet" in Viewer(shelf).get("/search?q=comma").text
