"""Earlier versions of a file, and each line with the change that added it (blame)."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby
from time import thread_time
from typing import Final

from backscroll.errors import NothingFound
from backscroll.library.analytics.file_calls import FileCallRow, PromptFinder
from backscroll.library.chats.file_versions import FileState, History, history, seen_at
from backscroll.render.html.code import code, highlight_lines, line_html, normalize_text
from backscroll.render.html.diffs import diff_texts
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.time_limit import timed
from backscroll.render.terminal import clean_line, plural
from backscroll.web.pages.chat_rows import when
from backscroll.web.pages.files_changes import prompt_text
from backscroll.web.pages.stats_links import call_address, cut_name, file_address
from backscroll.web.reader_zone import reader_now
from backscroll.web.requests import PageRequest

MAX_LINES: Final = 5_000
LARGEST_MATCH: Final = 4_000_000
"""Old lines times new lines; larger changes are not compared, and count as new."""


def versions(request: PageRequest, file: str, calls: Sequence[FileCallRow]) -> Html:
    """Return one version, with links to the others; `at` is its number, a message or a time."""
    del calls
    past = history(request.library, file)
    seen = _requested_state(request, past)
    as_diff = request.get("show") == "diff"
    how = {"show": "diff"} if as_diff else {}
    switch = el(
        "a", "Whole file" if as_diff else "Diff", class_="button",
        href=file_address(file, view="versions", at=str(seen.number), **({} if as_diff else {"show": "diff"})),
    )  # fmt: skip
    return join([
        _steps(file, "versions", seen, past, how),
        _version_note(file, seen, past),
        el("p", switch, " ", el("a", "Line by line", class_="button",
                                href=file_address(file, view="lines", at=str(seen.number)))),
        _body(file, seen, as_diff=as_diff),
        _every_version(file, past, seen),
    ])  # fmt: skip


def lines(request: PageRequest, file: str, calls: Sequence[FileCallRow]) -> Html:
    """Return a version line by line, each with the change that added it."""
    del calls
    past = history(request.library, file)
    seen = _requested_state(request, past)
    steps = _steps(file, "lines", seen, past, {})
    if seen.version.content is None:
        return join([steps, _version_note(file, seen, past)])
    contents = [version.content for version, _ in past.versions[: seen.number]]
    return join([steps, _version_note(file, seen, past), _origins(request, file, past, seen, contents)])


def origins(contents: Sequence[str | None]) -> list[int]:
    """For each line of the last text, return the number (from 1) of the text that added it. Skip unknown texts."""
    known: list[str] = []
    brought: list[int] = []
    for number, content in enumerate(contents, start=1):
        if content is not None:
            fresh = normalize_text(content).split("\n")
            brought = _carried(known, brought, fresh, number)
            known = fresh
    return brought


def _carried(old: list[str], brought: list[int], new: list[str], number: int) -> list[int]:
    start, most = 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    middle = [number] * len(after)
    if before and after and len(before) * len(after) <= LARGEST_MATCH:
        for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
            middle[block.b : block.b + block.size] = brought[start + block.a : start + block.a + block.size]
    return [*brought[:start], *middle, *brought[len(old) - end :]]


def _requested_state(request: PageRequest, found: History) -> FileState:
    now = reader_now()
    at = request.get("at").strip()
    if not (at.isascii() and at.isdecimal() and len(at) <= 6 and 1 <= int(at) <= len(found.versions)):
        try:
            return seen_at(request.library, found, at or None, now)
        except NothingFound as error:
            raise NothingFound(error.message, "see its changes, or choose another version") from error
    number = int(at)
    version, call = found.versions[number - 1]
    before = found.versions[number - 2][0].content if number > 1 else None
    return FileState(found.file, number, version, call, version.certain, version.basis, before)


def _steps(file: str, view: str, seen: FileState, found: History, more: dict[str, str]) -> Html:
    def step(number: int, name: str) -> Html:
        if not 1 <= number <= len(found.versions) or number == seen.number:
            return el("span", name, class_="button off", aria_disabled="true")
        return el("a", name, class_="button", href=file_address(file, view=view, at=str(number), **more))

    return el(
        "nav",
        step(1, "First"),
        step(seen.number - 1, "Previous"),
        el("strong", f"Version {seen.number:,} of {len(found.versions):,}"),
        step(seen.number + 1, "Next"),
        step(len(found.versions), "Last"),
        class_="steps",
        aria_label="Versions",
    )


def _version_note(file: str, seen: FileState, found: History) -> Html:
    del file
    where = call_address(seen.call) if seen.call else None
    parts = [
        when(seen.version.when),
        el("a", seen.version.touch.tool or "show in chat", href=where) if where else None,
        el("span", "exact", class_="badge") if seen.certain else el("span", "uncertain", class_="badge warn"),
        f"based on {seen.basis}",
        f"the file on {found.machine}; others are on {', '.join(found.others)}" if found.others else None,
    ]
    return el("p", join([part for part in parts if part], " · "), class_="muted")


def _body(file: str, seen: FileState, *, as_diff: bool) -> Html:
    content = seen.version.content
    if content is None:
        return el("p", "The contents at that time are unknown.", class_="muted")
    if as_diff:
        if seen.before is None:
            return join([el("p", "No earlier version is known.", class_="muted"), _text(file, content)])
        if seen.before == content:
            return el("p", "Nothing changed.", class_="muted")
        with timed(thread_time):
            return diff_texts(seen.before, content, file)
    with timed(thread_time):
        return _text(file, content)


def _text(file: str, content: str) -> Html:
    kept = content.split("\n")[: MAX_LINES + 1]
    if len(kept) <= MAX_LINES:
        return code(content, file=file, first_line=1)
    note = el("p", f"The first {MAX_LINES:,} lines.", class_="muted")
    return join([note, code("\n".join(kept[:MAX_LINES]), file=file, first_line=1)])


def _every_version(file: str, found: History, seen: FileState) -> Html:
    rows = []
    for number, (version, call) in reversed(list(enumerate(found.versions, start=1))):
        where = call_address(call) if call else None
        tool = version.touch.tool or "copy"
        counts = "" if version.added is None else f"+{version.added} −{version.removed}"
        rows.append(
            el(
                "tr",
                el(
                    "td",
                    el("a", f"{number}", href=file_address(file, view="versions", at=str(number))),
                    class_="number",
                ),
                el("td", when(version.when)),
                el("td", el("a", tool, href=where) if where else tool),
                el("td", counts, class_="number"),
                el("td", "yes" if version.certain else "no"),
                el("td", version.basis, class_="long"),
                aria_current="true" if number == seen.number else None,
            )
        )
    names = (
        ("Version", "number"),
        ("Time", None),
        ("Tool", None),
        ("Lines", "number"),
        ("Exact", None),
        ("Basis", None),
    )
    head = el("tr", [el("th", name, scope="col", class_=style) for name, style in names])
    table = el("table", el("thead", head), el("tbody", rows), class_="report")
    return el(
        "details",
        el("summary", f"All {plural(len(found.versions), 'version')}"),
        el("div", table, class_="scroll", tabindex=0, role="region", aria_label="All versions"),
        class_="chart-figures",
    )


def _origins(request: PageRequest, file: str, found: History, seen: FileState, contents: Sequence[str | None]) -> Html:
    with timed(thread_time):
        drawn = [line_html(line) for line in highlight_lines(seen.version.content or "", file=file)]
    brought = origins(contents)[: len(drawn)]
    titles, prompts = request.library.titles(), PromptFinder(request.library)
    names: dict[int, Html] = {}
    rows, place = [], 0
    for number, some in groupby(brought[:MAX_LINES]):
        count = len(list(some))
        if number not in names:
            names[number] = _origin(file, found, number, titles, prompts)
        # The style sheet draws the line numbers, so that they are not copied.
        part = [
            el("span", line, class_="line", data_line=place + offset + 1)
            for offset, line in enumerate(drawn[place : place + count])
        ]
        rows.append(
            el("tr", el("th", names[number], scope="row"),
               el("td", el("pre", el("code", join(part, "\n")), class_="code numbered")))
        )  # fmt: skip
        place += count
    cut = el("p", f"The first {MAX_LINES:,} lines.", class_="muted") if len(drawn) > MAX_LINES else NOTHING
    table = el("table", el("caption", "Each line with the change that added it", class_="unseen"),
               el("tbody", rows), class_="origins")  # fmt: skip
    return join([cut, el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Line by line")])


def _origin(file: str, found: History, number: int, titles: dict[str, str], prompts: PromptFinder) -> Html:
    """Return the change that added some lines: when, and for which prompt."""
    version, call = found.versions[number - 1]
    link = el("a", f"{number}", href=file_address(file, view="versions", at=str(number), show="diff"),
              title=f"Version {number:,}: {version.basis}")  # fmt: skip
    cause = NOTHING
    if call is not None and version.touch.tool and version.added is not None:
        prompt = prompts.of(call)
        text = prompt_text(prompt) if prompt else clean_line(titles.get(call.chat or "", ""))
        where = call_address(call)
        name = cut_name(text) or call.tool
        cause = el("a", name, href=where, title=text) if where else el("span", name)
    else:
        cause = el("span", "original" if number == 1 else "changed outside Claude Code", class_="muted")
    return join([link, " ", when(version.when), el("br"), cause])
