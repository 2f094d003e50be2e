"""Search matches, grouped by file."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.tools.call_view import CallReader


class MatchLine(NamedTuple):
    """A line of the search tool's output. `file` is empty if the line names none."""

    file: str
    number: str
    text: str
    is_match: bool = True
    """False for a context line."""


def matches(reader: CallReader, text: str, where: str = "") -> Html:
    """Return the matches, file by file. `where` is the searched path; lines without a file name belong to it."""
    if text.count("\n") > MAX_LINES:
        return el("pre", text, class_="plain")
    groups: list[Html] = []
    file, lines = "", list[Html]()
    for line in _lines(text):
        if line is None:
            lines += [el("div", "⋯", class_="match gap")] if lines else []
            continue
        name = line.file or (where if line.number else "")
        if lines and not _is_same_file(name, file):
            groups.append(_group(reader, file, lines))
            lines = []
        file = name if not lines else file
        lines.append(_line(line))
    groups.append(_group(reader, file, lines))
    return el("div", groups, class_="matches scroll", tabindex=0, role="region", aria_label="Matches")


def _lines(text: str) -> Iterator[MatchLine | None]:
    """Yield each line; None where lines are omitted."""
    written = text.split("\n")
    names = {match[1] for line in written if (match := MATCH.match(line))}
    # `a.py-4-x:12:` is line 4 of a.py, not a file of that name, if there is an a.py.
    names -= {name for name in names if _find_dashed_number(name, names)}
    for line in written:
        match = MATCH.match(line)
        if match is not None and match[1] in names:
            yield MatchLine(match[1], match[2], match[3])
        elif (cut := _find_dashed_number(line, names) or (_find_dashed_number(line) if names else None)) is not None:
            yield MatchLine(line[: cut.start()], cut[1], line[cut.end() + 1 :], is_match=False)
        elif (match := NUMBERED.match(line)) is not None:
            yield MatchLine("", match[1], match[3], is_match=match[2] == ":")
        elif line:
            yield None if line == "--" else MatchLine("", "", line)


def _find_dashed_number(line: str, names: set[str] | None = None) -> re.Match[str] | None:
    """Return the line number between dashes after the file name, as in `a.py-4-text`."""
    for match in DASHED.finditer(line, 1, LONGEST_NAME):
        name = line[: match.start()]
        if name in names if names is not None else "." in name:
            return match
    return None


def _line(line: MatchLine) -> Html:
    number = el("span", line.number, class_="line-number") if line.number else NOTHING
    return el("div", number, el("span", line.text), class_="match" if line.is_match else "match around")


def _group(reader: CallReader, file: str, lines: list[Html]) -> Html:
    name = el("p", reader.short_path(file), class_="match-file", title=file) if file else NOTHING
    return el("div", name, el("div", lines, class_="match-lines")) if lines else NOTHING


def _is_same_file(one: str, other: str) -> bool:
    """Whether two names are the same file: the search tool mixes absolute and relative paths."""
    if not one or not other:
        return one == other
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


MATCH: Final = re.compile(r"((?:[A-Za-z]:[\\/])?[^:\n]{0,400}[^\s:]):(\d{1,9}):(.*)$")
DASHED: Final = re.compile(r"-(\d{1,9})(?=-)")
NUMBERED: Final = re.compile(r"(\d{1,9})([:-])(.*)$")
LONGEST_NAME: Final = 400
MAX_LINES: Final = 5000
"""Most lines shown: with more, a browser would take seconds to lay them out."""
