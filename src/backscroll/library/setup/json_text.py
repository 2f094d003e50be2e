"""Change a JSON text in a few places, and leave every other byte of it as it is.

A parsed text is a tree of values with their positions. Additions are inserted as pieces in the style of the text around
them; removing them restores the earlier text. Comments and trailing commas are understood, and stay.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

Kind = Literal["object", "array", "string", "scalar"]


@dataclass(slots=True, eq=False)
class Value:
    """A value in a text, from `start` to `end`. An object has keys beside its children."""

    kind: Kind
    start: int
    end: int = 0
    children: list["Value"] = field(default_factory=list)
    keys: list["Value"] = field(default_factory=list)
    text: str = ""
    """The decoded text of a string."""

    def member(self, name: str) -> "Value | None":
        """Return the value of a key. Of repeated keys the last one counts, as for Claude Code."""
        return next(reversed(self.members(name)), None)

    def members(self, name: str) -> list["Value"]:
        """Return the values of a key that may be repeated."""
        return [child for key, child in self.pairs() if key == name]

    def pairs(self) -> Iterator[tuple[str, "Value"]]:
        """Yield the keys and values of an object; nothing for any other value."""
        return ((key.text, child) for key, child in zip(self.keys, self.children, strict=False))

    def first_of(self, child: "Value") -> int:
        """Return the start of a child; in an object, of its key."""
        return self.keys[self.children.index(child)].start if self.keys else child.start


class JsonText(NamedTuple):
    """A parsed text with its root value."""

    text: str
    root: Value | None
    """None for a text without a value."""
    is_strict: bool
    """Whether it has neither comments nor trailing commas, which JSON does not allow."""


class TextChange(NamedTuple):
    """A replacement of the text from `start` to `end` by `new`."""

    start: int
    end: int
    new: str


def parse(text: str) -> JsonText:
    """Parse a text; ValueError if it is not JSON."""
    parser = _JsonParser(text)
    at = parser.skip(1 if text.startswith(BYTE_ORDER_MARK) else 0)
    if at == len(text):
        return JsonText(text, None, parser.is_strict)
    root = parser.value(at)
    if (rest := parser.skip(root.end)) != len(text):
        raise parser.error("there is more after the end", rest)
    return JsonText(text, root, parser.is_strict)


def apply_changes(text: str, changes: Iterable[TextChange]) -> str:
    """Return the text with these changes, which must not overlap."""
    for start, end, new in sorted(changes, key=lambda change: change.start)[::-1]:
        text = text[:start] + new + text[end:]
    return text


def add_children(document: JsonText, parent: Value, children: Sequence[tuple[str | None, Any]]) -> list[TextChange]:
    """Add keys with values to an object, or values without keys to an array, after its last child.

    If the parent is empty, a marker of spaces after its bracket tells `remove_child` that it existed, and was empty.
    """
    text = document.text
    style = _Style(document)
    if parent.children:
        last = parent.children[-1]
        first = parent.first_of(last)
        before = parent.children[-2].end if parent.children[1:] else parent.start + 1
        if "\n" not in text[before:first]:
            pieces = [style.inline(key, value) for key, value in children]
            return [TextChange(last.end, last.end, "".join(f",{style.space}{piece}" for piece in pieces))]
        indent = style.indent_at(first)
        new = ",".join(f"{style.newline}{indent}{style.lines(indent, key, value)}" for key, value in children)
        # A comment at the end of the line stays with its value.
        comment = LINE_COMMENT.match(text, last.end)
        at = comment.end() if comment is not None else last.end
        return [TextChange(last.end, last.end, ","), TextChange(at, at, new)]
    at = parent.start + 1
    is_bare = at == parent.end - 1
    mark = NOTHING_INSIDE if is_bare else SPACE_INSIDE
    if not style.has_lines and parent is not document.root:
        pieces = [style.inline(key, value) for key, value in children]
        return [TextChange(at, at, mark + f",{style.space}".join(pieces))]
    outer = style.indent_at(parent.start)
    inner = outer + style.unit
    pieces = [style.newline + inner + style.lines(inner, key, value) for key, value in children]
    return [TextChange(at, at, mark + ",".join(pieces) + (style.newline + outer if is_bare else ""))]


def new_text(value: Any, *, before: str | None) -> str:  # noqa: ANN401 - whatever JSON says
    """Return the text of an object for a file that has none: a blank or missing file."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    if before is None:
        return f"{text}\n"
    mark = len(BYTE_ORDER_MARK) if before.startswith(BYTE_ORDER_MARK) else 0
    return f"{before[:mark]}{{{BLANK_BEFORE}{text[1:]}{before[mark:]}"


def remove_child(document: JsonText, path: Sequence[Value]) -> str | None:
    """Return the text without the last value of a path from the root, and without the values added to hold it.

    None if the text was made for it.
    """
    text = document.text
    *_, parent, child = path
    index, first = parent.children.index(child), parent.first_of(child)
    if index > 0 and not parent.children[index + 1 :]:
        comma = _comma(text, parent.children[index - 1].end)
        return apply_changes(
            text, [TextChange(comma, comma + 1, ""), _with_space_before(text, comma + 1, first, child.end)]
        )
    if parent.children[1:]:
        comma = _comma(text, child.end)
        end = comma + 1 + len(SPACES.match(text, comma + 1)[0])  # type: ignore[index]
        if index > 0 and text[comma + 1 : end].lstrip(" \t")[:1] in ("\r", "\n"):
            # The value is removed with its line; a comment in the line before it stays there.
            before = len(text[:first].rstrip(SPACE))
            return apply_changes(text, [TextChange(before, child.end, ""), TextChange(comma, comma + 1, "")])
        return apply_changes(text, [TextChange(first, child.end, ""), TextChange(comma, end, "")])
    inside = text[parent.start + 1 : parent.end - 1]
    rest = text[parent.start + 1 : first] + text[child.end : parent.end - 1]
    if inside.startswith(NOTHING_INSIDE) and not rest.strip(SPACE):
        return apply_changes(text, [TextChange(parent.start + 1, parent.end - 1, "")])
    if inside.startswith(SPACE_INSIDE) or rest.strip(SPACE):
        changes = [_with_space_before(text, parent.start + 1, first, child.end)]
        if (comma := GAP.match(text, child.end).end()) < parent.end and text[comma] == ",":  # type: ignore[union-attr]
            changes.append(TextChange(comma, comma + 1, ""))
        return apply_changes(text, changes)
    if len(path) > 2:
        return remove_child(document, path[:-1])
    if inside.startswith(BLANK_BEFORE):
        return apply_changes(text, [TextChange(parent.start, parent.end, "")])
    if text[: parent.start] + text[parent.end :] == "\n":
        return None
    return apply_changes(text, [TextChange(parent.start + 1, parent.end - 1, "")])


def _with_space_before(text: str, gap: int, start: int, end: int) -> TextChange:
    """Remove a span and the space before it, in a gap with comments; nothing else moves into a comment."""
    before = text[:start].rstrip(SPACE)
    if "//" in before[gap:].rpartition("\n")[2] and text[end:].lstrip(" \t")[:1] not in ("\r", "\n"):
        return TextChange(start, end, "")
    return TextChange(len(before), end, "")


def _comma(text: str, start: int) -> int:
    """Return the position of the next comma, after spaces and comments."""
    while text[start] != ",":
        start = GAP.match(text, start).end() if text[start] in "/ \t\r\n" else start + 1  # type: ignore[union-attr]
    return start


class _Style:
    """The style of a text: its indentation, its line ends and its spaces."""

    def __init__(self, document: JsonText) -> None:
        text, root = document.text, document.root
        self._text = text
        self.newline = "\r\n" if re.search(r"^[^\n]*\r\n", text) else "\n"
        self.has_lines = root is not None and "\n" in text[root.start : root.end]
        first = root.first_of(root.children[0]) if root is not None and root.children else None
        self.unit = (self.indent_at(first) if first is not None and self.has_lines else "") or "  "
        self.space = " " if re.search(r"[:,] ", text) or not (root and root.children) else ""

    def indent_at(self, at: int) -> str:
        """Return the indentation of the line with this position."""
        line = self._text.rfind("\n", 0, at) + 1
        return INDENT.match(self._text, line)[0]  # type: ignore[index]

    def inline(self, key: str | None, value: Any) -> str:  # noqa: ANN401 - whatever JSON says
        """Return a child on one line."""
        separators = (f",{self.space}", f":{self.space}")
        text = json.dumps(value, ensure_ascii=False, separators=separators)
        return text if key is None else f"{json.dumps(key)}:{self.space}{text}"

    def lines(self, indent: str, key: str | None, value: Any) -> str:  # noqa: ANN401 - whatever JSON says
        """Return a child on lines of its own; the first is indented already."""
        text = json.dumps(value, ensure_ascii=False, indent=self.unit)
        text = text if key is None else f"{json.dumps(key)}: {text}"
        return text.replace("\n", self.newline + indent)


class _JsonParser:
    """A parser of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.is_strict = True

    def skip(self, at: int) -> int:
        """Return the position of the next token."""
        end = GAP.match(self._text, at).end()  # type: ignore[union-attr]
        if not SPACES.fullmatch(self._text, at, end):
            self.is_strict = False
        return end

    def value(self, at: int) -> Value:
        """Parse the value at this position."""
        first = self._text[at : at + 1]
        if first == "{":
            return self._children(Value("object", at), "}")
        if first == "[":
            return self._children(Value("array", at), "]")
        if first == '"':
            return self._string(at)
        scalar = SCALAR.match(self._text, at)
        if scalar is None:
            raise self.error("a value is missing", at)
        return Value("scalar", at, scalar.end())

    def _children(self, parent: Value, close: str) -> Value:
        at = self.skip(parent.start + 1)
        while self._text[at : at + 1] != close:
            if parent.kind == "object":
                key = self._string(at)
                at = self._expect(":", key.end)
                parent.keys.append(key)
            child = self.value(at)
            parent.children.append(child)
            at = self.skip(child.end)
            if self._text[at : at + 1] != close:
                at = self._expect(",", at)
                if self._text[at : at + 1] == close:
                    self.is_strict = False
        parent.end = at + 1
        return parent

    def _expect(self, token: str, at: int) -> int:
        at = self.skip(at)
        if self._text[at : at + 1] != token:
            raise self.error(f"{token!r} is missing", at)
        return self.skip(at + 1)

    def _string(self, at: int) -> Value:
        match = STRING.match(self._text, at)
        if match is None:
            raise self.error("a string is missing or does not end", at)
        return Value("string", at, match.end(), text=json.loads(match[0]))

    def error(self, what: str, at: int) -> ValueError:
        """Return an error with its line and column."""
        line = self._text.count("\n", 0, at) + 1
        return ValueError(f"{what} in line {line}, column {at - self._text.rfind(chr(10), 0, at)}")


SPACE: Final = " \t\r\n"
SPACES: Final = re.compile(r"[ \t\r\n]*")
INDENT: Final = re.compile(r"[ \t]*")
GAP: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
ON_ONE_LINE: Final = r"/\*(?:(?!\*/)[^\r\n])*\*/"
LINE_COMMENT: Final = re.compile(rf"[ \t]*(?:{ON_ONE_LINE}[ \t]*)*(?://[^\r\n]*|{ON_ONE_LINE})(?=[ \t]*[\r\n])")
STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
SCALAR: Final = re.compile(
    r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)(?!\w)", re.ASCII
)
BYTE_ORDER_MARK: Final = "\ufeff"
# Markers after the bracket of an object or array that was empty before an addition.
NOTHING_INSIDE: Final = "  "
SPACE_INSIDE: Final = " "
BLANK_BEFORE: Final = "\t"
