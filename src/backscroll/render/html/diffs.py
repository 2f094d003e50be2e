"""What changed in a file: lines with their numbers, and in changed lines the words that changed."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from backscroll.render.html.code import Line, markup, pieces, plain
from backscroll.render.html.element import Html, el, join, trusted
from backscroll.render.terminal import plural


class DiffHunk(NamedTuple):
    """Lines that changed and lines around them. Each begins with a space, `+` or `-`, or with `\\` for a remark."""

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
    """Which of its characters are new or gone, where it stands against another line."""


def diff(hunks: Iterable[DiffHunk], file: str = "") -> Html:
    """The hunks of a unified diff. The name of the file is only needed for the colours."""
    shown: list[Html] = []
    left = MOST_ROWS
    for hunk in hunks:
        lines = [line for whole in hunk.lines for line in marked(whole)]
        rows = list(rows_of(DiffHunk(hunk.old_start, hunk.new_start, lines[:left]), file))
        rest = lines[left:]
        left -= len(rows)
        # Past many rows the rest is shown without numbers and colours: a browser takes seconds for a hundred thousand.
        more = el("pre", "\n".join(rest), class_="plain", tabindex="0") if rest else None
        shown.append(el("div", folded(rows), more, class_="hunk"))
    return el("div", join(shown, trusted(GAP)), class_="diff")


def diff_of_texts(old: str, new: str, file: str = "") -> Html:
    """What became of a text. Where finding out would take long, all of the old and then all of the new."""
    return diff(hunks_of(old, new), file)


def marked(line: str) -> Iterator[str]:
    """The line with its mark, whatever stood in it: one that has none did not change, one of several is several."""
    first, *more = plain(line).split("\n")
    mark = first[:1] if first[:1] in MARKS else " "
    yield first if first[:1] == mark else f" {first}"
    yield from (f"{mark}{rest}" for rest in more)


def hunks_of(old: str, new: str) -> Iterator[DiffHunk]:
    """The differences, with three lines around each."""
    before, after = lines_of(old), lines_of(new)
    start = common(before, after)
    end = common(before[start:][::-1], after[start:][::-1])
    steps = [
        ("equal", 0, start, 0, start),
        *compared(before[start : len(before) - end], after[start : len(after) - end], start, MOST_PAIRS),
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
        lead, tail = (0 if number == 0 else AROUND), (0 if is_last else AROUND)
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


def compared(
    before: Sequence[str], after: Sequence[str], start: int, most_pairs: int
) -> Iterator[tuple[str, int, int, int, int]]:
    """The steps from one to the other, as difflib has them; one step where it would take long."""
    places = Counter(before)
    pairs = sum(count * places[line] for line, count in Counter(after).items())
    if len(before) + len(after) > MOST_LINES or pairs > most_pairs:
        yield ("replace", start, start + len(before), start, start + len(after))
        return
    for kind, old_from, old_to, new_from, new_to in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        yield (kind, old_from + start, old_to + start, new_from + start, new_to + start)


def lines_of(text: str) -> list[str]:
    """The lines; no text has none."""
    shown = plain(text)
    return shown.split("\n") if shown or text else []


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many of the first items are the same."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def rows_of(hunk: DiffHunk, file: str) -> Iterator[DiffRow]:
    """Its lines with numbers and colours. Each side is coloured as the text that it was."""
    sides = {
        side: iter(pieces("\n".join(line[1:] for line in hunk.lines if line[0] in kinds), file=file))
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
    """Of lines that replace others, one by one: the characters that differ, by the number of the line."""
    changes: dict[int, Sequence[tuple[int, int]]] = {}
    removed: list[int] = []
    for mark, group in groupby(range(len(lines)), lambda number: lines[number][:1]):
        numbers = list(group)
        if mark == "+" and max(len(removed), len(numbers)) <= MOST_PAIRED:
            for old, new in zip(removed, numbers, strict=False):
                gone, come = differing(lines[old][1:], lines[new][1:])
                changes[old], changes[new] = gone, come
        removed = numbers if mark == "-" else []
    return changes


def differing(old: str, new: str) -> tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]:
    """Which characters of each differ; none if they have so little in common that it would be all."""
    if len(old) + len(new) > LONGEST_LINE:
        return (), ()
    before, after = WORDS.findall(old), WORDS.findall(new)
    start = common(before, after)
    end = common(before[start:][::-1], after[start:][::-1])
    gone: list[tuple[int, int]] = []
    come: list[tuple[int, int]] = []
    steps = compared(before[start : len(before) - end], after[start : len(after) - end], start, MOST_WORD_PAIRS)
    for kind, old_from, old_to, new_from, new_to in steps:
        if kind != "equal":
            gone.append((len("".join(before[:old_from])), len("".join(before[:old_to]))))
            come.append((len("".join(after[:new_from])), len("".join(after[:new_to]))))
    same = len(old) - sum(last - first for first, last in gone)
    if same * 5 < max(len(old), len(new)) * 2:
        return (), ()
    return [span for span in gone if span[0] < span[1]], [span for span in come if span[0] < span[1]]


def folded(rows: Sequence[DiffRow]) -> Iterator[Html]:
    """The rows, where many in a row did not change with a fold around those in the middle."""
    for is_same, group in groupby(rows, lambda row: row.mark == " "):
        stretch = list(group)
        if is_same and len(stretch) > FOLDED:
            middle = stretch[AROUND:-AROUND]
            yield join(map(drawn, stretch[:AROUND]))
            yield el("details", el("summary", plural(len(middle), "unchanged line")), map(drawn, middle), class_="fold")
            yield join(map(drawn, stretch[-AROUND:]))
        else:
            yield join(map(drawn, stretch))


def drawn(row: DiffRow) -> Html:
    """A row. Numbers are drawn by the style sheet, so that they are not copied along; the mark is text."""
    # Not by `el`: there are very many of these.
    old, new = (f' data-line="{number}"' if number is not None else "" for number in (row.old, row.new))
    mark = row.mark if row.mark in "+-" else " "
    return trusted(
        f'<div class="row {MARKS[row.mark]}"><span class="old"{old}></span><span class="new"{new}></span>'
        f'<span class="mark">{mark}</span><span class="text">{worded(row)}</span></div>'
    )


def worded(row: DiffRow) -> str:
    """The text of a row, with the words that changed in `<ins>` or `<del>`."""
    if not row.changed:
        return markup(row.line)
    name = "ins" if row.mark == "+" else "del"
    out: list[str] = []
    at = 0
    edges = sorted({edge for span in row.changed for edge in span})
    for kind, piece in row.line:
        cuts = [0, *(edge - at for edge in edges if 0 < edge - at < len(piece)), len(piece)]
        for start, end in pairwise(cuts):
            inner = markup([(kind, piece[start:end])])
            is_changed = any(first <= at + start < last for first, last in row.changed)
            out.append(f"<{name}>{inner}</{name}>" if is_changed else inner)
        at += len(piece)
    return "".join(out).replace(f"</{name}><{name}>", "")


AROUND: Final = 3
FOLDED: Final = 12
MOST_ROWS: Final = 4_000
MOST_LINES: Final = 6_000
MOST_PAIRS: Final = 60_000
MOST_WORD_PAIRS: Final = 1_000
MOST_PAIRED: Final = 40
LONGEST_LINE: Final = 600
MARKS: Final = {" ": "same", "+": "added", "-": "removed", "\\": "remark"}
WORDS: Final = re.compile(r"\w+|\s+|.")
GAP: Final = '<div class="gap" role="separator">⋯</div>'
