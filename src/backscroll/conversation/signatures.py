"""What errors have in common: the line that says what went wrong, without what differs from case to case."""

import re
from typing import Final

LONGEST: Final = 160


def signature_of(text: str) -> str:
    """The pattern of an error: equal for errors that differ in paths, numbers, names in quotes and ids only."""
    line = _telling_line(text)
    for pattern, stand_in in PARTS:
        line = pattern.sub(stand_in, line)
    return " ".join(line.split())[:LONGEST]


def _telling_line(text: str) -> str:
    """The line that says most: the last one that looks like an error, else the first that says anything."""
    text = WRAPPING.sub("", text[:20_000])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if ERROR.search(line)]
    plain = [line for line in lines if not EXIT_CODE.fullmatch(line)]
    return (telling or plain or lines or [""])[-1 if telling and TRACE.search(text) else 0]


WRAPPING: Final = re.compile(r"</?(?:tool_use_error|error|stderr|stdout|system-reminder)>")
EXIT_CODE: Final = re.compile(r"(?:Error: )?[Ee]xit code \d+")
TRACE: Final = re.compile(r"Traceback \(most recent call last\)")
ERROR: Final = re.compile(
    r"(?i)\b(?:\w*error|\w*exception|fatal|failed|failure|denied|not found|no such|cannot|panic|E[A-Z]{4,})\b"
)
PARTS: Final = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}\b"), "<id>"),
    (re.compile(r"\b(?:toolu|msg|req)_\w+"), "<id>"),
    (re.compile(r"https?://\S+"), "<url>"),
    (re.compile(r"(?:[A-Za-z]:)?(?:[~.\w-]*[/\\\\])+[\w.@+-]*"), "<path>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{12,}\b"), "<hex>"),
    (re.compile(r"\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|`[^`\n]{1,200}`"), "<name>"),
    (re.compile(r"\d+(?:[.,]\d+)*"), "<n>"),
)
