"""The pages with numbers say what the library says, whatever they are asked."""

import csv
import io
import json
import re
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from backscroll.library.analytics.prompts import prompts
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.tools import tools
from backscroll.library.analytics.usage import usage
from backscroll.render.reports import dollars, short
from backscroll.web.pages.stats_periods import axis_of, bounds_of, fitting
from backscroll.web.pages.stats_reports import KINDS
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import EVERYTHING, session_file, session_path
from tests.web.shown import Page, Viewer

PAGES = (
    "/stats", "/stats?since=30d", "/stats?zone=Asia/Tokyo", *(f"/stats/{name}" for name in KINDS),
    *(f"/stats/usage?by={by}" for by in KINDS["usage"].options[0].choices),
    "/stats/usage?show=tokens&stack=project", "/stats/usage?by=model&show=answers&period=month",
    "/stats/usage?explain=1",
    "/stats/blocks?active=1", "/stats/time?by=day", "/stats/time?by=chat", "/stats/prompts?by=day",
    "/stats/chats?by=week&show=cost", "/stats/topics?by=week",
    "/stats/compare?a=2026-01&b=2026-02", "/stats/compare?a=project:shop&b=model:opus", "/stats/tools?by=mcp-server",
    "/stats/errors?tool=Bash", "/stats/sequences?length=3&fold=1", "/stats/sequences?loops=1", "/stats/files?sort=last",
    "/stats/context?by=tool", "/stats/cache?by=week", "/stats/cache?by=pause", "/stats/usage?q=project:nowhere",
)  # fmt: skip
HOSTILE = "<script>alert(1)</script><svg onload=alert(2)>\"'>"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    shelf = Shelf(tmp_path_factory.mktemp("shelf")).write(EVERYTHING)
    shelf.update()
    return shelf


@pytest.fixture(scope="module")
def viewer(shelf: Shelf) -> Viewer:
    return Viewer(shelf)


def check(page: Page) -> None:
    """A page that is whole without scripts, and usable by everyone."""
    assert len(page.all("main")) == len(page.all("h1")) == 1
    for tag, values in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in values), (tag, values)
        if "src" in values or tag == "link":
            assert (values.get("src") or values["href"]).startswith("/static/")
    names = [values["id"] for _, values in page.elements if "id" in values]
    assert len(names) == len(set(names))
    assert all(link.text for link in page.links if not link.href.startswith("/chats?q=after"))


@pytest.mark.parametrize("path", PAGES)
def test_every_report_has_a_page(viewer: Viewer, path: str) -> None:
    page = viewer.get(path)
    check(page)
    assert "page" in [link.get("aria-current") for link in page.all("a") if link["href"].startswith("/stats")]


@pytest.mark.parametrize("path", PAGES[3:])
def test_every_report_can_be_taken_away(viewer: Viewer, path: str) -> None:
    glue = "&" if "?" in path else "?"
    told = viewer.ask("GET", f"{path}{glue}format=json")
    assert told.headers["content-type"] == "application/json"
    rows = json.loads(told.text)["rows"]
    table = viewer.ask("GET", f"{path}{glue}format=csv")
    assert "attachment" in table.headers["content-disposition"]
    if "explain" not in path:
        assert len(list(csv.reader(io.StringIO(table.text)))) == len(rows) + 1


def test_the_numbers_are_those_of_the_library(shelf: Shelf, viewer: Viewer) -> None:
    with shelf.open() as library:
        report = usage(library, ReportRequest(), "model")
        called = tools(library, ReportRequest(), "tool")
    page = viewer.get("/stats/usage?by=model")
    for row in report.as_dicts():
        assert row["model"] in page.text
        assert dollars(row["cost_microdollars"]) in page.text
        assert short(row["cache_read_input_tokens"]) in page.text
    for note in report.notes:
        assert note in page.text
    page = viewer.get("/stats/tools")
    assert all(row["tool"] in page.text for row in called.as_dicts())
    assert json.loads(viewer.ask("GET", "/stats/usage?by=model&format=json").text)["total"] == report.facts["total"]


def test_a_query_a_time_and_a_zone_choose_what_is_counted(shelf: Shelf, viewer: Viewer) -> None:
    with shelf.open() as library:
        asked = ReportRequest(query=library.parse("project:shop"), zone=ZoneInfo("Asia/Tokyo"))
        report = prompts(library, asked, "day")
    told = json.loads(viewer.ask("GET", "/stats/prompts?by=day&q=project:shop&zone=Asia/Tokyo&format=json").text)
    assert told["rows"] == report.as_dicts()
    assert json.loads(viewer.ask("GET", "/stats/prompts?until=1999-01-01&format=json").text)["rows"] == []


def test_a_form_keeps_what_was_asked_and_other_reports_are_asked_the_same(viewer: Viewer) -> None:
    page = viewer.get("/stats/usage?by=week&q=project:shop&since=2025-01-01&zone=UTC")
    fields = {field["name"]: field.get("value") for field in page.all("input") if field.get("type") == "text"}
    assert fields == {"q": "project:shop", "since": "2025-01-01", "until": "", "zone": "UTC", "limit": "100"}
    assert next(option["value"] for option in page.all("option") if "selected" in option) == "week"
    assert page.link("Cache") == "/stats/cache?q=project%3Ashop&since=2025-01-01&zone=UTC"
    assert "since" not in page.link("All")
    assert page.link("7 days").endswith("since=7d")


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/stats/nothing", 404, "use one of usage"),
        ("/stats/usage?by=shoe", 400, "use one of day"),
        ("/stats/usage?since=whenever", 400, "not a time"),
        ("/stats/usage?zone=../../etc/passwd", 400, "unknown time zone"),
        ("/stats/usage?limit=-1", 400, "limit must be a number"),
        ("/stats/usage?q=project:", 400, "has no value"),
        ("/stats/usage?format=pdf", 400, "use csv or json"),
        ("/stats/context?by=turn", 400, "chat: and its id"),
    ],
)
def test_invalid_arguments_are_reported_with_the_next_step(viewer: Viewer, path: str, status: int, told: str) -> None:
    assert told in viewer.get(path, status).text


def test_rows_lead_to_chats_files_and_searches(viewer: Viewer) -> None:
    assert viewer.get("/stats/usage?by=chat").hrefs("/chats/")
    assert viewer.get("/stats/usage?by=project").hrefs("/chats?q=project%3A")
    assert viewer.get("/stats/usage?by=week").hrefs("/chats?q=after%3A")
    assert viewer.get("/stats/tools").hrefs("/search?q=tool%3A")
    assert viewer.get("/stats/files").hrefs("/files?path=")


def test_the_turns_of_one_chat_are_drawn_along_it(shelf: Shelf, viewer: Viewer) -> None:
    with shelf.open() as library:
        chat = library.chats(limit=1)[0].overview.id
    check(viewer.get(f"/stats/context?by=turn&q=chat:{chat}"))


def test_fewer_rows_are_shown_where_that_is_asked_and_the_rest_is_a_link_away(viewer: Viewer) -> None:
    every = json.loads(viewer.ask("GET", "/stats/usage?by=chat&format=json").text)["rows"]
    page = viewer.get("/stats/usage?by=chat&limit=2")
    assert f"{len(every) - 2} more rows" in page.text
    whole = viewer.get(page.link("Show all"))
    assert "more rows" not in whole.text
    assert len(json.loads(viewer.ask("GET", "/stats/usage?by=chat&limit=2&format=json").text)["rows"]) == 2


def test_a_library_with_nothing_in_it_has_all_pages(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.update()
    viewer = Viewer(shelf)
    for path in PAGES:
        if "by=turn" not in path:
            check(viewer.get(path))


def test_times_of_clocks_out_of_order_do_no_harm(tmp_path: Path) -> None:
    drawing = """
    a <- - user: begin {"timestamp": "0001-01-01T00:00:00Z"}
    b <- a call(m1) t1 Bash {"command": "ls"} {"timestamp": "0001-01-01T00:00:01Z"}
    c <- b user: later {"timestamp": "2999-12-31T23:59:59Z"}
    d <- c call(m2) t2 Bash {"command": "ls"} {"timestamp": "2999-12-31T23:59:59Z"}
    """
    shelf = Shelf(tmp_path).write(session_file("S1", drawing))
    shelf.update()
    viewer = Viewer(shelf)
    for path in PAGES:
        if "zone" not in path and "by=turn" not in path:
            check(viewer.get(path))


def test_what_transcripts_say_is_only_ever_text(tmp_path: Path) -> None:
    rows = draw(
        """
        a <- - user: begin
        b <- a call(m1) t1 Bash {"command": "ls"}
        c <- b error t1: it failed
        """,
        session="S1",
    )
    for row in rows:
        row |= {"cwd": f"/home/{HOSTILE}", "gitBranch": HOSTILE}
        if isinstance(message := row.get("message"), dict) and message.get("role") == "assistant":
            message |= {"model": HOSTILE}
            for block in message["content"]:
                block |= {"name": HOSTILE}
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(rows)})
    shelf.update()
    viewer = Viewer(shelf)
    for path in PAGES:
        if "by=turn" not in path:
            answer = viewer.ask("GET", path).text
            assert "<script>alert" not in answer
            assert "<svg onload" not in answer


def test_periods_lie_close_together_and_know_their_bounds() -> None:
    assert axis_of("week", "2025-W52", "2026-W02").names == ["2025-W52", "2026-W01", "2026-W02"]
    assert axis_of("month", "2025-11", "2026-02").names == ["2025-11", "2025-12", "2026-01", "2026-02"]
    days = axis_of("day", "2024-02-28", "2024-03-01")
    assert list(days.names) == ["2024-02-28", "2024-02-29", "2024-03-01"]
    assert days.spans[0] == ("2024-02-28", "2024-02-28")
    assert axis_of("hour", "2026-01-05 22:00", "2026-01-06 01:00").names[-1] == "2026-01-06 01:00"
    assert len(axis_of("day", "1970-01-01", "2026-01-01").names) == 400
    assert bounds_of("month", "2026-12") == ("2026-12-01", "2027-01-01")
    assert bounds_of("hour", "2026-01-05 22:00") == ("2026-01-05T22:00", "2026-01-05T23:00")


def test_the_period_of_a_chart_fits_its_time() -> None:
    assert fitting(date(2026, 1, 1), date(2026, 1, 2)) == "hour"
    assert fitting(date(2026, 1, 1), date(2026, 2, 2)) == "day"
    assert fitting(date(2025, 1, 1), date(2026, 2, 2)) == "week"
    assert fitting(date(2020, 1, 1), date(2026, 2, 2)) == "month"


def test_what_was_used_over_time_adds_up_by_model_and_by_project(viewer: Viewer) -> None:
    sums = []
    for stack in ("model", "project"):
        page = viewer.ask("GET", f"/stats/usage?show=answers&stack={stack}&by=month").text
        titles = re.findall(r"<title>\d{4}-\d\d\n([^<]*)</title>", page)
        sums.append([
            int((told.rsplit("All: ", 1)[-1] if "All: " in told else told.rsplit(": ", 1)[-1]).replace(",", ""))
            for told in titles
        ])  # fmt: skip
    assert sums[0] == sums[1]
    assert sum(sums[0]) > 0


def test_an_error_leads_to_where_it_happened(tmp_path: Path) -> None:
    drawing = """
    a <- - user: begin
    b <- a call(m1) t1 Bash {"command": "ls"}
    c <- b error t1: no such file
    """
    shelf = Shelf(tmp_path).write(session_file("S1", drawing))
    shelf.update()
    viewer = Viewer(shelf)
    (link, *_) = viewer.get("/stats/errors").hrefs(f"/chats/{session_uuid('S1')}?at=")
    assert viewer.ask("GET", link.partition("#")[0]).status in (200, 302)


def test_a_number_of_errors_leads_to_exactly_those_calls(tmp_path: Path) -> None:
    drawing = "a <- - user: begin\n"
    for number in range(4):
        parent = "a" if not number else f"r{number - 1}"
        drawing += f'c{number} <- {parent} call(m{number}) t{number} Edit {{"file_path": "/x.py"}}\n'
        drawing += f"r{number} <- c{number} {'error' if number < 3 else 'result'} t{number}: no such file\n"
    shelf = Shelf(tmp_path).write(session_file("S1", drawing))
    shelf.update()
    viewer = Viewer(shelf)
    for page in ("/stats/errors", "/stats/tools", "/stats?since=all"):
        links = viewer.get(page).hrefs("/stats/failures?tool=Edit")
        assert links, page
        shown = viewer.get(links[0])
        check(shown)
        assert len(shown.hrefs(f"/chats/{session_uuid('S1')}?at=")) == 3, page  # each to its passage
    assert "3 failed calls" in viewer.get("/stats?since=all").text
    of_a_year = viewer.get("/stats/errors?since=2026-01-01&until=2026-12-31").hrefs("/stats/failures?tool=Edit")
    assert all("since=2026-01-01" in link and "until=" in link for link in of_a_year)  # also the bars of the chart


def test_weeks_are_named_by_their_days(viewer: Viewer) -> None:
    page = viewer.get("/stats/usage?by=week")
    assert re.search(r"[A-Z][a-z]{2} \d+ – ([A-Z][a-z]{2} )?\d+, \d{4}", page.text)
    assert not re.search(r"\d{4}-W\d\d", page.text)
