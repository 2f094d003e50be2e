"""Make text from transcripts safe and readable in a terminal.

Nothing from a transcript reaches a terminal but through `clean`: an escape sequence in a title could rename the window,
write to the clipboard or hide the text before it.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final


def clean(text: str) -> str:
    """Return the text without escape sequences, control characters (but tab and newline) and direction overrides."""
    if text.isascii() and text.isprintable():
        return text
    return UNSAFE.sub("", SEQUENCES.sub("", text))


def for_terminal(written: str) -> str:
    """Keep our own colours and links in a text for a terminal, and no other control sequences.

    The last line of defence. Texts are cleaned where they are put together, so this only catches misses there.
    """
    if written.isascii() and written.isprintable():
        return written
    pieces = OURS.split(written)  # with what it found, at the odd places
    return "".join(piece if number % 2 else clean(piece) for number, piece in enumerate(pieces))


def short_id(name: str) -> str:
    """Return the start of an id that is enough to find it, including any prefix before its own characters."""
    prefix = PREFIX.match(name)
    return name[: SHORT_ID + (prefix.end() if prefix else 0)] if WHOLE_ID.fullmatch(name) else name


def escaped(written: str) -> str:
    """Return JSON that cannot control a terminal; programs read the same values from it."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def clean_line(text: str) -> str:
    """Clean a text and put it on one line."""
    return " ".join(clean(text).split())


def size(count: int) -> str:
    """Return a number of bytes, as people say it."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.5 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def moment(when: datetime) -> str:
    """Return a time as machines and people both read it, in UTC."""
    try:
        when = when.astimezone(UTC)
    except OverflowError:  # in the first or last hours of the calendar; some clock has gone mad
        when = when.replace(tzinfo=UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def minute(when: datetime | None) -> str:
    """Return a time to the minute, in the user's zone."""
    try:
        return f"{when.astimezone():%Y-%m-%d %H:%M}" if when else "-"
    except (OverflowError, ValueError):  # in the first or last hours of the calendar
        return f"{when:%Y-%m-%d %H:%M}"


def zone_of(times: Iterable[datetime | None]) -> str:
    """Return the name of the time zone in which `minute` shows these times; both names if summer time lies between
    them."""
    names = {_zone(when) for when in times if when is not None}
    return "/".join(sorted(names)[:2])


def _zone(when: datetime) -> str:
    try:
        local = when.astimezone()
    except (OverflowError, ValueError):
        local = when
    name = local.tzname() or ""
    if 2 <= len(name) <= 5 and name.isascii() and name.isalpha():
        return name
    offset = local.utcoffset() or timedelta()
    sign, minutes = "-" if offset < timedelta() else "+", abs(offset) // timedelta(minutes=1)
    return f"UTC{sign}{minutes // 60:02}:{minutes % 60:02}"


def plural(count: int, noun: str) -> str:
    """Return `1 file`, `1,234 files`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


# Sequences that a terminal takes as commands, with payload, in this order: OSC; DCS, SOS, PM, APC; CSI; two-byte. An
# unfinished one swallows the rest of the line, as it would in the terminal.
SEQUENCES: Final = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c\n]*(?:\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
OURS: Final = re.compile(r"(\x1b\[[0-9;]*m|\x1b\]8;(?:id=[0-9]+)?;(?:(?:https?|file)://[!-~]+)?\x1b\\)")
"""Colours, and links to the web and to files. Text from a transcript has none of these: it was cleaned before."""
UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)

SHORT_ID: Final = 8
WHOLE_ID: Final = re.compile(r"[A-Za-z]*_?[0-9A-Za-z-]*[0-9][0-9A-Za-z-]{7,}")
PREFIX: Final = re.compile(r"[A-Za-z]+_|agent-")
