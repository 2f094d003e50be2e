"""Render drawn sessions as HTML, and query the result."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.messages import Message, messages_of, results_of
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.records.decode import decode_line
from backscroll.records.record import Record
from backscroll.render.html.icons import DRAWINGS
from backscroll.render.html.messages import messages_html
from backscroll.render.html.page_data import View
from tests.support.drawings import draw, line

BAD = (
    "\"><script>alert(1)</script><img src=x onerror=alert(1)>'</pre></details></article>"
    "\x1b]0;x\x07\u202e`</code>[x](javascript:alert(1))"
)
"""A payload that would act in a page if it were not escaped."""
VOID = frozenset("br hr img input link meta".split())


class Addresses:
    """Links as in the viewer."""

    def message(self, message: str) -> str:
        return f"#m-{message}"

    def agent(self, agent: str) -> str | None:
        return f"/agents/{agent}"

    def agent_messages(self, agent: str) -> str | None:
        return f"/agents/{agent}/messages"

    def picture(self, row: str, number: int) -> str | None:
        return f"/pictures/{row}/{number}"

    def raw(self, row: str) -> str | None:
        return f"/rows/{row}"

    def prompt(self, message: str) -> str | None:
        return f"/messages/{message}/prompt"

    def whole(self, call: str) -> str | None:
        return f"/whole/{call}"

    def file(self, path: str) -> str | None:
        return f"/files?path={path}"


class Nowhere(Addresses):
    """Links as in an exported file: none leads out of it."""

    def agent(self, agent: str) -> None:
        """None."""

    def agent_messages(self, agent: str) -> None:
        """None."""

    def picture(self, row: str, number: int) -> None:
        """None."""

    def raw(self, row: str) -> None:
        """None."""

    def prompt(self, message: str) -> None:
        """None."""

    def whole(self, call: str) -> None:
        """None."""

    def file(self, path: str) -> None:
        """None."""


@dataclass
class Element:
    """An element of a page."""

    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: "list[Element | str]" = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its text, with everything expanded."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def classes(self) -> set[str]:
        return set((self.attributes.get("class") or "").split())

    def __iter__(self) -> "Iterator[Element]":
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child

    def all(self, selector: str) -> "list[Element]":
        """Those inside it that are `name`, `.class` or `name.class`."""
        name, _, wanted = selector.partition(".")
        found = (one for one in self if one is not self and (not name or one.name == name))
        return [one for one in found if not wanted or wanted in one.classes]

    def one(self, selector: str) -> "Element":
        """The only one."""
        (found,) = self.all(selector)
        return found


class HtmlReader(HTMLParser):
    """Reads a page strictly: what is opened is closed, in order."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open = [Element("page")]
        self.feed(markup)
        self.close()
        assert [element.name for element in self.open] == ["page"]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} says {names}"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def page(markup: str) -> Element:
    """Parse markup."""
    return HtmlReader(markup).open[0]


def messages(rows: list[dict[str, Any]], *, is_live: bool = False) -> list[Message]:
    """The messages of some rows, on all branches."""
    chats = ChatBuilder(keep=True)
    chats.add(
        TranscriptPlace("f", "s"), [record for row in rows if isinstance(record := decode_line(line(row)), Record)]
    )
    found = []
    for chat in chats.chats():
        results = results_of(node.row for node in chat.tree.nodes.values())
        found += [
            message
            for branch in chat.branches
            for turn in branch.turns
            for message in messages_of(turn, results, is_live=is_live)
        ]
    return found


def shown(drawing: str, *, is_live: bool = False, view: Mapping[str, Any] | None = None) -> Element:
    """A drawn session as a page."""
    said = messages(draw(drawing), is_live=is_live)
    return page(messages_html(said, View(**{"links": Addresses()} | dict(view or {}))))


def tool(drawing: str, **options: Any) -> Element:  # noqa: ANN401 - what `shown` takes
    """The only tool call of a drawn session."""
    return shown(drawing, **options).one("section.tool")


def check(rows: list[dict[str, Any]], wanted: str) -> None:
    """Render some rows; check that an element is there and that nothing can act."""
    for whole in (False, True):
        found = page(messages_html(messages(rows), View(Addresses(), whole=whole)))
        assert found.all(wanted)
        for element in found:
            assert element.name not in ("script", "style", "iframe", "object", "embed", "form", "base", "meta")
            if element.name == "svg":  # only our own drawings
                assert element.attributes["class"] in {f"icon icon-{name}" for name in DRAWINGS}
                assert [one.name for one in element][-1] == "path"
            for attribute, value in element.attributes.items():
                assert not attribute.startswith("on")
                assert attribute != "style"
                assert not (value or "").strip().lower().startswith("javascript:")
            if element.name == "img":
                assert (element.attributes["src"] or "").startswith("/pictures/")
