"""What the pages of the server say to someone who sees them for the first time."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from tests.support.postgres import fresh_database
from tests.team.demo_served import FLAKY, DemoServed
from tests.team.served import PASSWORD, Browser, Served, serving


def text_of(page: str) -> str:
    """The words of a page, as a reader sees them."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", page.partition("<main")[2])))


@pytest.fixture
def empty(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[tuple[Served, Browser]]:
    """A server on its first day, and the browser of its first administrator."""
    with fresh_database(postgres) as url, serving(url, tmp_path / "server") as served:
        browser = served.browser()
        assert served.first_link
        browser.submit("/welcome", link=served.first_link.partition("link=")[2], password=PASSWORD)
        yield served, browser


def test_without_chats_pages_say_how_to_send_some(empty: tuple[Served, Browser]) -> None:
    _, browser = empty
    for path in ("/chats", "/search?q=x", "/files", "/stats/overview"):
        told = text_of(browser.get(path).text)
        assert "Connect a machine on" in told or "The server is indexing" in told, path
        assert "backscroll demo" not in told
        assert "this machine only" not in told


def test_people_have_a_status(empty: tuple[Served, Browser]) -> None:
    served, browser = empty
    told = browser.submit("/people", handle="ada", name="Ada", role="member").text
    link = re.search(r"link=(bsi_[\w-]+)", told)
    assert link
    assert "invited, not joined yet" in text_of(told)
    served.browser().submit("/welcome", link=link[1], password=PASSWORD)
    assert "invited, not joined yet" not in text_of(browser.get("/people").text)
    browser.submit("/people/ada/disable", undo="")
    told = text_of(browser.get("/people").text)
    assert re.search(r"Ada .* Save disabled New link Enable", told), told


def test_an_approved_machine_is_not_said_to_be_missing(empty: tuple[Served, Browser]) -> None:
    _, browser = empty
    assert "No machine is connected yet" in browser.get("/devices").text
    told = browser.get("/devices?connected=1").text
    assert "You approved the machine" in told
    assert "No machine is connected yet" not in told


def test_a_refused_form_leads_back(empty: tuple[Served, Browser]) -> None:
    served, browser = empty
    fields = {"handle": "admin", "name": "x", "role": "member"}
    from_here = {"origin": served.url, "sec-fetch-site": "same-origin"}
    answer = browser.post("/people", data=fields, headers={**from_here, "referer": f"{served.url}/people"})
    assert answer.status_code == 400
    assert 'href="/people"' in answer.text.partition("Go back")[0].rpartition("<a")[2]
    assert "Go back" not in browser.post("/people", data=fields, headers=from_here).text


def test_a_stranger_is_told_what_is_wrong_and_shown_no_pages(empty: tuple[Served, Browser]) -> None:
    served, _ = empty
    answer = served.browser().get("/welcome?link=bsi_used")
    assert answer.status_code == 404
    told = text_of(answer.text)
    assert "has been used already" in told or "has expired" in told
    assert told.rstrip().endswith("Sign in")
    assert "Show all chats" not in told


def test_readers_see_titles_and_strangers_a_reason(demo: DemoServed) -> None:
    ada, ben = demo.browser("ada"), demo.browser("ben")
    chat = demo.chat("ada", FLAKY)
    assert ben.get(f"/chats/{chat}").status_code == 200
    assert "The flaky order test" in text_of(ada.get("/readers").text)
    told = text_of(ben.get("/chats/deadbeef").text)
    assert "perhaps the chat is not shared with you" in told
    assert "backscroll list" not in told


def test_an_owner_finds_the_way_from_the_file_to_sharing(demo: DemoServed) -> None:
    chat = demo.chat("ada", FLAKY)
    assert f"/chats/{chat}/audience" in demo.browser("ada").get(f"/chats/{chat}/share").text
    assert "/audience" not in demo.browser("ben").get(f"/chats/{chat}/share").text


def test_the_audit_log_names_teams(demo: DemoServed) -> None:
    ada, page = demo.browser("ada"), "/audit"
    shown = ""
    while page:  # other tests of this process have added to it
        html = ada.get(page).text
        shown += text_of(html)
        older = re.search(r'href="(/audit\?before=\d+)"', html)
        page = older[1] if older else ""
    assert "prompt.share flaky team Shop" in shown


def test_a_disabled_person_is_told_so_with_the_right_password_only(empty: tuple[Served, Browser]) -> None:
    served, browser = empty
    link = re.search(r"link=(bsi_[\w-]+)", browser.submit("/people", handle="ada", name="Ada", role="member").text)
    assert link
    served.browser().submit("/welcome", link=link[1], password=PASSWORD)
    browser.submit("/teams", name="Zoo")
    browser.submit("/teams/1", member="ada")
    browser.submit("/people/ada/disable", undo="")
    assert "Your account is disabled" in served.browser().submit("/sign-in", handle="ada", password=PASSWORD).text
    wrong = served.browser().submit("/sign-in", handle="ada", password="some other password").text
    assert "The handle or the password is wrong" in wrong
    assert re.search('value="ada" checked', browser.get("/people").text), "who is disabled stays in the team"
