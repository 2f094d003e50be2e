"""Build HTML that is safe by construction: a `str` is text and is escaped, an `Html` is markup and is not.

Only `trusted` turns text into markup without escaping; its callers sanitise the text themselves.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import Final

from backscroll.render.terminal import clean

Attribute = str | int | bool | None


class Html(str):
    """Markup that is safe to insert into a page."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return itself: the protocol of notebooks and template engines."""
        return self


NOTHING: Final = Html("")


def trusted(markup: str) -> Html:
    """Mark text as safe markup: the caller has sanitised it, or it is a constant of the program."""
    return Html(markup)


def text(value: object) -> Html:
    """Escape a text, and remove characters that could reorder or hide the text around it."""
    return value if isinstance(value, Html) else Html(_escape(str(value)))


def el(name: str, /, *children: object, **attributes: Attribute) -> Html:
    """Return an element. `class_` is `class`, `data_id` is `data-id`; True is an attribute without value, None omits
    it."""
    start = f"<{name}"
    for key, value in attributes.items():
        if value is not None and value is not False:
            start += _class(value) if key == "class_" and type(value) is str else _attribute(key, value)
    if name in VOID:
        return Html(f"{start}>")
    return Html(f"{start}>{_join(children)}</{name}>")


def join(children: Iterable[object], between: str = "") -> Html:
    """Concatenate children; None is skipped."""
    return Html(_join(children, text(between) if between else ""))


def _join(children: Iterable[object], between: str = "") -> str:
    pieces: list[str] = []
    for child in children:
        if isinstance(child, Html):
            pieces.append(child)
        elif child is None:
            continue
        elif isinstance(child, str) or not isinstance(child, Iterable):
            pieces.append(_escape(str(child)))
        else:
            pieces.append(_join(child))
    return between.join(pieces)


def _escape(value: str) -> str:
    # Fast path: most texts are short and need no escaping.
    if len(value) < SHORT_TEXT and PLAIN.fullmatch(value):
        return value
    return escape(clean(value), quote=True)


def _attribute(key: str, value: str | int) -> str:
    name = _name(key)
    if value is True:
        return f" {name}"
    if name in ADDRESSES and not SAFE_ADDRESS.match(str(value)):
        return ""  # drop links with an unsafe scheme
    return f' {name}="{_escape(str(value))}"'


@lru_cache(512)
def _class(value: str) -> str:
    return _attribute("class_", value)


@lru_cache(512)
def _name(key: str) -> str:
    name = key.rstrip("_").replace("_", "-")
    if not NAME.fullmatch(name) or name.lower().startswith("on") or name.lower() in REFUSED_ATTRIBUTES:
        raise ValueError(f"attribute {name} is not allowed")
    return name


REFUSED_ATTRIBUTES: Final = frozenset({"style", "srcdoc"})
ADDRESSES: Final = frozenset({"href", "src", "action", "formaction"})
SAFE_ADDRESS: Final = re.compile(
    r"(?:https?:|mailto:|data:image/(?:png|jpeg|gif|webp);base64,|[/?#.]|[\w-]+(?:[/?#.]|$)|$)", re.IGNORECASE
)
SHORT_TEXT: Final = 200
PLAIN: Final = re.compile(r"[ !#-%(-;=?-~]*")
"""Printable ASCII without the characters that HTML escapes."""
VOID: Final = frozenset("br hr img input link meta".split())
NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
