"""What a chat is called: which texts of a model can be a title, and how a prompt becomes one."""

import re
from typing import Final

LONGEST_TITLE: Final = 120
"""A summary that is longer is no title but a text."""


def is_title(text: str) -> bool:
    """Whether a model that was asked for a title gave one, and did not answer to the conversation instead."""
    return 0 < len(text) <= LONGEST_TITLE and "\n" not in text.strip() and not TALK.match(text)


def title_of_prompt(text: str, longest: int) -> str:
    """The title of a chat that has none of its own: how its first prompt begins.

    A prompt that holds a document, such as a plan, is named by the heading of that document. `longest` is where the
    text was cut, if it was.
    """
    found = DOCUMENT.match(text)
    if found and found[1]:
        return cut_at_word(found[1], longest - 1 if found.end() >= longest else longest)
    return cut_at_word(text, longest - 1) if len(text) >= longest else text


def cut_at_word(text: str, longest: int) -> str:
    """At most so many characters of a text; what is cut off is cut off between words, if there are any."""
    if len(text) <= longest:
        return text
    cut = text[: longest - 1]
    if not text[longest - 1].isspace():
        whole = cut.rpartition(" ")[0]
        cut = whole if len(whole) > longest // 2 else cut
    return cut.rstrip(" ,;:.-–") + "…"


TALK: Final = re.compile(
    r"\W*(?:i|i['’](?:m|ll|d|ve)|sorry|apologies|unfortunately|as an ai|there (?:is|are) no|based on|here(?:['’]s| is)|"
    r"the (?:provided )?conversation|no conversation|please provide)\b",
    re.IGNORECASE,
)
"""How a model begins that talks about the task of making a title. “I” begins no title of a piece of work."""
DOCUMENT: Final = re.compile(r"(?:[^#\n]{0,80}:\s*)?#{1,6}\s+(?:plan:\s*)?(.+?)\s*(?:\s#{1,6}\s|$)", re.IGNORECASE)
"""A heading at the beginning, or behind a short introduction that ends with a colon."""
