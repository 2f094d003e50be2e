"""Settings and health: homes, library, archive, remotes, prices, and a check of every session."""

import platform
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from backscroll import __version__
from backscroll.errors import NothingFound
from backscroll.library.homes import KnownHome, cleanup_days, known_homes
from backscroll.library.indexing.prices import ListedPrice, list_prices
from backscroll.library.keeping.keep import ArchiveStatus, status
from backscroll.library.library import Library
from backscroll.library.setup.doctor import Health, HomeHealth, examine
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.terminal import clean_line, plural, size
from backscroll.web.layout import document
from backscroll.web.pages.chat_rows import when
from backscroll.web.pages.settings_forgets import asked_section
from backscroll.web.pages.settings_sync import sync_state
from backscroll.web.requests import PageRequest

SHOWN: Final = 50
SOON: Final = timedelta(days=7)
THEMES: Final = (("system", "System", "theme"), ("light", "Light", "light"), ("dark", "Dark", "moon"))
RATES: Final = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read")


def show(request: PageRequest) -> Html:
    """Return the page. `?check=1` reads every session, which takes a while."""
    library = request.library
    is_checked = request.get("check") == "1"
    cards = [
        _card("Appearance", "theme", "In this browser.", _theme()),
        _card("Homes", "home", "The folders of Claude Code that are read.", _homes(library)),
        _card("Library", "search", "What makes your chats quick to find. It can be rebuilt at any time.",
              _library(library)),
        _card("Archive", "archive", "Every session, byte for byte, also after Claude Code deleted it.",
              _archive(library)),
        _card("Sync", "refresh", "One history on several machines.",
              join([asked_section(library), sync_state(library, is_started=request.get("started") == "1")])),
        _card("Health", "check", "Unreadable files, unknown data, upcoming deletions.",
              _health(library) if is_checked else _offer(), is_wide=is_checked),
        _card("Prices", "coin", "What costs are computed with.", _prices(library)),
        _card("About", "spark", "", _about(library)),
    ]  # fmt: skip
    main = join([el("h1", "Settings"), el("div", cards, class_="setting-cards")])
    return document("Settings", main, here="/settings", scripts=("settings.js",), styles=("pages.css",),
                    body_class="settings")  # fmt: skip


def _card(title: str, drawing: str, about: str, content: Html, *, is_wide: bool = False) -> Html:
    head = el("header", icon(drawing), el("h2", title), el("p", about, class_="muted") if about else NOTHING)
    return el("section", head, content, id=title.lower(), class_=f"card{' wide' if is_wide else ''}")


def _facts(rows: Iterable[tuple[str, object]]) -> Html:
    return el("dl", [el("div", el("dt", name), el("dd", value)) for name, value in rows], class_="facts-list")


def _theme() -> Html:
    choices = [
        el("label", el("input", type="radio", name="theme", value=value), icon(drawing), el("span", name))
        for value, name, drawing in THEMES
    ]
    fields = el("fieldset", el("legend", "Theme", class_="unseen"), choices, class_="choices", hidden=True, id="theme")
    return join([fields, el("noscript", el("p", "The theme follows your system.", class_="muted"))])


def _homes(library: Library) -> Html:
    items = []
    for home in library.homes:
        health = HomeHealth(home, cleanup_days=cleanup_days(home))
        state = (
            el("p", _retention(health), class_="muted")
            if home.exists
            else el("p", el("span", "not found", class_="badge warn"))
        )
        items.append(el("li", el("code", str(home.path)), state))
    items += [_kept_home(home) for home in known_homes(library.settings, library.homes) if home.state != "open"]
    hint = join(["Add one with ", el("code", "--home"), ", or as ", el("code", "homes"), " in the settings file."])
    return join([el("ul", items, class_="plain"), el("p", hint, class_="muted")])


def _kept_home(home: KnownHome) -> Html:
    states = {
        "gone": "not on this machine any more; shown from the archive",
        "on another machine": f"on {clean_line(home.machine)}; shown from the archive",
        "not shown": "not shown, because it is not the home in use",
    }
    state = f"{plural(home.sessions, 'session')}, {states.get(home.state, home.state)}"
    return el("li", el("code", clean_line(home.path)), el("p", state, class_="muted"))


def _library(library: Library) -> Html:
    folder = library.settings.library
    rows: list[tuple[str, object]] = [("Folder", el("code", str(folder)))]
    if library.is_indexed:
        pending = library.pending_passages()
        totals = library.totals()
        rows += [
            ("Index", size(library.index_size())),
            ("Chats", f"{totals.chats:,}, with {plural(totals.messages, 'message')}"),
            ("Indexed", f"all but {plural(pending, 'passage')}" if pending else "everything"),
        ]
    else:
        rows.append(("Index", "none yet: the first update creates it"))
    return _facts(rows)


def _archive(library: Library) -> Html:
    now = datetime.now(UTC)
    try:
        state = status(library.settings, library.homes, now)
    except NothingFound as nothing:
        return el("p", nothing.message, class_="muted")
    share = f" ({100 * state.stored / state.size:.0f} %)" if state.size else ""
    captured = [el("div", when(_moment(at)), " ", el("code", home)) for home, at in state.captured.items()]
    verified = _moment(state.verified) if state.verified else None
    rows: list[tuple[str, object]] = [
        ("Archived", f"{plural(state.files, 'file')}, {plural(state.sessions, 'session')}"),
        ("Size", f"{size(state.size)} in {size(state.stored)}{share}"),
        ("Last captured", captured or "never"),
        ("Last verified", when(verified) if verified else join(["never: ", el("code", "backscroll archive verify")])),
        ("Deleted by Claude Code", f"{plural(len(state.gone), 'session')}, kept in the archive"),
    ]
    if state.damaged_lines:
        rows.append(("Damaged", el("span", plural(state.damaged_lines, "line"), class_="badge error")))
    return join([_facts(rows), _due(state, now)])


def _due(found: ArchiveStatus, now: datetime) -> Html:
    if not found.due:
        return el("p", "Claude Code will delete no sessions in the next 7 days.", class_="muted")
    rows = [
        el("tr",
           el("td", "at its next start" if item.due <= now else when(item.due)),
           el("td", el("a", item.file.place.session_id or "?", href=f"/chats/{item.file.place.session_id}")
              if item.file.place.session_id else "?", class_="mono"),
           el("td", size(item.file.size), class_="number"))
        for item in found.due[:SHOWN]
    ]  # fmt: skip
    head = el("tr", el("th", "Deleted by Claude Code", scope="col"), el("th", "Session", scope="col"),
              el("th", "Size", scope="col", class_="number"))  # fmt: skip
    more = el("p", f"… and {len(found.due) - SHOWN:,} more", class_="muted") if len(found.due) > SHOWN else NOTHING
    table = el("div", el("table", el("thead", head), el("tbody", rows)), class_="scroll")
    return el("details", el("summary", f"{plural(len(found.due), 'session')} expiring within 7 days"),
              table, more)  # fmt: skip


def _offer() -> Html:
    return join([
        el("p", "The check reads every session, which takes a while."),
        el("p", el("a", "Check now", href="/settings?check=1#health", class_="button")),
    ])  # fmt: skip


def _health(library: Library) -> Html:
    health = examine(library.homes)
    now = datetime.now(UTC)
    inspection = health.inspection
    rows: list[tuple[str, object]] = [
        ("Sessions", f"{plural(inspection.files, 'file')}, {size(inspection.size)}"),
        ("Records", f"{inspection.records:,} on {plural(inspection.lines, 'line')}"),
        ("Problems", el("span", f"{inspection.problems:,}", class_="badge warn") if inspection.problems else "none"),
    ]
    if inspection.first and inspection.last:
        rows.append(("Time", join([when(inspection.first), " to ", when(inspection.last)])))
    parts = [_facts(rows), *(_home(home, now) for home in health.homes), _troubles(health), _unknown(health)]
    return join(parts)


def _home(home: HomeHealth, now: datetime) -> Html:
    title = el("h3", el("code", str(home.home.path)))
    if not home.exists:
        return join([title, el("p", "Not found, or never used.", class_="warn")])
    overdue = sum(1 for item in home.deletions if item.due <= now)
    soon = sum(1 for item in home.deletions if now < item.due <= now + SOON)
    rows: list[tuple[str, object]] = [
        ("Retention", _retention(home)),
        ("Overdue", f"{plural(overdue, 'session')}; deleted at Claude Code's next start" if overdue else "none"),
        ("Within 7 days", f"{plural(soon, 'session')}" if soon else "none"),
        ("Projects", f"{len(home.projects):,}"),
        ("Running", ", ".join(f"{live.session_id or '?'} (process {live.pid})" for live in home.live) or "none"),
        ("Files", join([el("div", f"{count:,} {kind}, {size(home.sizes[kind])}")
                        for kind, count in home.files.most_common()])),
    ]  # fmt: skip
    unreadable = [f"{item.path}: {item.reason}" for item in home.unreadable]
    return join([title, _facts(rows), _folded(f"{plural(len(unreadable), 'path')} could not be read", unreadable)])


def _retention(home: HomeHealth) -> str:
    source = "the default" if home.cleanup_days is None else "cleanupPeriodDays in settings.json"
    return f"Claude Code deletes a session {plural(home.days, 'day')} after its last change ({source})."


def _troubles(health: Health) -> Html:
    inspection = health.inspection
    kinds = Counter(str(item.kind) for item in inspection.troubles).most_common()
    files = len({item.file for item in inspection.troubles})
    summary = f"{plural(inspection.problems, 'problem')} in {plural(files, 'file')}: "
    summary += ", ".join(f"{count:,} {kind}" for kind, count in kinds)
    troubles = [f"{item.file}:{item.line}: {item.kind}: {item.detail}" for item in inspection.troubles]
    unreadable = [f"{item.path}: {item.reason}" for item in inspection.unreadable]
    return join([
        _folded(summary, troubles),
        _folded(f"{plural(len(unreadable), 'session')} could not be read", unreadable),
    ])  # fmt: skip


def _unknown(health: Health) -> Html:
    seen = sorted(health.inspection.unknown.values(), key=lambda item: -item.count)
    lines = [
        f"{item.count:,} × {item.drift.what} {item.drift.name or '(none)'}"
        + (f", first in {item.version}" if item.version else "")
        for item in seen
    ]
    if not lines:
        return el("p", "This version knows everything in them.", class_="good")
    note = el(
        "p", "It is archived unchanged; nothing is lost. A newer version of backscroll may know it.", class_="muted"
    )
    total = sum(item.count for item in seen)
    summary = f"Unknown to this version of backscroll: {plural(len(lines), 'thing')}, seen {plural(total, 'time')}"
    return join([_folded(summary, lines), note])


def _folded(told: str, lines: list[str]) -> Html:
    """Return many lines as one sentence, which opens to show them."""
    if not lines:
        return NOTHING
    items = [el("li", clean_line(line)) for line in lines[:SHOWN]]
    left = len(lines) - SHOWN
    more = el("p", f"… and {left:,} more: backscroll doctor lists them", class_="muted") if left > 0 else NOTHING
    return el("details", el("summary", told), el("ul", items, class_="lines mono"), more)


def _prices(library: Library) -> Html:
    listed = list_prices(library.settings)
    heads = ("Model", "Input", "Output", "Write 5 min", "Write 1 h", "Cache read", "From")
    head = [el("th", name, scope="col", class_="number" if 0 < place < 6 else None) for place, name in enumerate(heads)]
    rows = [_price(item) for item in listed.prices]
    table = el("table", el("thead", el("tr", head)), el("tbody", rows), class_="prices")
    origin = (
        f"USD per million tokens, from {listed.snapshot.package} {listed.snapshot.version} ({listed.snapshot.made}). "
        "Prices in the settings file override them."
    )
    scroll = el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Prices")
    return join([el("p", origin, class_="muted"),
                 el("details", el("summary", plural(len(listed.prices), "price")), scroll)])  # fmt: skip


def _price(item: ListedPrice) -> Html:
    price = item.price
    rates = [el("td", f"{getattr(price.rates, name) / 1000:g}", class_="number") for name in RATES]
    name = f"{price.model} (fast mode)" if price.is_fast else price.model
    return el("tr", el("th", name, scope="row"), rates, el("td", price.source))


def _about(library: Library) -> Html:
    return _facts([
        ("backscroll", __version__),
        ("Python", f"{platform.python_version()} on {platform.system()}"),
        ("Settings file", join([el("code", str(library.settings.file)),
                                "" if library.settings.file.exists() else " (none; it is optional)"])),
    ])  # fmt: skip


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
