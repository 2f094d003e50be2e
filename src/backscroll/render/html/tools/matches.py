"""Lines that a search found, below the names of the files that they stand in."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.tools.call_view import CallReader


class MatchLine(NamedTuple):
    """A line of what the search tool wrote. `file` is empty where it does not say one."""

    file: str
    number: str
    text: str
    is_match: bool = True
    """Else it only stands around one."""


def matches(called: CallReader, text: str, where: str = "") -> Html:
    """What was found, file by file; `where` is the file that was searched, if it was one."""
    if text.count("\n") > MOST_LINES:
        return el("pre", text, class_="plain")
    shown: list[Html] = []
    file, lines = "", list[Html]()
    for line in _lines(text):
        if line is None:
            lines += [el("div", "⋯", class_="match gap")] if lines else []
            continue
        name = line.file or (where if line.number else "")
        if lines and not _is_same(name, file):
            shown.append(_group(called, file, lines))
            lines = []
        file = name if not lines else file
        lines.append(_line(line))
    shown.append(_group(called, file, lines))
    return el("div", shown, class_="matches scroll", tabindex=0, role="region", aria_label="Matches")


def _lines(text: str) -> Iterator[MatchLine | None]:
    """Each line; None where some are left out."""
    written = text.split("\n")
    names = {found[1] for line in written if (found := MATCH.match(line))}
    # `a.py-4-x:12:` is line 4 of a.py and no file, if there is a.py.
    names -= {name for name in names if _around(name, names)}
    for line in written:
        found = MATCH.match(line)
        if found is not None and found[1] in names:
            yield MatchLine(found[1], found[2], found[3])
        elif (cut := _around(line, names) or (_around(line) if names else None)) is not None:
            yield MatchLine(line[: cut.start()], cut[1], line[cut.end() + 1 :], is_match=False)
        elif (found := NUMBERED.match(line)) is not None:
            yield MatchLine("", found[1], found[3], is_match=found[2] == ":")
        elif line:
            yield None if line == "--" else MatchLine("", "", line)


def _around(line: str, names: set[str] | None = None) -> re.Match[str] | None:
    """Where in a line, behind the name of its file, its number stands between dashes."""
    for found in DASHED.finditer(line, 1, LONGEST_NAME):
        name = line[: found.start()]
        if name in names if names is not None else "." in name:
            return found
    return None


def _line(line: MatchLine) -> Html:
    number = el("span", line.number, class_="line-number") if line.number else NOTHING
    return el("div", number, el("span", line.text), class_="match" if line.is_match else "match around")


def _group(called: CallReader, file: str, lines: list[Html]) -> Html:
    name = el("p", called.short_path(file), class_="match-file", title=file) if file else NOTHING
    return el("div", name, el("div", lines, class_="match-lines")) if lines else NOTHING


def _is_same(one: str, other: str) -> bool:
    """Whether two names mean one file: the search tool mixes whole paths and relative ones."""
    if not one or not other:
        return one == other
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


MATCH: Final = re.compile(r"((?:[A-Za-z]:[\\/])?[^:\n]{0,400}[^\s:]):(\d{1,9}):(.*)$")
DASHED: Final = re.compile(r"-(\d{1,9})(?=-)")
NUMBERED: Final = re.compile(r"(\d{1,9})([:-])(.*)$")
LONGEST_NAME: Final = 400
MOST_LINES: Final = 5000
"""With more than these, a browser would take seconds to lay them out one by one."""
