"""Diffs: numbered lines, with the changed words marked in changed lines."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from backscroll.render.html.code import Line, highlight_lines, line_html, normalize_text
from backscroll.render.html.element import Html, el, join, trusted
from backscroll.render.terminal import plural


class DiffHunk(NamedTuple):
    """Changed lines and their context. Each line starts with a space, `+` or `-`, or with `\\` for a remark."""

    old_start: int
    new_start: int
    lines: Sequence[str]


class DiffRow(NamedTuple):
    """One line of a diff."""

    mark: str
    old: int | None
    new: int | None
    line: Line
    changed: Sequence[tuple[int, int]] = ()
    """The characters that differ from the line it replaces, or that replaces it."""


def diff(hunks: Iterable[DiffHunk], file: str = "") -> Html:
    """Render the hunks of a unified diff. The file name selects the syntax highlighting."""
    pieces: list[Html] = []
    left = MAX_ROWS
    for hunk in hunks:
        lines = [line for whole in hunk.lines for line in split_diff_line(whole)]
        rows = list(diff_rows(DiffHunk(hunk.old_start, hunk.new_start, lines[:left]), file))
        rest = lines[left:]
        left -= len(rows)
        # After many rows, the rest has no numbers or colours: a browser takes seconds for a hundred thousand rows.
        more = el("pre", "\n".join(rest), class_="plain", tabindex="0") if rest else None
        pieces.append(el("div", fold_unchanged(rows), more, class_="hunk"))
    return el("div", join(pieces, trusted(GAP)), class_="diff")


def diff_texts(old: str, new: str, file: str = "") -> Html:
    """Render the difference of two texts. If comparing takes too long, show all old lines, then all new lines."""
    return diff(diff_hunks(old, new), file)


def split_diff_line(line: str) -> Iterator[str]:
    """Yield the lines in a diff line, each with its mark: without a mark it is unchanged, and it may contain line
    breaks."""
    first, *more = normalize_text(line).split("\n")
    mark = first[:1] if first[:1] in MARKS else " "
    yield first if first[:1] == mark else f" {first}"
    yield from (f"{mark}{rest}" for rest in more)


def diff_hunks(old: str, new: str) -> Iterator[DiffHunk]:
    """Yield the differences, with three lines of context."""
    before, after = split_lines(old), split_lines(new)
    start = common_prefix_length(before, after)
    end = common_prefix_length(before[start:][::-1], after[start:][::-1])
    steps = [
        ("equal", 0, start, 0, start),
        *diff_opcodes(before[start : len(before) - end], after[start : len(after) - end], start, MAX_PAIRS),
        ("equal", len(before) - end, len(before), len(after) - end, len(after)),
    ]
    lines: list[str] = []
    first: tuple[int, int] = (1, 1)
    for number, (kind, old_from, old_to, new_from, new_to) in enumerate(steps):
        if kind != "equal":
            lines += [f"-{line}" for line in before[old_from:old_to]]
            lines += [f"+{line}" for line in after[new_from:new_to]]
            continue
        same = before[old_from:old_to]
        is_last = number == len(steps) - 1
        lead, tail = (0 if number == 0 else CONTEXT_LINES), (0 if is_last else CONTEXT_LINES)
        if len(same) > lead + tail:
            lines += [f" {line}" for line in same[:lead]]
            if any(line[0] != " " for line in lines):
                yield DiffHunk(*first, lines)
            lines = [f" {line}" for line in same[len(same) - tail :]]
            first = (old_to - tail + 1, new_to - tail + 1)
        else:
            lines += [f" {line}" for line in same]
    if any(line[0] != " " for line in lines):
        yield DiffHunk(*first, lines)


def diff_opcodes(
    before: Sequence[str], after: Sequence[str], start: int, most_pairs: int
) -> Iterator[tuple[str, int, int, int, int]]:
    """Return the opcodes of difflib; a single `replace` if comparing would take too long."""
    places = Counter(before)
    pairs = sum(count * places[line] for line, count in Counter(after).items())
    if len(before) + len(after) > MAX_LINES or pairs > most_pairs:
        yield ("replace", start, start + len(before), start, start + len(after))
        return
    for kind, old_from, old_to, new_from, new_to in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        yield (kind, old_from + start, old_to + start, new_from + start, new_to + start)


def split_lines(text: str) -> list[str]:
    """Split a text into lines; an empty text has none."""
    normalized = normalize_text(text)
    return normalized.split("\n") if normalized or text else []


def common_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the equal items at the start."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def diff_rows(hunk: DiffHunk, file: str) -> Iterator[DiffRow]:
    """Yield the lines of a hunk, numbered and highlighted. The old and the new side are highlighted separately."""
    sides = {
        side: iter(highlight_lines("\n".join(line[1:] for line in hunk.lines if line[0] in kinds), file=file))
        for side, kinds in (("-", " -"), ("+", " +"))
    }
    old, new = hunk.old_start, hunk.new_start
    changes = changed_words(hunk.lines)
    for number, line in enumerate(hunk.lines):
        mark = line[0]
        changed = changes.get(number, ())
        if mark == "\\":
            yield DiffRow(mark, None, None, [("", line[1:].strip())])
            continue
        coloured = next(sides["-"], None) if mark != "+" else None
        if mark != "-":
            coloured = next(sides["+"], coloured)
        yield DiffRow(mark, old if mark != "+" else None, new if mark != "-" else None, coloured or [], changed)
        old += mark != "+"
        new += mark != "-"


def changed_words(lines: Sequence[str]) -> dict[int, Sequence[tuple[int, int]]]:
    """Return the differing characters of lines that replace one another, by index of the line."""
    changes: dict[int, Sequence[tuple[int, int]]] = {}
    removed: list[int] = []
    for mark, group in groupby(range(len(lines)), lambda number: lines[number][:1]):
        numbers = list(group)
        if mark == "+" and max(len(removed), len(numbers)) <= MAX_PAIRED_LINES:
            for old, new in zip(removed, numbers, strict=False):
                gone, come = differing_spans(lines[old][1:], lines[new][1:])
                changes[old], changes[new] = gone, come
        removed = numbers if mark == "-" else []
    return changes


def differing_spans(old: str, new: str) -> tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]:
    """Return the differing characters of two lines; none if the lines have too little in common."""
    if len(old) + len(new) > LONGEST_LINE:
        return (), ()
    before, after = WORDS.findall(old), WORDS.findall(new)
    start = common_prefix_length(before, after)
    end = common_prefix_length(before[start:][::-1], after[start:][::-1])
    gone: list[tuple[int, int]] = []
    come: list[tuple[int, int]] = []
    steps = diff_opcodes(before[start : len(before) - end], after[start : len(after) - end], start, MAX_WORD_PAIRS)
    for kind, old_from, old_to, new_from, new_to in steps:
        if kind != "equal":
            gone.append((len("".join(before[:old_from])), len("".join(before[:old_to]))))
            come.append((len("".join(after[:new_from])), len("".join(after[:new_to]))))
    same = len(old) - sum(last - first for first, last in gone)
    if same * 5 < max(len(old), len(new)) * 2:
        return (), ()
    return [span for span in gone if span[0] < span[1]], [span for span in come if span[0] < span[1]]


def fold_unchanged(rows: Sequence[DiffRow]) -> Iterator[Html]:
    """Yield the rows, with long unchanged stretches folded."""
    for is_same, group in groupby(rows, lambda row: row.mark == " "):
        stretch = list(group)
        if is_same and len(stretch) > FOLD_OVER:
            middle = stretch[CONTEXT_LINES:-CONTEXT_LINES]
            yield join(map(row_html, stretch[:CONTEXT_LINES]))
            yield el(
                "details", el("summary", plural(len(middle), "unchanged line")), map(row_html, middle), class_="fold"
            )
            yield join(map(row_html, stretch[-CONTEXT_LINES:]))
        else:
            yield join(map(row_html, stretch))


def row_html(row: DiffRow) -> Html:
    """Render a row. The style sheet draws the line numbers, so they are not copied; the mark is text."""
    # Without `el`, because there are very many rows.
    old, new = (f' data-line="{number}"' if number is not None else "" for number in (row.old, row.new))
    mark = row.mark if row.mark in "+-" else " "
    return trusted(
        f'<div class="row {MARKS[row.mark]}"><span class="old"{old}></span><span class="new"{new}></span>'
        f'<span class="mark">{mark}</span><span class="text">{row_text_html(row)}</span></div>'
    )


def row_text_html(row: DiffRow) -> str:
    """Return the text of a row, with changed words in `<ins>` or `<del>`."""
    if not row.changed:
        return line_html(row.line)
    name = "ins" if row.mark == "+" else "del"
    out: list[str] = []
    at = 0
    edges = sorted({edge for span in row.changed for edge in span})
    for kind, piece in row.line:
        cuts = [0, *(edge - at for edge in edges if 0 < edge - at < len(piece)), len(piece)]
        for start, end in pairwise(cuts):
            inner = line_html([(kind, piece[start:end])])
            is_changed = any(first <= at + start < last for first, last in row.changed)
            out.append(f"<{name}>{inner}</{name}>" if is_changed else inner)
        at += len(piece)
    return "".join(out).replace(f"</{name}><{name}>", "")


CONTEXT_LINES: Final = 3
FOLD_OVER: Final = 12
MAX_ROWS: Final = 4_000
MAX_LINES: Final = 6_000
MAX_PAIRS: Final = 60_000
MAX_WORD_PAIRS: Final = 1_000
MAX_PAIRED_LINES: Final = 40
LONGEST_LINE: Final = 600
MARKS: Final = {" ": "same", "+": "added", "-": "removed", "\\": "remark"}
WORDS: Final = re.compile(r"\w+|\s+|.")
GAP: Final = '<div class="gap" role="separator">⋯</div>'
