"""Every chart adds up to its table and to the total of its report, in any period and at any zoom."""

import json
import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest

from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.web.pages.stats_periods import SHOWN_AS, usage_over_time
from tests.library.analytics.test_attention import calls
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import EVERYTHING, session_file, session_path
from tests.web.shown import Viewer

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPANS: tuple[dict[str, str], ...] = (
    {}, {"since": "2025-01-01"}, {"since": "2026-01-05", "until": "2026-01-06"}, {"until": "2026-01-31"},
    {"since": "2023-12-30", "until": "2024-01-02"}, {"since": "2026-01-05T10:00", "until": "2026-01-05T11:00"},
)  # fmt: skip
MODELS = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001")


def years_of_answers() -> str:
    """An answer every third day for three years, and one without a time."""
    drawing = "@ time=2023-01-01T10:00:00\na0 <- - user: begin\n"
    parent = "a0"
    for number in range(366):
        moment = datetime(2023, 1, 2, 9, tzinfo=UTC) + timedelta(days=3 * number, minutes=number)
        usage = {"input_tokens": 1_000 + number, "output_tokens": 10 * number, "cache_read_input_tokens": 50 * number}
        fields = {"message": {"model": MODELS[number % 3], "usage": usage, "stop_reason": "end_turn"}}
        name = f"b{number}"
        drawing += (
            f"@ time={moment:%Y-%m-%dT%H:%M:%S}\n{name} <- {parent} assistant(m{number}): ok {json.dumps(fields)}\n"
        )
        parent = name
    return drawing


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    shelf = Shelf(tmp_path_factory.mktemp("shelf")).write(EVERYTHING)
    shelf.write({session_path("S9"): jsonl(draw(years_of_answers(), session="S9"))})
    shelf.write(session_file("S8", calls("S8", 5, "Edit", "eeeeoooooooo")))
    shelf.update()
    return shelf


class Tables(HTMLParser):
    """The numbers of the table of every chart, by its name."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.sums: dict[str, float] = {}
        self.notes: dict[str, str] = {}
        self._label = self._inside = ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = dict(attrs).get("class") or ""
        if tag == "figcaption" or (tag == "span" and "chart-note" in classes):
            self._inside = "note" if tag == "span" else "label"
        elif tag == "td" and self._label:
            self._inside = "cell"
        elif tag == "figure":
            self._label = ""

    def handle_endtag(self, tag: str) -> None:
        if tag in ("figcaption", "td", "span"):
            self._inside = ""
        if tag == "figure":
            self._label = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "label":
            self._label = data
            self.sums[data] = 0.0
        elif self._inside == "note" and self._label:
            self.notes[self._label] = data
        elif self._inside == "cell" and re.fullmatch(r"\$?[\d,.]+", data):
            self.sums[self._label] += float(data.replace(",", "").replace("$", ""))


def asked_of(span: dict[str, str]) -> ReportRequest:
    def moment(text: str, days: int) -> datetime:
        return datetime.fromisoformat(text).replace(tzinfo=UTC) + timedelta(days=days if len(text) == 10 else 0)

    return ReportRequest(
        since=moment(span["since"], 0) if "since" in span else None,
        until=moment(span["until"], 1) if "until" in span else None,
        zone=UTC,
    )


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("period", ["", "hour", "day", "week", "month"])
@pytest.mark.parametrize("stack", ["model", "project"])
def test_the_columns_add_up_to_the_report(shelf: Shelf, span: dict[str, str], period: str, stack: str) -> None:
    asked = asked_of(span)
    with shelf.open() as library:
        total = usage(library, asked, "model").facts["total"]
        for show, expected in (("cost", total["cost_microdollars"] or 0), ("answers", total["messages"])):
            drawn = usage_over_time(library, asked, stack, show, period, NOW)
            summed = sum(value or 0 for one in drawn.series for value in one.values)
            left = re.search(r"not drawn: ([^ ]+) ", drawn.note)
            missing = float(left[1].replace(",", "").replace("$", "")) if left else 0.0
            missing *= 1e6 if SHOWN_AS[show].endswith("dollars") else 1
            assert summed + missing == pytest.approx(expected, abs=5_000 if missing else 0.5)
            assert len(drawn.axis.names) <= 400


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("path", ["/stats/usage?by=day", "/stats/usage?by=week", "/stats/usage?by=month&stack=project"])
def test_the_table_of_a_chart_adds_up_to_the_report(shelf: Shelf, path: str, span: dict[str, str]) -> None:
    query = "".join(f"&{name}={value}" for name, value in span.items())
    viewer = Viewer(shelf)
    (label,) = tables = Tables(viewer.ask("GET", f"{path}&show=answers&zone=UTC{query}").text).sums
    told = json.loads(viewer.ask("GET", f"{path}&zone=UTC{query}&format=json").text)
    timed = sum(row["messages"] for row in told["rows"] if row[path.split("by=")[1].split("&")[0]] != "-")
    assert tables[label] == timed


@pytest.mark.parametrize("span", SPANS)
def test_the_chart_of_the_spend_page_adds_up_to_its_headline(shelf: Shelf, span: dict[str, str]) -> None:
    query = "".join(f"&{name}={value}" for name, value in span.items()) or "&period=all"
    page = Viewer(shelf).ask("GET", f"/spend?zone=UTC{query}").text
    if "Nothing was spent" in page:
        with shelf.open() as library:
            assert usage(library, asked_of(span), "model").facts["counted"] == 0
        return
    headline = float(re.search(r'class="amount">\$([\d,.]+)<', page)[1].replace(",", ""))  # type: ignore[index]
    tables = Tables(page)
    label = next(name for name in tables.sums if name.startswith("Cost by"))
    with shelf.open() as library:
        total = usage(library, asked_of(span), "model").facts["total"]["cost_microdollars"] or 0
    assert headline == pytest.approx(total / 1e6, abs=0.005)
    drawn, *left = (float(text.replace(",", "")) for text in re.findall(r"\$([\d,]+\.\d+)", tables.notes[label]))
    assert drawn + sum(left) == pytest.approx(headline, abs=0.011)


def test_prompts_and_calendars_add_up(shelf: Shelf) -> None:
    viewer = Viewer(shelf)
    for query in ("", "&since=2026-01-01", "&since=2026-01-05&until=2026-01-06"):
        counted = json.loads(viewer.ask("GET", f"/stats/prompts?by=day&zone=UTC{query}&format=json").text)
        total = sum(row["prompts"] for row in counted["rows"])
        chart = Tables(viewer.ask("GET", f"/stats/prompts?by=day&zone=UTC{query}").text)
        assert list(chart.sums.values()) == [total]
        calendar = Tables(viewer.ask("GET", f"/stats/activity?zone=UTC{query}").text)
        assert calendar.sums["Prompts by day"] == total


@pytest.mark.parametrize(
    ("path", "label", "column"),
    [
        ("/stats/blocks?", "Cost per five-hour window", "cost_microdollars"),
        ("/stats/cache?by=month", "Saved by the cache, by month", "saved_microdollars"),
        ("/stats/cache?by=day", "Saved by the cache, by day", "saved_microdollars"),
        ("/stats/time?by=day", "Active time by month", "active_seconds"),
    ],
)
def test_what_a_chart_draws_and_what_it_says_is_left_out_are_the_report(
    shelf: Shelf, path: str, label: str, column: str
) -> None:
    viewer = Viewer(shelf)
    told = json.loads(viewer.ask("GET", f"{path}&zone=UTC&limit=0&format=json").text)
    expected = sum(row[column] or 0 for row in told["rows"]) / (1e6 if column.endswith("dollars") else 1)
    tables = Tables(viewer.ask("GET", f"{path}&zone=UTC&limit=0").text)
    if column.endswith("seconds"):
        minutes, seconds = re.search(r": (\d+)m (\d+)s", tables.notes[label]).groups()  # type: ignore[union-attr]
        assert 60 * int(minutes) + int(seconds) == round(expected)
        return
    left = re.search(r"not drawn: .*?-?\$([\d,.]+\d)", tables.notes[label])
    assert abs(tables.sums[label]) + (float(left[1].replace(",", "")) if left else 0) == pytest.approx(
        abs(expected), abs=0.05
    )


BARS = [
    ("/stats/usage?by=model", ("cost_microdollars",)),
    ("/stats/usage?by=project&show=answers", ("messages",)),
    ("/stats/time?by=project", ("active_seconds",)),
    ("/stats/prompts?by=project", ("prompts",)),
    ("/stats/chats?by=project", ("turns_p90",)),
    ("/stats/tools?by=tool", ("calls",)),
    ("/stats/errors?", ("count",)),
    ("/stats/sequences?", ("count",)),
    ("/stats/files?", ("edits", "reads")),
    ("/stats/context?by=chat", ("characters",)),
    ("/stats/context?by=tool", ("characters",)),
    ("/stats/cache?by=model", ("saved_microdollars",)),
]


@pytest.mark.parametrize(("path", "columns"), BARS)
def test_bars_are_as_long_as_their_rows_say(shelf: Shelf, path: str, columns: tuple[str, ...]) -> None:
    viewer = Viewer(shelf)
    told = json.loads(viewer.ask("GET", f"{path}&limit=0&format=json").text)
    values = sorted((sum(row[name] or 0 for name in columns) for row in told["rows"]), reverse=True)
    page = viewer.ask("GET", f"{path}&limit=0").text
    drawn = [
        sum(float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)%"', item))
        for item in re.findall(r'<li>(?:(?!</li>).)*class="bar-drawing"(?:(?!</li>).)*</li>', page)
    ]
    assert len(drawn) == min(15, len(values)) > 0
    longest = max(values) or 1
    expected = [100 * max(0, value) / longest for value in values[: len(drawn)]]
    # Small parts are drawn wider than they are, or they could not be seen.
    assert sorted(drawn, reverse=True) == pytest.approx(expected, abs=2.5)


def test_what_deserves_attention_is_counted_the_same_in_sentence_picture_and_link(shelf: Shelf) -> None:
    page = Viewer(shelf).ask("GET", "/stats?since=all").text
    findings = re.findall(r'finding-text">(.*?)</p>.*?chart-note">([\d,]+) by', page, re.S)
    links = re.findall(r"All ([\d,]+) (?:failed|denied|interruption)", page)
    counted = [(text, number) for text, number in findings if not text.startswith("$")]
    assert counted
    assert links
    for text, number in counted:
        assert re.search(rf"\b{number}\b", text), (text, number)
    assert set(links) <= {number for _, number in counted}


def test_a_name_keeps_its_colour_in_every_period(shelf: Shelf) -> None:
    colours: dict[str, set[int | None]] = {}
    with shelf.open() as library:
        for span in SPANS:
            for one in usage_over_time(library, asked_of(span), "model", "cost", "", NOW).series:
                if not one.name.endswith("others"):
                    colours.setdefault(one.name, set()).add(one.colour)
    assert len(colours) >= 3
    assert all(len(some) == 1 for some in colours.values())


def test_too_many_days_become_weeks_and_the_chart_says_so(shelf: Shelf) -> None:
    with shelf.open() as library:
        drawn = usage_over_time(library, ReportRequest(zone=UTC), "model", "cost", "day", NOW)
    assert drawn.period == "week"
    assert "drawn by week, because there are too many days to draw" in drawn.note
    assert " – " in drawn.axis.label(0)


def test_an_axis_is_of_the_period_and_no_more(shelf: Shelf) -> None:
    asked = ReportRequest(since=datetime(2026, 1, 1, tzinfo=UTC), until=datetime(2026, 2, 1, tzinfo=UTC), zone=UTC)
    with shelf.open() as library:
        axis = usage_over_time(library, asked, "model", "cost", "day", NOW).axis
    assert (axis.names[0], axis.names[-1]) == ("2026-01-01", "2026-01-31")
