"""Names of exported files: the day the chat began and the words of its title, `2026-08-19 fix-the-parser.html`.

Secrets are always masked in the name: names end up in lists of downloads and in shell histories.
"""

import re
import unicodedata
from datetime import datetime
from typing import Final

from backscroll.conversation.overview import Overview
from backscroll.conversation.rows import LONGEST_TEXT
from backscroll.library.sharing.share import redactor

LONGEST_NAME: Final = 60
WORD: Final = re.compile(r"[^\W_]+")
INSIDE_WORD: Final = re.compile(r"(?<=\w)['’](?=\w)")


def file_name(chat: Overview, form: str = "") -> str:
    """Return the name of a chat's file, with the ending of its format."""
    started = chat.started
    day = f"{_local(started).date().isoformat()} " if started else ""
    return f"{day}{title_words(chat.title) or chat.id[:8]}{f'.{form}' if form else ''}"


def title_words(title: str) -> str:
    """Return the words of a title, joined by dashes: valid as a name on every system."""
    if len(title) >= LONGEST_TEXT:  # it may have been cut in the middle of a secret
        title = title.rpartition(" ")[0]
    masked = unicodedata.normalize("NFC", redactor().text(title)).lower()
    words = WORD.findall(INSIDE_WORD.sub("", masked))
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word
        if len(longer) > LONGEST_NAME:
            break
        name = longer
    return name or "".join(words[:1])[:LONGEST_NAME]


def _local(when: datetime) -> datetime:
    try:
        return when.astimezone()
    except (OverflowError, OSError, ValueError):  # the first or last days that there are
        return when
