"""Titles of chats: accept or reject a model's title, and make one from a prompt."""

import re
from typing import Final

LONGEST_TITLE: Final = 120
"""Most characters of a title: a longer summary is a text."""


def is_title(text: str) -> bool:
    """Whether a model returned a title when asked for one, and did not answer the conversation instead."""
    is_short = 0 < len(text) <= LONGEST_TITLE and "\n" not in text.strip()
    return is_short and not TALK.match(text) and not FAILED.match(text)


def title_of_prompt(text: str, longest: int) -> str:
    """Return a title for a chat without one: the beginning of its first prompt.

    A prompt that holds a document, such as a plan, is named by the heading of that document. `longest` is the length at
    which the text was cut, if it was.
    """
    document = DOCUMENT.match(text)
    is_cut = len(text) >= longest
    text = without_markdown(text) if not document else text
    if document and document[1]:
        return cut_at_word(without_markdown(document[1]), longest - 1 if document.end() >= longest else longest)
    return cut_at_word(text, max(1, min(len(text), longest) - 1)) if is_cut else text


def without_markdown(text: str) -> str:
    """Return the text without the signs of Markdown: headings, lists, quotations, emphasis, code, links."""
    text = LINE_SIGNS.sub("", text)
    for pattern in (LINK, EMPHASIS, CODE):
        text = pattern.sub(r"\1", text)
    return text


def cut_at_word(text: str, longest: int) -> str:
    """Cut a text to at most `longest` characters, between words if possible."""
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
"""Beginnings of answers that talk about the task of making a title. “I” begins no title of a piece of work."""
FAILED: Final = re.compile(
    r"\W*(?:i apologi[sz]e,? but|(?:unable|failed|not able) to (?:generate|create|provide|determine)\b.{0,40}\btitle|"
    r"(?:cannot|can['’]t|could not|couldn['’]t) (?:generate|create|provide|determine)\b.{0,40}\btitle)",
    re.IGNORECASE,
)
"""Answers of a model that has no title."""
LINE_SIGNS: Final = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]+|[-*+][ \t]+|```\w*[ \t]*\n?)+", re.MULTILINE)
LINK: Final = re.compile(r"!?\[([^\[\]\n]+)\]\([^()\s]*\)")
EMPHASIS: Final = re.compile(r"(?<![\w/*])\*\*(?=\S)([^*\n]+)(?<=\S)\*\*(?![\w/*])")
CODE: Final = re.compile(r"`{1,3}([^`\n]+)`{1,3}")
DOCUMENT: Final = re.compile(r"(?:[^#\n]{0,80}:\s*)?#{1,6}\s+(?:plan:\s*)?(.+?)\s*(?:\s#{1,6}\s|$)", re.IGNORECASE)
"""A heading at the beginning, or behind a short introduction that ends with a colon."""
