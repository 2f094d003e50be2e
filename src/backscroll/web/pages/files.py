"""The file pages: the most changed files, and the history of one file.

A path in an address is only compared with the paths that the library knows. No file is opened by it.
"""

from collections.abc import Sequence
from typing import Final

from backscroll.errors import NothingFound, UsageError
from backscroll.library.analytics.file_calls import FileCallRow, calls_of_path
from backscroll.library.analytics.files import SORTS, files
from backscroll.library.library import Library
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.html.reports import notes_list, report_table
from backscroll.render.terminal import plural
from backscroll.web.layout import document, empty_state
from backscroll.web.pages import first_run
from backscroll.web.pages.chat_rows import when
from backscroll.web.pages.files_changes import changes
from backscroll.web.pages.files_versions import lines, versions
from backscroll.web.pages.stats_links import file_address, file_search, link_of
from backscroll.web.pages.stats_reports import about_of
from backscroll.web.requests import PageRequest

SHOWN: Final = 50
VIEWS: Final = {"changes": "Changes", "versions": "Versions", "lines": "Line by line"}


def show(request: PageRequest) -> Html:
    """Return the page of all files, or of the one in the address."""
    if first_run.is_first_run(request.library):
        return first_run.page("Files", "/files")
    path = request.get("path").strip()
    if not path:
        return _most_changed(request)
    calls = calls_of_path(request.library, path)
    paths = list(dict.fromkeys(call.file for call in reversed(calls)))
    if len(paths) != 1:
        return _choice(path, paths)
    return _one(request, paths[0], calls)


def _most_changed(request: PageRequest) -> Html:
    about, _ = about_of(request)
    sort = request.get("sort") or SORTS[0]
    if sort not in SORTS:
        raise UsageError(f"unknown sort order {sort}", f"use one of {', '.join(SORTS)}")
    limit = request.number("limit", SHOWN, 1, 10_000)
    report = files(request.library, about, sort, limit)
    orders = [
        el("a", name, href=f"/files?sort={order}", aria_current="true" if order == sort else None)
        for order, name in zip(SORTS, ("Most changed", "Most read", "In most chats", "Most recent"), strict=True)
    ]
    if not report.rows and not request.library.totals().chats:
        return _page("Files", join([el("h1", "Files"), first_run.no_chats()]))
    left = len(report.rows) - limit
    main = join([
        el("h1", "Files"),
        el("p", "Files that chats read and changed, and the prompts behind each change.", class_="muted"),
        _search(""),
        el("nav", orders, el("a", "By folder", href="/stats/folders"), class_="ranges", aria_label="Order"),
        report_table(report.columns, report.rows[:limit], caption="Files", bar=report.bar, link=link_of)
        if report.rows else empty_state("file", "No chat has read or changed a file."),
        el("p", f"{left:,} more. ", el("a", "Show all", href=f"/files?sort={sort}&limit=10000")) if left > 0 else None,
        notes_list(report.notes),
    ])  # fmt: skip
    return _page("Files", main)


def _choice(path: str, found: Sequence[str]) -> Html:
    if not found:
        raise NothingFound(f"no chat read or changed {path}", "see the list of files at /files")
    some = found[: 4 * SHOWN]
    note = f"{len(found):,} files match" + (f"; the most recent {len(some):,}:" if some != found else ":")
    main = join([
        el("h1", "Files"),
        _search(path),
        el("p", note),
        el("ul", [el("li", el("a", name, href=file_address(name), class_="mono")) for name in some], class_="paths"),
    ])  # fmt: skip
    return _page("Files", main)


def _one(request: PageRequest, file: str, calls: Sequence[FileCallRow]) -> Html:
    view = request.get("view") or "changes"
    if view not in VIEWS:
        raise UsageError(f"unknown view {view}", f"use one of {', '.join(VIEWS)}")
    show_view = {"changes": changes, "versions": versions, "lines": lines}[view]
    tabs = [
        el("a", name, href=file_address(file, view=key) if key != "changes" else file_address(file),
           aria_current="page" if key == view else None)
        for key, name in VIEWS.items()
    ]  # fmt: skip
    folder, _, name = file.rpartition("/")
    main = join([
        el("p", el("a", icon("arrow-left"), "Files", href="/files"), class_="back"),
        el("h1", name or file),
        el("p", el("code", f"{folder}/"), class_="muted file-path") if folder else NOTHING,
        _summary(request.library, file, calls),
        el("nav", tabs, class_="tabs", aria_label="Views"),
        show_view(request, file, calls),
    ])  # fmt: skip
    return _page(name or file, main)


def _summary(library: Library, file: str, calls: Sequence[FileCallRow]) -> Html:
    del library
    done = [call for call in calls if call.is_done]
    edits, chats = sum(call.changes for call in done), {call.chat for call in calls if call.chat}
    times = [call.when for call in calls if call.when]
    failed = len(calls) - len(done)
    parts = [
        plural(edits, "change"),
        plural(len(done) - edits, "read"),
        f"{failed:,} failed or denied" if failed else None,
        el("a", f"in {plural(len(chats), 'chat')}", href=file_search(file)),
        join([when(min(times)), " to ", when(max(times))]) if times else None,
    ]
    return el("p", join([part for part in parts if part], " · "), class_="muted")


def _search(path: str) -> Html:
    return el(
        "form",
        el("input", type="search", name="path", value=path or None, placeholder="Part of a path, such as app.py",
           aria_label="File path", autocomplete="off", spellcheck="false"),
        el("button", "Find", type="submit"),
        action="/files", class_="find-file", role="search", aria_label="Files",
    )  # fmt: skip


def _page(title: str, main: Html) -> Html:
    return document(title, main, here="/files", styles=("code.css", "stats.css"), scripts=("stats.js",))
