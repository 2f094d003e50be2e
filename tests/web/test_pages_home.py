"""The first page: useful before anything is read, and when everything is."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import live_session, session_file, session_path
from tests.web.shown import Page, Viewer

CHAT = """
@ cwd=/home/ada/shop time={time}
{name}-a <- - user: fix the parser
{name}-b <- {name}-a assistant({name}-m): done
"""


def chat(name: str, when: str = "2026-01-05T10:00") -> dict[str, bytes]:
    return session_file(name, CHAT.format(name=name, time=when))


def running(name: str, status: str | None = None) -> dict[str, bytes]:
    """The file that says that this session is open in this very process."""
    started = Path(f"/proc/{os.getpid()}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[19]
    ((path, data),) = live_session(name, os.getpid(), started).items()
    return {path: json.dumps({**json.loads(data), "status": status}).encode()}


def counted(viewer: Viewer) -> Page:
    """The first page, once it is known what is kept."""
    while "Counting" in (page := viewer.get("/")).text:
        pass
    return page


def test_before_anything_is_read_it_says_what_is_happening(tmp_path: Path) -> None:
    viewer = Viewer(Shelf(tmp_path).write(chat("one")))
    for path in ("/", "/chats", "/projects", "/search?q=parser"):
        assert "Reading your Claude Code sessions for the first time." in viewer.get(path).text
        assert "No sessions found" not in viewer.get(path).text
    for path in ("/search", "/palette?q=parser", "/live", "/settings"):
        viewer.get(path)


def test_while_the_first_update_reads_it_does_not_say_that_there_is_nothing(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(chat("one"))
    with shelf.open() as library:
        library.store.start_writing().note("started", "1")
        library.store.close()
    page = Viewer(shelf).get("/")
    assert "for the first time" in page.text
    assert "No sessions found" not in page.text


def test_an_empty_home_says_what_to_do_next(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.update()
    page = Viewer(shelf).get("/")
    assert "No sessions found" in page.text
    assert str(shelf.home) in page.text
    assert "Run claude in a project" in page.text
    for path in ("/", "/chats", "/projects", "/search?q=parser"):
        assert "To try backscroll on sample conversations, run backscroll demo" in Viewer(shelf).get(path).text


def test_the_last_chats_come_first_and_lead_to_their_pages(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({**chat("old"), **chat("new", "2026-01-06T10:00")})
    shelf.update()
    links = [link for link in Viewer(shelf).get("/").links if link.href.startswith("/chats/")]
    assert [link.text for link in links] == ["fix the parser"] * 2
    with shelf.open() as library:
        assert [link.href for link in links] == [f"/chats/{stored.overview.id}" for stored in library.chats("")]


def test_live_chats_are_shown_with_their_last_event(tmp_path: Path) -> None:
    drawing = 'w-a <- - user: build it\nw-b <- w-a call(w-m) w-t Bash {"command": "make all"}'
    shelf = Shelf(tmp_path).write({**session_file("works", drawing), **chat("idle"), **running("works")}).rest()
    shelf.update()
    viewer = Viewer(shelf)
    for page in (viewer.get("/live"), viewer.get("/")):
        assert "Live now 1 chat" in page.text
        assert "build it Bash make all running Bash shop" in page.text
    assert "Recent chats All chats fix the parser" in viewer.get("/").text


def test_a_live_chat_whose_last_word_is_an_answer_waits_for_the_user(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({**chat("one"), **running("one")})
    shelf.update()
    assert "Claude done your turn" in Viewer(shelf).get("/live").text


def test_what_the_client_says_of_itself_counts(tmp_path: Path) -> None:
    drawing = 'w-a <- - user: build it\nw-b <- w-a call(w-m) w-t Bash {"command": "make all"}'
    shelf = Shelf(tmp_path).write({**session_file("works", drawing), **running("works", "waiting")})
    shelf.update()
    assert "waiting for you: Bash" in Viewer(shelf).get("/live").text
    shelf.write(running("works", "busy"))
    assert "running Bash" in Viewer(shelf).get("/live").text


def test_a_live_chat_of_which_nothing_can_be_found_yet_is_still_shown(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({**chat("one"), **running("one")})
    with shelf.open() as library:
        library.refresh(with_text=False)
    assert "fix the parser live shop" in Viewer(shelf).get("/live").text


def test_without_live_chats_the_section_is_missing(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(chat("one")).rest()
    assert Viewer(shelf).get("/live").text == ""
    shelf.update()
    assert Viewer(shelf).get("/live").text == ""
    assert "Live now" not in Viewer(shelf).get("/").text


def test_expiring_chats_are_counted_and_shown_as_kept(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({**chat("old"), **chat("new")})
    month_ago = time.time() - 28 * 86_400
    os.utime(shelf.home / session_path("old"), (month_ago, month_ago))
    shelf.update()
    text = counted(Viewer(shelf)).text
    assert "1 session will be deleted by Claude Code within 7 days" in text
    assert "All are archived, byte for byte. 2 sessions archived" in text


def test_what_is_overdue_is_told_apart_from_what_is_due_soon(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({**chat("gone"), **chat("old"), **chat("new")})
    for name, days in (("gone", 41), ("old", 28)):
        then = time.time() - days * 86_400
        os.utime(shelf.home / session_path(name), (then, then))
    shelf.update()
    text = counted(Viewer(shelf)).text
    assert "1 session is overdue: Claude Code deletes it when it next starts." in text
    assert "1 session will be deleted by Claude Code within 7 days" in text


def test_what_only_we_have_is_said(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write({**chat("old"), **chat("new")})
    shelf.update()
    (shelf.home / session_path("old")).unlink()
    shelf.update()
    page = counted(Viewer(shelf))
    assert "Claude Code will delete no sessions" in page.text
    assert page.link("1 deleted by Claude Code") == "/chats?q=is%3Aarchived"


def test_spend_is_that_of_the_last_days(tmp_path: Path) -> None:
    today = f"{datetime.now(UTC):%Y-%m-%dT%H:%M}"
    rows = draw(CHAT.format(name="now", time=today), session="now", model="claude-opus-4-5-20251101")
    rows[1]["message"]["usage"] = {"input_tokens": 1_000_000, "output_tokens": 0}
    shelf = Shelf(tmp_path).write({session_path("now"): jsonl(rows), **chat("old", "2020-01-05T10:00")})
    shelf.update()
    text = Viewer(shelf).get("/").text
    assert "7 days $5.00 1.0M tokens 30 days $5.00 1.0M tokens 365 days $5.00 1.0M tokens" in text


def test_a_month_without_spend_is_one_sentence(tmp_path: Path) -> None:
    then = f"{datetime.now(UTC) - timedelta(days=60):%Y-%m-%dT%H:%M}"
    rows = draw(CHAT.format(name="old", time=then), session="old", model="claude-opus-4-5-20251101")
    rows[1]["message"]["usage"] = {"input_tokens": 1_000_000, "output_tokens": 0}
    shelf = Shelf(tmp_path).write({session_path("old"): jsonl(rows)})
    shelf.update()
    text = Viewer(shelf).get("/").text
    assert "Nothing in the last 30 days. 365 days $5.00 1.0M tokens" in text
    assert "$0.00" not in text


def test_a_day_of_the_year_leads_to_what_was_said_on_it(tmp_path: Path) -> None:
    today = datetime.now(UTC)
    shelf = Shelf(tmp_path).write(chat("now", f"{today:%Y-%m-%dT%H:%M}"))
    shelf.update()
    viewer = Viewer(shelf)
    days = {href for href in viewer.get("/").hrefs("/search?q=after") if f"{today:%Y-%m-%d}" in href}
    assert len(days) == 1
    assert " in 1 chat ·" in viewer.get(days.pop()).text
