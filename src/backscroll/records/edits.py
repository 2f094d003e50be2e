"""The inputs and results of tools that read and change files: texts before and after, and changed lines."""

from typing import Any, Final, NamedTuple

from msgspec import Raw

from backscroll.records.content import ToolUse
from backscroll.records.decode import value_of


class TextReplacement(NamedTuple):
    """A piece of text that an edit replaces, and its replacement."""

    old: str
    new: str
    everywhere: bool = False


class Hunk(NamedTuple):
    """Lines that changed, as in a diff: each begins with a space, `-` or `+`."""

    old_start: int
    lines: tuple[str, ...]


class FileInput(NamedTuple):
    """The input of a call that changes a file."""

    content: str | None = None
    """The whole file, as in the input of `Write`."""
    replacements: tuple[TextReplacement, ...] = ()


class FileResult(NamedTuple):
    """The result of a call that reads or changes a file."""

    before: str | None = None
    """The whole file before the change."""
    content: str | None = None
    """The text that was read or written."""
    is_new: bool = False
    hunks: tuple[Hunk, ...] = ()
    replacements: tuple[TextReplacement, ...] = ()
    by_user: bool = False
    """Whether the user edited the proposed change."""
    first_line: int = 1
    lines: int | None = None
    """Number of lines that were read, of `total_lines`."""
    total_lines: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the whole file was read."""
        return self.first_line <= 1 and self.lines is not None and self.lines == self.total_lines

    @property
    def added(self) -> int:
        """The number of added lines."""
        if self.hunks or not self.is_new:
            return sum(line.startswith("+") for hunk in self.hunks for line in hunk.lines)
        return line_count(self.content or "")

    @property
    def removed(self) -> int:
        """The number of removed lines."""
        return sum(line.startswith("-") for hunk in self.hunks for line in hunk.lines)


def file_input(call: ToolUse) -> FileInput:
    """Return the input of a call that changes a file."""
    fields = _fields(value_of(call.input))
    edits = fields.get("edits") if isinstance(fields.get("edits"), list) else [fields]
    replacements = (_replacement(_fields(edit), "old_string", "new_string", "replace_all") for edit in edits or ())
    return FileInput(_text(fields.get("content")), tuple(replacement for replacement in replacements if replacement))


def file_result(result: Raw) -> FileResult:
    """Return the file result in a `toolUseResult`; empty if it has none."""
    fields = _fields(value_of(result))
    read = _fields(fields.get("file"))
    if read:
        return FileResult(
            content=_text(read.get("content")),
            first_line=_number(read.get("startLine")) or 1,
            lines=_number(read.get("numLines")),
            total_lines=_number(read.get("totalLines")),
        )
    before = _text(fields.get("originalFile"))
    replacement = _replacement(fields, "oldString", "newString", "replaceAll")
    return FileResult(
        before=before if before is not None else _text(fields.get("originalFileContents")),
        content=_text(fields.get("content")),
        is_new=fields.get("type") == "create",
        hunks=_hunks(fields.get("structuredPatch")),
        replacements=(replacement,) if replacement else (),
        by_user=fields.get("userModified") is True,
    )


def line_count(text: str) -> int:
    """Count the lines of a text; a final newline does not start another line."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _hunks(value: Any) -> tuple[Hunk, ...]:  # noqa: ANN401 - whatever JSON holds
    hunks = []
    for part in value if isinstance(value, list) else ():
        fields = _fields(part)
        lines = fields.get("lines")
        if isinstance(lines, list):
            kept = tuple(line for line in lines if isinstance(line, str))
            hunks.append(Hunk(_number(fields.get("oldStart")) or 0, kept))
    return tuple(hunks)


def _replacement(fields: dict[str, Any], old: str, new: str, everywhere: str) -> TextReplacement | None:
    before, after = _text(fields.get(old)), _text(fields.get(new))
    if before is None or after is None:
        return None
    return TextReplacement(before, after, fields.get(everywhere) is True)


def _fields(value: Any) -> dict[str, Any]:  # noqa: ANN401
    return value if isinstance(value, dict) else NOTHING


def _text(value: Any) -> str | None:  # noqa: ANN401
    return value if isinstance(value, str) else None


def _number(value: Any) -> int | None:  # noqa: ANN401
    return value if isinstance(value, int) and not isinstance(value, bool) else None


NOTHING: Final[dict[str, Any]] = {}
