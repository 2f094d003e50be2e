"""HTML that is safe by how it is made: a `str` is text and is escaped, an `Html` is markup and is not.

Nothing else turns text into markup, but for the few places that clean it themselves and say so with `trusted`.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import Final

from backscroll.render.terminal import clean

Attribute = str | int | bool | None


class Html(str):
    """Markup."""

    __slots__ = ()

    def __html__(self) -> str:
        """What notebooks ask for."""
        return self


NOTHING: Final = Html("")


def trusted(markup: str) -> Html:
    """Markup that the caller answers for: it was cleaned, or came from nowhere but the program itself."""
    return Html(markup)


def text(value: object) -> Html:
    """A text as markup: escaped, and without what could reorder or hide what stands around it."""
    return value if isinstance(value, Html) else Html(_escaped(str(value)))


def el(name: str, /, *children: object, **attributes: Attribute) -> Html:
    """An element. `class_` is `class`, `data_id` is `data-id`; True is an attribute without a value, None is none."""
    start = f"<{name}"
    for key, value in attributes.items():
        if value is not None and value is not False:
            start += _class(value) if key == "class_" and type(value) is str else _attribute(key, value)
    if name in VOID:
        return Html(f"{start}>")
    return Html(f"{start}>{_joined(children)}</{name}>")


def join(children: Iterable[object], between: str = "") -> Html:
    """Several things behind one another; None is nothing."""
    return Html(_joined(children, text(between) if between else ""))


def _joined(children: Iterable[object], between: str = "") -> str:
    pieces: list[str] = []
    for child in children:
        if isinstance(child, Html):
            pieces.append(child)
        elif child is None:
            continue
        elif isinstance(child, str) or not isinstance(child, Iterable):
            pieces.append(_escaped(str(child)))
        else:
            pieces.append(_joined(child))
    return between.join(pieces)


def _escaped(value: str) -> str:
    # Most texts are short and need no change, and one look tells so.
    if len(value) < SHORT and PLAIN.fullmatch(value):
        return value
    return escape(clean(value), quote=True)


def _attribute(key: str, value: str | int) -> str:
    name = _name(key)
    if value is True:
        return f" {name}"
    if name in ADDRESSES and not SAFE_ADDRESS.match(str(value)):
        return ""  # a link that leads where it must not is no link
    return f' {name}="{_escaped(str(value))}"'


@lru_cache(512)
def _class(value: str) -> str:
    return _attribute("class_", value)


@lru_cache(512)
def _name(key: str) -> str:
    name = key.rstrip("_").replace("_", "-")
    if not NAME.fullmatch(name) or name.lower().startswith("on") or name.lower() in REFUSED:
        raise ValueError(f"{name} is no attribute of ours")
    return name


REFUSED: Final = frozenset({"style", "srcdoc"})
ADDRESSES: Final = frozenset({"href", "src", "action", "formaction"})
SAFE_ADDRESS: Final = re.compile(
    r"(?:https?:|mailto:|data:image/(?:png|jpeg|gif|webp);base64,|[/?#.]|[\w-]+(?:[/?#.]|$)|$)", re.IGNORECASE
)
SHORT: Final = 200
PLAIN: Final = re.compile(r"[ !#-%(-;=?-~]*")
"""Printable ASCII without what HTML escapes."""
VOID: Final = frozenset("br hr img input link meta".split())
NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
