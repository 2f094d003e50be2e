"""Tools that read and change files."""

import re
from collections.abc import Iterator
from typing import Any, Final

from backscroll.records.content import Image
from backscroll.records.edits import FileResult, Hunk, TextReplacement, file_input, file_result, line_count
from backscroll.render.html.code import code
from backscroll.render.html.diffs import DiffHunk, diff, diff_texts
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.plain import CUT_LINES, SLACK, truncate
from backscroll.render.html.prose import prose
from backscroll.render.html.tools.call_view import CallReader, CallView, label
from backscroll.render.html.tools.matches import matches
from backscroll.render.terminal import plural

SMALL_DIFF: Final = 30
"""Changes of up to this many lines are expanded."""


def file_change(reader: CallReader) -> CallView:
    """Edit, MultiEdit, Write: the change in a file."""
    path = reader.detail_text("filePath") or reader.input_text("file_path", "notebook_path")
    result = _result_of(reader)
    if result.hunks and not reader.has_failed:
        lines = sum(len(hunk.lines) for hunk in result.hunks)
        facts = f"+{result.added} −{result.removed}"
        change = _hunks(reader, result.hunks, path)
    else:
        lines, facts, change = _requested_change(reader, path)
    by_user = el("p", "You edited this change before it was saved.", class_="muted") if result.by_user else NOTHING
    is_open = lines <= SMALL_DIFF or reader.has_failed
    return CallView(reader.short_path(path), [change, by_user], facts, is_open=is_open, path=path)


def _requested_change(reader: CallReader, path: str) -> tuple[int, str, Html]:
    """Return the change in the input, if the result does not include a diff."""
    request = file_input(reader.call.block)
    if request.content is not None:
        count = line_count(request.content)
        word = "new file, " if reader.details.get("type") == "create" else ""
        return count, f"{word}{plural(count, 'line')}", reader.code(request.content, file=path, first_line=1)
    replacements = [_replacement(reader, edit, path) for edit in request.replacements]
    everywhere = (
        el("p", "all occurrences", class_="muted") if any(o.everywhere for o in request.replacements) else NOTHING
    )
    lines = sum(line_count(edit.old) + line_count(edit.new) for edit in request.replacements)
    return lines, "", join([*replacements, everywhere])


def _replacement(reader: CallReader, one: TextReplacement, path: str) -> Html:
    if reader.view.whole:
        return diff_texts(one.old, one.new, path)
    (old, old_lines), (new, new_lines) = truncate(one.old), truncate(one.new)
    lines = max(old_lines, new_lines)
    return join([diff_texts(old, new, path), reader.more(lines) if lines else NOTHING])


def _hunks(reader: CallReader, hunks: tuple[Hunk, ...], path: str) -> Html:
    total = sum(len(hunk.lines) for hunk in hunks)
    room = total if reader.view.whole or total <= MAX_DIFF_LINES * SLACK else MAX_DIFF_LINES
    kept: list[DiffHunk] = []
    moved = left = 0
    for hunk in hunks:
        if left < room:
            kept.append(DiffHunk(hunk.old_start, hunk.old_start + moved, hunk.lines[: room - left]))
        left += len(hunk.lines)
        moved += sum((line[:1] == "+") - (line[:1] == "-") for line in hunk.lines)
    return join([diff(kept, path), reader.more(total) if room < total else NOTHING])


def _result_of(reader: CallReader) -> FileResult:
    return file_result(reader.call.result.details) if reader.call.result else FileResult()


def notebook(reader: CallReader) -> CallView:
    """NotebookEdit: a change of a cell."""
    path = reader.input_text("notebook_path")
    mode = reader.input_text("edit_mode") or "replace"
    cell = reader.input_text("cell_id") or str(reader.input.get("cell_number", ""))
    source = reader.input_text("new_source")
    is_text = reader.input_text("cell_type") == "markdown"
    contents = reader.prose(source) if is_text else reader.code(source, reader.detail_text("language") or "python")
    old = reader.detail_text("old_source")
    parts = [label("was", reader.code(old, "python"))] if old else []
    facts = f"{mode} cell {cell}".strip()
    return CallView(
        reader.short_path(path), [*parts, contents], facts, is_open=line_count(source) <= SMALL_DIFF, path=path
    )


def read(reader: CallReader) -> CallView:
    """Read: the contents of a file."""
    path = reader.input_text("file_path", "notebook_path")
    name = reader.short_path(path)
    if reader.has_failed or reader.call.result is None:
        return CallView(name, path=path)
    cells = _fields(reader.details.get("file")).get("cells")
    if isinstance(cells, list):
        return CallView(name, list(_cells(reader, cells)), plural(len(cells), "cell"), path=path)
    if any(isinstance(block, Image) for block in reader.result_blocks):
        return CallView(name, reader.pictures(), "picture", is_open=True, path=path)
    result = _result_of(reader)
    text, first = (
        (result.content, result.first_line) if result.content is not None else strip_line_numbers(reader.output)
    )
    count = line_count(text)
    whole = result.total_lines
    facts = (
        f"lines {first:,}–{first + count - 1:,}" if first > 1 or (whole and whole > count) else plural(count, "line")
    )
    if not text.strip():
        return CallView(name, [el("p", reader.output or "empty", class_="muted")], "empty", path=path)
    return CallView(name, [reader.code(text, file=path, first_line=first)], facts, path=path)


def strip_line_numbers(text: str) -> tuple[str, int]:
    """Return a file's text as the client shows it to the model, without line numbers; and its first line number."""
    lines = text.split("\n")
    first = NUMBERED.match(lines[0]) if lines else None
    if first is None:
        return text, 1
    plain = [line[match.end() :] if (match := NUMBERED.match(line)) else line for line in lines]
    return "\n".join(plain), int(first[1])


def _cells(reader: CallReader, cells: list[Any]) -> Iterator[Html]:
    visible = cells if reader.view.whole else cells[:20]
    for cell in map(_fields, visible):
        source = cell.get("source")
        text = "".join(part for part in source if isinstance(part, str)) if isinstance(source, list) else source
        if isinstance(text, str) and text.strip():
            is_text = cell.get("cellType") == "markdown"
            yield reader.truncate(text, prose if is_text else lambda part: code(part, "python"))
    if len(cells) > len(visible):
        yield reader.more(len(cells))


def listing(reader: CallReader) -> CallView:
    """Glob, LS: file names."""
    names = reader.details.get("filenames")
    about = reader.input_text("pattern") or reader.short_path(reader.input_text("path"))
    where = reader.input_text("path") if reader.input_text("pattern") else ""
    if isinstance(names, list):
        files = [name for name in names if isinstance(name, str)]
        more = " and more" if reader.details.get("truncated") is True else ""
        facts = plural(len(files), "file") + more
        return CallView(about, [_where(reader, where), file_list(reader, files)], facts)
    if reader.has_failed:
        return CallView(about)
    return CallView(
        about,
        [reader.truncate(reader.detail_text("content") or reader.output, lambda text: el("pre", text, class_="plain"))],
    )


def grep(reader: CallReader) -> CallView:
    """Grep: matches, file by file."""
    about, where = reader.input_text("pattern"), reader.input_text("path")
    names = reader.details.get("filenames")
    content = reader.detail_text("content")
    scope = [f"{name} {value}" for name in ("glob", "type") if (value := reader.input_text(name))]
    place = _where(reader, where, *scope)
    if reader.has_failed:
        return CallView(about, [place])
    if not content and isinstance(names, list) and names:
        files = [name for name in names if isinstance(name, str)]
        return CallView(about, [place, file_list(reader, files)], plural(len(files), "file"))
    text = content or reader.output
    count = reader.details.get("numLines")
    facts = plural(count, "line") if isinstance(count, int) and count else ""
    facts = facts or ("nothing found" if text.startswith(("No matches", "No files")) else "")
    return CallView(about, [place, reader.truncate(text, lambda shown: matches(reader, shown, where))], facts)


def file_list(reader: CallReader, files: list[str]) -> Html:
    """Return file names, each linked to the history of the file."""
    room = len(files) if reader.view.whole or len(files) <= CUT_LINES * SLACK else CUT_LINES
    items = []
    for name in files[:room]:
        address = reader.view.links.file(name)
        short = reader.short_path(name)
        items.append(el("li", el("a", short, href=address) if address else short, title=name))
    listed = el("ul", items, class_="file-list")
    return join([listed, reader.more(len(files))]) if room < len(files) else listed


def _where(reader: CallReader, where: str, *scope: str) -> Html:
    place = [f"in {reader.short_path(where)}"] if where else []
    return el("p", ", ".join([*place, *scope]), class_="muted where") if place or scope else NOTHING


def _fields(value: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON holds
    return value if isinstance(value, dict) else {}


MAX_DIFF_LINES: Final = 80
NUMBERED: Final = re.compile(r"\s{0,12}(\d{1,9})(?:→|\t)")
