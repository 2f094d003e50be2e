"""The home page: search, live chats, recent chats, spend, and expiring sessions."""

from datetime import UTC, date, datetime, timedelta
from typing import Final

from backscroll.library.analytics.reports import ReportRequest as About
from backscroll.library.analytics.usage import usage
from backscroll.library.library import Library
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.heatmaps import heatmap
from backscroll.render.html.icons import icon
from backscroll.render.reports import dollars, short
from backscroll.web.addresses import search_address
from backscroll.web.layout import document, search_box
from backscroll.web.pages import first_run
from backscroll.web.pages.chat_rows import chat_rows, item_of
from backscroll.web.pages.expiring import expiring_section
from backscroll.web.pages.live_chats import live_chats, live_section
from backscroll.web.pages.settings_forgets import hidden_notice
from backscroll.web.reader_zone import READER_ZONE, reader_now
from backscroll.web.requests import PageRequest

RECENT: Final = 12
CHIPS: Final = 5
YEAR: Final = timedelta(days=371)


def show(request: PageRequest) -> Html:
    """Return the home page."""
    library = request.library
    # A script shows the progress of an update here.
    progress = el("div", id="progress", class_="progress", role="status", hidden=True)
    if first_run.is_first_run(library):
        main = join([_search(library, is_ready=False), first_run.notice()])
    elif not library.chats("", limit=1):
        main = join([_search(library, is_ready=False), progress, hidden_notice(library), _nothing_yet(library)])
    else:
        recent = [item_of(row) for row in chat_rows(library, library.chats("-is:live", limit=RECENT))]
        days = _days(library)
        main = join([
            DEMO if library.settings.is_demo else NOTHING,
            _search(library, is_ready=True),
            progress,
            hidden_notice(library),
            el("div", live_section(live_chats(library)), id="live"),
            el(
                "div",
                el("section", el("h2", "Recent chats ", el("a", "All chats", href="/chats", class_="more")),
                   el("ul", recent, class_="items"), aria_label="Recent chats"),
                el("div", _spend(days), expiring_section(library) if library.homes else NOTHING, class_="side"),
                class_="columns",
            ),
            _activity(days),
        ])  # fmt: skip
    return document("", main, here="/", scripts=("home.js",), styles=("stats.css", "pages.css"), bar_search=False,
                    body_class="home")  # fmt: skip


def live(request: PageRequest) -> Html:
    """Return the live chats, as a fragment."""
    return live_section(live_chats(request.library)) if request.library.is_indexed else NOTHING


def _search(library: Library, *, is_ready: bool) -> Html:
    saved = [
        el("a", icon("search"), name, href=search_address(query), class_="chip saved", title=query)
        for name, query in sorted(library.marks.searches.items())
    ]
    examples = [el("a", el("code", query), href=search_address(query), class_="chip") for query in EXAMPLES if is_ready]
    chips = [*saved, *examples][: max(len(saved), CHIPS)]
    return el(
        "section",
        el("h1", "Search your Claude Code conversations", class_="lead"),
        search_box(),
        el("nav", chips, class_="chips", aria_label="Searches") if chips else NOTHING,
        class_="hero",
    )


def _nothing_yet(library: Library) -> Html:
    """Return what to do if there are no chats."""
    homes = [home for home in library.homes if home.exists]
    places = [el("li", el("code", str(home.path))) for home in library.homes]
    if homes:
        steps = el(
            "p", "It has no sessions yet. Run ", el("code", "claude"), " in a project and send a prompt:",
            " the chat appears here while it runs.",
        )  # fmt: skip
    else:
        steps = el(
            "p", "No Claude Code folder found. If yours is elsewhere, run ",
            el("code", "backscroll open --home /path/to/.claude"), ", or set ", el("code", "CLAUDE_CONFIG_DIR"), ".",
        )  # fmt: skip
    return el(
        "section",
        el("h2", "No sessions found"),
        el("p", "Searched in:"),
        el("ul", places),
        steps,
        el("p", "To try backscroll on sample conversations, run ", el("code", "backscroll demo")),
        class_="card nothing",
    )


def _days(library: Library) -> dict[date, tuple[int, int, int]]:
    """Return answers, tokens and microdollars for each day of the last year."""
    report = usage(library, About(since=datetime.now(UTC) - YEAR, zone=READER_ZONE.get()), "day")
    days = {}
    for row in report.as_dicts():
        try:
            day = date.fromisoformat(row["day"])
        except ValueError:
            continue  # answers without a time
        tokens = sum(value for name, value in row.items() if name.endswith("_tokens"))
        days[day] = (row["messages"], tokens, row["cost_microdollars"] or 0)
    return days


def _spend(days: dict[date, tuple[int, int, int]]) -> Html:
    today = reader_now().date()
    sums = {
        length: [amounts for day, amounts in days.items() if today - timedelta(days=length) < day <= today]
        for length in (1, 7, 30, 365)
    }
    parts = []
    for length, inside in sums.items():
        cost, tokens = sum(amounts[2] for amounts in inside), sum(amounts[1] for amounts in inside)
        amount = el("dd", dollars(cost), el("small", f"{short(tokens)} tokens", class_="muted"))
        parts.append(el("div", el("dt", "Today" if length == 1 else f"{length} days"), amount))
    if sums[30]:
        note = NOTHING
    else:
        parts, note = parts[-1:], el("p", "Nothing in the last 30 days.", class_="muted")
    return el(
        "section",
        el("h2", "Spend ", el("a", "Details", href="/spend", class_="more")),
        note,
        el("dl", parts, class_="figures"),
        class_="card",
        aria_label="Spend",
    )


def _activity(days: dict[date, tuple[int, int, int]]) -> Html:
    today = reader_now().date()
    counts = {day: sums[0] for day, sums in days.items() if day <= today}
    counts.setdefault(today, 0)

    def link(day: date) -> str:
        return search_address(f"after:{day} before:{day + timedelta(days=1)}", sort="oldest")

    chart = heatmap(counts, label="Activity: answers by day", link=link)
    return el("section", chart, class_="activity", aria_label="Activity")


DEMO: Final = el(
    "p", el("strong", "Demo: "), "sample conversations. Everything here is deleted when you stop the demo.",
    class_="demo", role="note",
)  # fmt: skip
EXAMPLES: Final = ("is:error since:7d", "role:prompt since:30d", "has:image", "file:README.md", '"connection reset"')
