"""Building blocks of messages: typed text, times, links, JSON, and truncating long texts."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from backscroll.render.html.code import code
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.prose import prose, safe_link
from backscroll.render.terminal import moment

CUT_LINES: Final = 40
CUT_BYTES: Final = 6000
SLACK: Final = 1.5
"""A text that is only slightly too long is shown in full."""


def truncate(text: str, lines: int = CUT_LINES, characters: int = CUT_BYTES) -> tuple[str, int]:
    """Return the part of a text to show at first, and its total number of lines; 0 if that is all of it."""
    count = text.count("\n") + 1
    if count <= lines * SLACK and len(text) <= characters * SLACK:
        return text, 0
    return "\n".join(text[:characters].split("\n", lines)[:lines]), count


def typed_text(text: str) -> Html:
    """Return text that the user typed, line by line, with fenced code as code."""
    parts: list[Html] = []
    lines: list[str] = []
    fence = language = ""
    begun = 0
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence and line.rstrip() == fence:
            parts += [_typed_lines(lines[:begun]), code("\n".join(lines[begun + 1 :]), language)]
            fence, lines = "", []
            continue
        if not fence and mark:
            fence, language, begun = mark[1], mark[2], len(lines)
        lines.append(line)
    return el("div", parts, _typed_lines(lines), class_="typed")


def has_headings(text: str) -> bool:
    """Whether a typed text is a document with headings, such as a plan."""
    return len(HEADING.findall(text[:20_000])) > 1


def json_html(value: Any, whole: bool = False) -> Html:  # noqa: ANN401 - whatever JSON holds
    """Return a value as readable JSON, without very long strings such as images."""
    try:
        written = json.dumps(value if whole else _shorten_strings(value), ensure_ascii=False, indent=2)
    except (RecursionError, ValueError, TypeError):
        written = "(nested too deep to be shown)"
    excerpt, lines = (written, 0) if whole else truncate(written, MAX_JSON_LINES, MAX_JSON_CHARS)
    more = el("p", f"{lines:,} lines in all; the rest is in the raw row", class_="more muted") if lines else NOTHING
    return join([code(excerpt, "json"), more])


def readable(text: str) -> Html:
    """Return a text of unknown type: as JSON or prose if it looks like it, else unchanged."""
    written = indent_json(text)
    if written is not None:
        return code(written, "json")
    return prose(text) if MARKDOWN.search(text) else el("pre", text, class_="plain")


def indent_json(text: str) -> str | None:
    """Return JSON, indented; None if the text is not JSON."""
    if len(text) > MAX_INDENTED_CHARS or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return None


def external_link(address: str, name: str = "") -> Html:
    """Return a link to another site; only its text if the address is not safe to follow."""
    link = safe_link(address)
    if link is None:
        return el("span", name or address)
    return el("a", name or link, href=link, rel="noopener noreferrer nofollow", target="_blank",
              title=link if name else None)  # fmt: skip


def without_reminders(text: str) -> str:
    """Return a tool's output without the reminders that the client added for the model."""
    pieces, behind = [], 0
    while (begin := text.find(REMINDER, behind)) >= 0 and (end := text.find(REMINDER_END, begin)) >= 0:
        pieces.append(text[behind:begin].rstrip())
        behind = end + len(REMINDER_END)
    return "".join([*pieces, text[behind:] if not pieces else text[behind:].rstrip()])


def time_html(when: datetime | None, local: Callable[[datetime], datetime] | None = None) -> Html:
    """Return a `<time>` element: the time of day where the reader is, if that is known, else date and time."""
    if when is None:
        return NOTHING
    exact = moment(when)
    if local is not None:
        return el("time", f"{local(when):%H:%M}", datetime=exact, data_exact=True)
    return el("time", exact[:16].replace("T", " "), datetime=exact)


def first_line(text: str, length: int = 120) -> str:
    """Return the first line of a text that is not blank, truncated."""
    line = next((line for line in text.split("\n") if line.strip()), "").strip()
    return line if len(line) <= length else f"{line[: length - 1]}…"


def one_line(text: str, length: int = 160) -> str:
    """Return the beginning of a text, with its line breaks replaced by spaces."""
    words = " ".join(text[: 2 * length].split())
    return words if len(words) <= length else f"{words[: length - 1]}…"


def _typed_lines(lines: list[str]) -> Html:
    text = "\n".join(lines).strip("\n")
    return el("div", text, class_="typed-text") if text.strip() else NOTHING


def _shorten_strings(value: Any, depth: int = 0) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return value if len(value) <= LONGEST_STRING else f"{value[:200]}… ({len(value):,} characters)"
    if depth > DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {key: _shorten_strings(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_shorten_strings(item, depth + 1) for item in value]
    return value


LONGEST_STRING: Final = 4000
DEEPEST: Final = 60
MAX_JSON_CHARS: Final = 30_000
MAX_INDENTED_CHARS: Final = 1_000_000
MAX_JSON_LINES: Final = 400
FENCE: Final = re.compile(r"(`{3,}|~{3,})[ \t]*([\w+#.-]{0,40})[^\n`]*$")
HEADING: Final = re.compile(r"^\n?#{1,4} [^\n]{1,200}\n\s*\n", re.MULTILINE)
MARKDOWN: Final = re.compile(
    r"^(?:#{1,6} \S|```|[-*] \S|\d{1,3}\. \S|\|.+\|$)|\*\*\S[^*\n]{0,200}\*\*|\[[^\[\]\n]{1,200}\]\(https?:",
    re.MULTILINE,
)
REMINDER: Final = "<system-reminder>"
REMINDER_END: Final = "</system-reminder>"
