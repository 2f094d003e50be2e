"""Parse markup as a browser would: its tags, attributes and text, and whether all elements are closed."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset("br hr img input link meta".split())
TAGS = frozenset(
    "a blockquote br code del details div em figure h3 h4 h5 h6 hr ins li ol p pre span strong summary sup table tbody"
    " td th thead tr ul".split()
)
ATTRIBUTES = frozenset("class data-language data-line href rel role start tabindex target title".split())


@dataclass
class Look:
    """The contents of a piece of markup."""

    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    """Tag, attribute, value."""
    text: str = ""
    faults: list[str] = field(default_factory=list)

    def values(self, name: str) -> list[str]:
        """The values of an attribute, in order."""
        return [value for _, attribute, value in self.attributes if attribute == name]


class Looking(HTMLParser):
    """Fills a Look."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.look = Look()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.look.tags.append(tag)
        self.look.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.look.faults.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.look.text += data

    def handle_comment(self, data: str) -> None:
        self.look.faults.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.look.faults.append(f"<!{decl}")

    def handle_pi(self, data: str) -> None:
        self.look.faults.append(f"<?{data}")


def look(markup: str) -> Look:
    """Look into markup."""
    looking = Looking()
    looking.feed(markup)
    looking.close()
    looking.look.faults += looking.open
    return looking.look


def assert_harmless(markup: str) -> Look:
    """It is whole, and of nothing but what we use ourselves."""
    seen = look(markup)
    assert seen.faults == []
    assert set(seen.tags) <= TAGS
    assert {name for _, name, _ in seen.attributes} <= ATTRIBUTES
    for address in seen.values("href"):
        assert address.lower().startswith(("http://", "https://", "mailto:"))
    assert not any(character in markup for character in "\x00\x1b\x07\x9b\u202e\u2066\ud800")
    return seen
