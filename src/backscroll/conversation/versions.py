"""Rebuild the versions of a file from the calls that read, wrote and changed it. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from backscroll.records.edits import FileInput, FileResult, Hunk, TextReplacement, line_count
from backscroll.records.tools import READING_TOOLS


class FileAccess(NamedTuple):
    """A successful call that read or changed a file, or a backup that the client made (`tool` is empty)."""

    when: datetime | None
    tool: str
    asked: FileInput
    got: FileResult
    source: str = ""
    """A reference of the caller's choice to the call."""


class FileVersion(NamedTuple):
    """The content of a file from some time on."""

    when: datetime | None
    content: str | None
    """Content of the file; None if unknown."""
    certain: bool
    """Whether all of it is in a transcript or a backup; otherwise part of it was inferred."""
    basis: str
    """Sources of the content, in a few words."""
    added: int | None
    removed: int | None
    touch: FileAccess


def versions(touches: Iterable[FileAccess]) -> Iterator[FileVersion]:
    """Yield the content of the file after each access, in order. An access that shows nothing new makes no version.

    A version is certain until an access shows that the file was changed by others in between; changes by shell commands
    between two versions are not recorded.
    """
    content: str | None = None
    certain = False
    for touch in touches:
        before = touch.got.before
        if before is not None:
            if before != content:
                yield _version(touch, content, before, True, FOUND, keep_counts=False)
            content, certain = before, True
        if touch.tool in READING_TOOLS or not touch.tool:
            seen = _version_from_read(touch, content, certain)
        else:
            seen = _version_from_edit(touch, content, certain)
        if seen is None:
            continue
        fresh, certain, basis = seen
        yield _version(touch, content, fresh, certain, basis, keep_counts=bool(touch.tool not in READING_TOOLS))
        content = fresh


def apply_replacements(text: str, replacements: Iterable[TextReplacement]) -> str | None:
    """Return the text after the replacements; None if any does not match."""
    for old, new, everywhere in replacements:
        if not old:
            if text:
                return None
            text = new
        elif old not in text:
            return None
        else:
            text = text.replace(old, new) if everywhere else text.replace(old, new, 1)
    return text


def apply_hunks(text: str, hunks: Iterable[Hunk]) -> str | None:
    """Return the text after a diff; None if its lines do not match the text."""
    lines = text.split("\n")
    moved = 0
    for hunk in hunks:
        kept = [line for line in hunk.lines if not line.startswith("\\")]
        old = [line[1:] for line in kept if not line.startswith("+")]
        new = [line[1:] for line in kept if not line.startswith("-")]
        at = max(0, hunk.old_start - 1) + moved
        if lines[at : at + len(old)] != old:
            return None
        lines[at : at + len(old)] = new
        moved += len(new) - len(old)
    return "\n".join(lines)


def _version_from_read(touch: FileAccess, content: str | None, certain: bool) -> tuple[str | None, bool, str] | None:
    """Return the new version that a read shows, if any."""
    got = touch.got
    if got.content is None:
        return None
    if not touch.tool:
        return None if got.content == content else (got.content, True, "a backup that Claude Code made")
    if got.is_whole:
        # Some versions leave out the last newline, so a text that differs only there is the same.
        if content is not None and certain and content.rstrip("\n") == got.content.rstrip("\n"):
            return None
        return got.content, True, "the whole file, as it was read"
    if content is None or got.lines is None:
        return None
    start = got.first_line - 1
    known = content.split("\n")[start : start + got.lines]
    if certain and known != got.content.split("\n")[: got.lines] and known != got.content.rstrip("\n").split("\n"):
        return content, False, "the previous version; a part that was read later differs"
    return None


def _version_from_edit(touch: FileAccess, content: str | None, certain: bool) -> tuple[str | None, bool, str]:
    """Return the version that an edit makes."""
    request, got = touch.asked, touch.got
    if touch.tool == "Write":
        written = got.content if got.content is not None else request.content
        return written, written is not None, "the whole file, as it was written"
    if touch.tool == "NotebookEdit":
        return None, False, "a notebook cell was changed; notebooks cannot be rebuilt"
    replacements = got.replacements or request.replacements
    if content is None:
        if len(replacements) == 1 and not replacements[0].old:
            return replacements[0].new, True, "a new file"
        return None, False, "an edit of a file whose content is not known"
    named = "the previous content, from the tool result" if got.before is not None else "the previous version"
    by_texts = apply_replacements(content, replacements) if replacements else None
    by_lines = apply_hunks(content, got.hunks) if got.hunks else None
    if got.by_user and by_lines is not None:
        return by_lines, certain, f"{named}, with the lines that the user accepted"
    # The texts first: the lines of a result have spaces where the file has tabs.
    if by_texts is not None:
        return by_texts, certain and not got.by_user, f"{named}, with the edit"
    if by_lines is not None:
        return by_lines, certain, f"{named}, with the changed lines"
    return None, False, "an edit that does not match what is known of the file"


def _version(
    touch: FileAccess, before: str | None, content: str | None, certain: bool, basis: str, *, keep_counts: bool
) -> FileVersion:
    got = touch.got
    counts: tuple[int | None, int | None] = (None, None)
    if keep_counts:
        counts = (got.added, got.removed)
        if touch.tool == "Write" and before is None and content is not None and not got.hunks:
            counts = (line_count(content), 0)
    return FileVersion(touch.when, content, certain, basis, *counts, touch)


FOUND: Final = "the file as it was before the edit"
"""The basis of a version that is older than the call that shows it."""
