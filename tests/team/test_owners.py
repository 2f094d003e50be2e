"""Whose chats a list and a search show: one's own, those of one's teams, and everyone's that one may read."""

import re

import pytest

from tests.team.demo_served import CSV, DOCKER, FLAKY, LEDGER, TRAILS, DemoServed
from tests.team.served import Browser

OTHERS = {"ada": {CSV, DOCKER, LEDGER, TRAILS}, "ben": {FLAKY, DOCKER, "0a3f6266"}, "liz": {FLAKY, LEDGER}}
"""What others share with a person."""


def _listed(browser: Browser, query: str) -> set[str]:
    answer = browser.get("/api/v1/chats", params={"q": query, "limit": 200}).json()
    return {chat["id"][:8] for chat in answer["chats"]}


@pytest.mark.parametrize("handle", OTHERS)
def test_a_list_shows_whose_chats_were_asked_for(demo: DemoServed, handle: str) -> None:
    browser = demo.browser(handle)
    own = _listed(browser, "")
    assert _listed(browser, "owner:me") == own
    assert own.isdisjoint(OTHERS[handle])
    assert _listed(browser, "owner:org") == own | OTHERS[handle]
    assert _listed(browser, f"owner:{handle}") == own
    assert _listed(browser, f"owner:org -owner:{handle}") == OTHERS[handle]
    assert _listed(browser, "-owner:me") == OTHERS[handle]
    assert _listed(browser, "owner:nobody") == set()


def test_a_team_is_its_members_and_oneself(demo: DemoServed) -> None:
    ada, ben, liz = (demo.browser(handle) for handle in OTHERS)
    assert _listed(ben, "owner:team") == _listed(ben, "") | {FLAKY, "0a3f6266"}
    assert _listed(liz, "owner:team") == _listed(liz, "") | {FLAKY}
    assert _listed(ada, "owner:team") == _listed(ada, "owner:org")
    assert _listed(ben, "owner:ada") == {FLAKY, "0a3f6266"}
    assert _listed(ben, "-owner:team") == _listed(ben, "owner:org") - _listed(ben, "owner:team")
    assert _listed(ben, "(owner:me OR owner:ada)") == _listed(ben, "") | {FLAKY, "0a3f6266"}
    found = ben.get("/api/v1/search?q=Dockerfile+-owner:me").json()
    assert found["chats"]
    assert "ben" not in {chat["owner"] for chat in found["chats"]}


@pytest.mark.parametrize("sort", ["newest", "oldest"])
def test_pages_of_a_list_of_everyone_are_one_list(demo: DemoServed, sort: str) -> None:
    browser = demo.browser("ada")
    fields = {"q": "owner:org", "sort": sort}
    whole = browser.get("/api/v1/chats", params={**fields, "limit": 200}).json()["chats"]
    pages = [
        browser.get("/api/v1/chats", params={**fields, "limit": 3, "offset": offset}).json()["chats"]
        for offset in range(0, len(whole), 3)
    ]
    assert [chat["id"] for page in pages for chat in page] == [chat["id"] for chat in whole]
    assert len({chat["id"] for chat in whole}) == len(whole)


KEYS = {"newest": "last_active", "oldest": "started", "title": "title", "messages": "messages",
        "cost": "cost_microdollars"}  # fmt: skip


@pytest.mark.parametrize("sort", KEYS)
def test_a_list_of_everyone_has_one_order(demo: DemoServed, sort: str) -> None:
    browser = demo.browser("ada")
    chats = browser.get("/api/v1/chats?q=owner:org&limit=200").json()["chats"]
    known = {chat["id"]: chat[KEYS[sort]] for chat in chats}
    shown = re.findall('<tr data-chat="([^"]+)"', browser.get(f"/chats?q=owner:org&sort={sort}").text)
    assert sorted(shown) == sorted(known)
    values = [known[chat].lower() if sort == "title" else known[chat] or 0 for chat in shown]
    assert values == sorted(values, reverse=sort in ("newest", "messages", "cost"))


def test_a_search_finds_what_colleagues_share_and_nothing_else_of_theirs(demo: DemoServed) -> None:
    ben = demo.browser("ben")
    found = ben.get("/api/v1/search", params={"q": "flaky"}).json()
    assert {(chat["id"][:8], chat["owner"]) for chat in found["chats"]} >= {(FLAKY, "ada")}
    assert FLAKY not in {chat["id"][:8] for chat in ben.get("/api/v1/search?q=owner:me+flaky").json()["chats"]}
    liz = demo.browser("liz")
    everything = liz.get("/api/v1/search", params={"q": "shop OR the OR a", "limit": 100}).json()
    allowed = _listed(liz, "owner:org")
    assert {chat["id"][:8] for chat in everything["chats"]} <= allowed
    assert everything["total_chats"] == len(everything["chats"])
    assert CSV not in allowed


def test_pages_of_results_of_everyone_are_one_list(demo: DemoServed) -> None:
    browser = demo.browser("ada")
    for sort in ("relevance", "newest", "oldest"):
        fields = {"q": "shop", "sort": sort}
        whole = browser.get("/api/v1/search", params={**fields, "limit": 100}).json()
        parts = [
            browser.get("/api/v1/search", params={**fields, "limit": 2, "offset": offset}).json()["chats"]
            for offset in range(0, whole["total_chats"], 2)
        ]
        assert [chat["id"] for page in parts for chat in page] == [chat["id"] for chat in whole["chats"]]
        assert whole["cursor"] is None


def test_the_facets_count_what_was_found(demo: DemoServed) -> None:
    page = demo.browser("ada").get("/search", params={"q": "shop"}).text
    told = re.search(r"([\d,]+) passages in (\d+) chats", page)
    assert told
    machines = re.findall(r'title="(?:ada|ben|liz)/\w+">[^<]*</a> <span class="count">([\d,]+)', page)
    assert sum(int(count.replace(",", "")) for count in machines) == int(told[1].replace(",", ""))


def test_every_chat_names_its_owner(demo: DemoServed) -> None:
    ada = demo.browser("ada")
    page = ada.get("/chats?q=owner:org").text
    assert all(f">{name}</a>" in page for name in ("You", "ben", "liz"))
    assert 'aria-current="true">Everyone' in page
    assert 'aria-current="true">Mine' in ada.get("/chats").text
    assert ">liz</a>" in ada.get("/search?q=Dockerfile").text
    assert ">You</span>" in ada.get(f"/chats/{demo.chat('ada', FLAKY)}").text
    theirs = ada.get(f"/chats/{demo.chat('liz', DOCKER)}").text
    assert "shared by liz" in theirs
    assert ">liz</h3>" in theirs or ">liz</span>" in theirs
    assert ">You<" not in theirs.partition("<main")[2].partition("pane-rows")[0]
    listed = ada.get("/api/v1/chats?q=owner:org&limit=200").json()["chats"]
    assert {chat["owner"] for chat in listed} == {"ada", "ben", "liz"}


def test_what_is_revoked_is_gone_from_lists_and_searches_at_once(demo: DemoServed) -> None:
    liz, ben = demo.browser("liz"), demo.browser("ben")
    chat = demo.chat("liz", DOCKER)
    assert DOCKER in _listed(ben, "owner:org")
    number = liz.get(f"/chats/{chat}/audience").text.partition("/shares/")[2].partition("/")[0]
    liz.submit(f"/shares/{number}/revoke")
    assert DOCKER not in _listed(ben, "owner:org")
    assert DOCKER not in {one["id"][:8] for one in ben.get("/api/v1/search?q=Dockerfile").json()["chats"]}
    assert "A Dockerfile for the shop" not in ben.get("/palette?q=Dockerfile").text
    liz.submit(f"/chats/{chat}/audience", audience="org")
    assert DOCKER in _listed(ben, "owner:org")


def test_sharing_with_the_same_people_again_changes_until_when(demo: DemoServed) -> None:
    liz, ben = demo.browser("liz"), demo.browser("ben")
    chat = demo.chat("liz", DOCKER)

    def shares(days: str) -> list[tuple[str, str]]:
        page = liz.submit(f"/chats/{chat}/audience", audience="org", days=days).text
        return re.findall(r'<td data-label="Until">(.*?)</td>.*?/shares/(\d+)/', page)

    ((without_end, number),) = shares("")
    assert "no end" in without_end
    ((until_then, same),) = shares("30")
    assert "<time" in until_then
    assert same == number
    assert ben.get("/shared").text.count(f'href="/chats/{chat}"') == 1
    assert [found for found, _ in shares("")] == [without_end]
    for days in ("-1", "1.5", "0x5", " 5 ", "0", "3651", "9" * 20):
        answer = liz.submit(f"/chats/{chat}/audience", audience="org", days=days)
        assert answer.status_code == 400, days


def test_the_home_page_speaks_of_no_sessions_that_a_client_deletes(demo: DemoServed) -> None:
    page = demo.browser("ada").get("/").text
    assert "Recent chats" in page
    assert "Claude Code will delete" not in page
    assert "Expiring" not in page


def test_the_audit_log_names_the_teams_that_chats_are_shared_with(demo: DemoServed) -> None:
    page = re.sub(r"<[^>]+>", " ", demo.browser("ada").get("/audit").text)
    assert re.search(r"ben\s+chat\.share\s+\S+\s+team Shop", page)
    assert re.search(r"ada\s+budget\.set\s+team Shop\s+8", page)
