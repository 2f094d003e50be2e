"""Tools that read and change files."""

import re
from collections.abc import Iterator
from typing import Any, Final

from backscroll.records.content import Image
from backscroll.records.edits import FileResult, Hunk, TextReplacement, file_input, file_result, line_count
from backscroll.render.html.code import code
from backscroll.render.html.diffs import DiffHunk, diff, diff_of_texts
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.plain import CUT_LINES, SLACK, cut
from backscroll.render.html.prose import prose
from backscroll.render.html.tools.call_view import CallReader, CallView, label
from backscroll.render.html.tools.matches import matches
from backscroll.render.terminal import plural

SMALL_DIFF: Final = 30
"""A change of so many lines is read at a glance, so it is not folded."""


def change(called: CallReader) -> CallView:
    """Edit, MultiEdit, Write: what changed in a file."""
    path = called.told("filePath") or called.asked("file_path", "notebook_path")
    result = _result_of(called)
    if result.hunks and not called.has_failed:
        lines = sum(len(hunk.lines) for hunk in result.hunks)
        facts = f"+{result.added} −{result.removed}"
        shown = _hunks(called, result.hunks, path)
    else:
        lines, facts, shown = _asked_for(called, path)
    by_user = el("p", "You edited this change before it was saved.", class_="muted") if result.by_user else NOTHING
    is_open = lines <= SMALL_DIFF or called.has_failed
    return CallView(called.short_path(path), [shown, by_user], facts, is_open=is_open, path=path)


def _asked_for(called: CallReader, path: str) -> tuple[int, str, Html]:
    """The change as it was asked for, where the result does not say what became of it."""
    asked = file_input(called.call.block)
    if asked.content is not None:
        count = line_count(asked.content)
        word = "new file, " if called.fields.get("type") == "create" else ""
        return count, f"{word}{plural(count, 'line')}", called.code(asked.content, file=path, first_line=1)
    shown = [_replaced(called, one, path) for one in asked.replacements]
    everywhere = (
        el("p", "all occurrences", class_="muted") if any(o.everywhere for o in asked.replacements) else NOTHING
    )
    lines = sum(line_count(one.old) + line_count(one.new) for one in asked.replacements)
    return lines, "", join([*shown, everywhere])


def _replaced(called: CallReader, one: TextReplacement, path: str) -> Html:
    if called.view.whole:
        return diff_of_texts(one.old, one.new, path)
    (old, old_lines), (new, new_lines) = cut(one.old), cut(one.new)
    lines = max(old_lines, new_lines)
    return join([diff_of_texts(old, new, path), called.more(lines) if lines else NOTHING])


def _hunks(called: CallReader, hunks: tuple[Hunk, ...], path: str) -> Html:
    total = sum(len(hunk.lines) for hunk in hunks)
    room = total if called.view.whole or total <= MOST_DIFF_LINES * SLACK else MOST_DIFF_LINES
    kept: list[DiffHunk] = []
    moved = left = 0
    for hunk in hunks:
        if left < room:
            kept.append(DiffHunk(hunk.old_start, hunk.old_start + moved, hunk.lines[: room - left]))
        left += len(hunk.lines)
        moved += sum((line[:1] == "+") - (line[:1] == "-") for line in hunk.lines)
    return join([diff(kept, path), called.more(total) if room < total else NOTHING])


def _result_of(called: CallReader) -> FileResult:
    return file_result(called.call.result.details) if called.call.result else FileResult()


def notebook(called: CallReader) -> CallView:
    """NotebookEdit: a cell."""
    path = called.asked("notebook_path")
    mode = called.asked("edit_mode") or "replace"
    cell = called.asked("cell_id") or str(called.input.get("cell_number", ""))
    source = called.asked("new_source")
    is_text = called.asked("cell_type") == "markdown"
    shown = called.prose(source) if is_text else called.code(source, called.told("language") or "python")
    old = called.told("old_source")
    parts = [label("was", called.code(old, "python"))] if old else []
    facts = f"{mode} cell {cell}".strip()
    return CallView(
        called.short_path(path), [*parts, shown], facts, is_open=line_count(source) <= SMALL_DIFF, path=path
    )


def read(called: CallReader) -> CallView:
    """Read: what stands in a file."""
    path = called.asked("file_path", "notebook_path")
    name = called.short_path(path)
    if called.has_failed or called.call.result is None:
        return CallView(name, path=path)
    cells = _fields(called.fields.get("file")).get("cells")
    if isinstance(cells, list):
        return CallView(name, list(_cells(called, cells)), plural(len(cells), "cell"), path=path)
    if any(isinstance(block, Image) for block in called.result_blocks):
        return CallView(name, called.pictures(), "picture", is_open=True, path=path)
    result = _result_of(called)
    text, first = (result.content, result.first_line) if result.content is not None else unnumbered(called.output)
    count = line_count(text)
    whole = result.total_lines
    facts = (
        f"lines {first:,}–{first + count - 1:,}" if first > 1 or (whole and whole > count) else plural(count, "line")
    )
    if not text.strip():
        return CallView(name, [el("p", called.output or "empty", class_="muted")], "empty", path=path)
    return CallView(name, [called.code(text, file=path, first_line=first)], facts, path=path)


def unnumbered(text: str) -> tuple[str, int]:
    """A file as the client shows it to the model, without the numbers, and the number of its first line."""
    lines = text.split("\n")
    first = NUMBERED.match(lines[0]) if lines else None
    if first is None:
        return text, 1
    plain = [line[match.end() :] if (match := NUMBERED.match(line)) else line for line in lines]
    return "\n".join(plain), int(first[1])


def _cells(called: CallReader, cells: list[Any]) -> Iterator[Html]:
    shown = cells if called.view.whole else cells[:20]
    for cell in map(_fields, shown):
        source = cell.get("source")
        text = "".join(part for part in source if isinstance(part, str)) if isinstance(source, list) else source
        if isinstance(text, str) and text.strip():
            is_text = cell.get("cellType") == "markdown"
            yield called.cut(text, prose if is_text else lambda part: code(part, "python"))
    if len(cells) > len(shown):
        yield called.more(len(cells))


def listing(called: CallReader) -> CallView:
    """Glob and LS: names of files."""
    names = called.fields.get("filenames")
    about = called.asked("pattern") or called.short_path(called.asked("path"))
    where = called.asked("path") if called.asked("pattern") else ""
    if isinstance(names, list):
        files = [name for name in names if isinstance(name, str)]
        more = " and more" if called.fields.get("truncated") is True else ""
        facts = plural(len(files), "file") + more
        return CallView(about, [_where(called, where), file_list(called, files)], facts)
    if called.has_failed:
        return CallView(about)
    return CallView(
        about, [called.cut(called.told("content") or called.output, lambda text: el("pre", text, class_="plain"))]
    )


def grep(called: CallReader) -> CallView:
    """Grep: matches, file by file."""
    about, where = called.asked("pattern"), called.asked("path")
    names = called.fields.get("filenames")
    content = called.told("content")
    scope = [f"{name} {value}" for name in ("glob", "type") if (value := called.asked(name))]
    place = _where(called, where, *scope)
    if called.has_failed:
        return CallView(about, [place])
    if not content and isinstance(names, list) and names:
        files = [name for name in names if isinstance(name, str)]
        return CallView(about, [place, file_list(called, files)], plural(len(files), "file"))
    text = content or called.output
    count = called.fields.get("numLines")
    facts = plural(count, "line") if isinstance(count, int) and count else ""
    facts = facts or ("nothing found" if text.startswith(("No matches", "No files")) else "")
    return CallView(about, [place, called.cut(text, lambda shown: matches(called, shown, where))], facts)


def file_list(called: CallReader, files: list[str]) -> Html:
    """Names of files, each leading to what happened to it."""
    room = len(files) if called.view.whole or len(files) <= CUT_LINES * SLACK else CUT_LINES
    items = []
    for name in files[:room]:
        address = called.view.links.file(name)
        short = called.short_path(name)
        items.append(el("li", el("a", short, href=address) if address else short, title=name))
    listed = el("ul", items, class_="file-list")
    return join([listed, called.more(len(files))]) if room < len(files) else listed


def _where(called: CallReader, where: str, *scope: str) -> Html:
    told = [f"in {called.short_path(where)}"] if where else []
    return el("p", ", ".join([*told, *scope]), class_="muted where") if told or scope else NOTHING


def _fields(value: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON holds
    return value if isinstance(value, dict) else {}


MOST_DIFF_LINES: Final = 80
NUMBERED: Final = re.compile(r"\s{0,12}(\d{1,9})(?:→|\t)")
