"""Markdown as safe HTML that omits nothing.

The HTML is written from the events of the parser: text is escaped, and HTML tags in the text are text. A sanitiser
then checks the result again.
"""

import re
from collections.abc import Iterable, Mapping
from html import escape
from itertools import pairwise
from typing import Any, Final

import nh3
import pyromark

from backscroll.render.html.code import code, parse_language
from backscroll.render.html.element import Html, el, text, trusted
from backscroll.render.terminal import clean


def prose(markdown: str) -> Html:
    """Render Markdown. Very long or deeply nested text is shown as plain text."""
    source = clean(markdown.replace("\r\n", "\n").replace("\r", "\n"))
    content = None
    if len(source) <= MAX_RENDERED:
        content = render_markdown(source)
    if content is None:
        content = el("pre", source, class_="plain", tabindex="0")
    return el("div", content, class_="prose")


def render_markdown(source: str) -> Html | None:
    """Return the markup; None if the text is too large or nested too deeply."""
    page = MarkdownWriter()
    if not page.write(PARSER.events(source)):
        return None
    if "]:" in source and (unused := escape_unused_definitions(source, page.labels)):
        # `[note]: text` defines a link and is not shown. If no link uses it, it was meant to be read.
        source, page = unused, MarkdownWriter()
        if not page.write(PARSER.events(source)):
            return None
    return trusted(SANITISER.clean("".join(page.out)))


def safe_link(url: str) -> str | None:
    """Return the address, if it is safe to follow: http, https or mailto."""
    return url if len(url) <= LONGEST_LINK and SAFE_LINK.fullmatch(url) else None


def link_addresses(words: str) -> str:
    """Escape a text, and turn the addresses in it into links."""
    if "://" not in words:
        return text(words)
    out = []
    at = 0
    for match in ADDRESS.finditer(words):
        url = strip_trailing_punctuation(match[0])
        if safe_link(url):
            out += [text(words[at : match.start()]), link_start_tag(url), text(url), "</a>"]
            at = match.start() + len(url)
    return "".join((*out, text(words[at:])))


def strip_trailing_punctuation(url: str) -> str:
    """Return the address without punctuation of the sentence around it. A bracket stays if it was opened in it."""
    if len(url) > LONGEST_LINK:
        return url
    while url:
        last = url[-1]
        opened = BRACKETS.get(last)
        if last in STOPS or (opened and url.count(last) > url.count(opened)):
            url = url[:-1]
        else:
            break
    return url


def link_start_tag(url: str) -> str:
    """Return the start tag of an external link, without a referrer."""
    return f'<a href="{escape(clean(url))}" rel="noopener noreferrer nofollow" target="_blank">'


def escape_unused_definitions(source: str, labels: set[str]) -> str | None:
    """Return the source with unused link definitions escaped, so that they are shown; None if all are used."""
    definitions = PARSER.reference_definitions(source)
    starts = sorted(
        definition["span"]["start"]
        for label, definition in definitions.items()
        if label.casefold() not in labels or not safe_link(definition["dest"])
    )
    if not starts:
        return None
    data = source.encode()
    edges = [0, *starts, len(data)]
    return b"\\".join(data[start:end] for start, end in pairwise(edges)).decode()


class MarkdownWriter:
    """Writes HTML from the events of the Markdown parser."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.labels: set[str] = set()
        self.links: list[str] = []
        """End tags of the open links and images."""
        self.anchors = 0
        """Number of these that are real links. Links cannot be nested."""
        self.code: list[str] | None = None
        self.language = ""
        self.in_head = False
        self.column = 0
        self.alignments: tuple[str, ...] = ()

    def write(self, events: Iterable[Any]) -> bool:
        """Write all events; False if there are too many, or they are nested too deeply."""
        depth = 0
        for number, event in enumerate(events):
            if isinstance(event, str):
                self.out.append(BREAKS[event])
                continue
            ((kind, value),) = event.items()
            if kind == "Text":
                if self.code is not None:
                    self.code.append(value)
                else:
                    self.out.append(text(value) if self.anchors else link_addresses(value))
            elif kind == "Start":
                depth += 1
                if depth > DEEPEST or number > MAX_EVENTS:
                    return False
                self.start(value)
            elif kind == "End":
                depth -= 1
                self.end(value)
            elif kind == "Code":
                self.out.append(f"<code>{text(value)}</code>")
            elif kind == "FootnoteReference":
                self.out.append(f"<sup>[{text(value)}]</sup>")
            elif kind == "TaskListMarker":
                self.out.append(f'<span class="task">{"☑" if value else "☐"}</span> ')
            else:  # tags, and whatever the parser may learn: as it was written
                self.out.append(text(value))
        return True

    def start(self, tag: str | Mapping[str, Any]) -> None:
        """Write the start of an element."""
        value: Any
        if isinstance(tag, str):
            name, value = tag, None
        else:
            ((name, value),) = tag.items()
        if name == "Heading":
            self.out.append(f"<h{heading_level(value['level'])}>")
        elif name == "CodeBlock":
            self.code = []
            self.language = parse_language(value["Fenced"]) if isinstance(value, dict) else ""
        elif name == "List":
            first = f' start="{int(value)}"' if value not in (None, 1) else ""
            self.out.append("<ul>" if value is None else f"<ol{first}>")
        elif name == "BlockQuote":
            self.out.append("<blockquote>" + (f'<p class="quote-kind">{text(value)}</p>' if value else ""))
        elif name == "FootnoteDefinition":
            self.out.append(f'<div class="footnote"><sup>[{text(value)}]</sup> ')
        elif name == "Table":
            self.alignments = value
            self.out.append('<div class="scroll" tabindex="0"><table>')
        elif name in ("Link", "Image"):
            self.start_link(value, name == "Image")
        elif name in ("TableHead", "TableRow"):
            self.column = 0
            self.in_head = name == "TableHead"
            self.out.append("<thead><tr>" if self.in_head else "<tr>")
        elif name == "TableCell":
            align = ALIGNED.get(self.alignments[self.column] if self.column < len(self.alignments) else "", "")
            self.out.append(f"<{'th' if self.in_head else 'td'}{align}>")
            self.column += 1
        else:
            self.out.append(STARTS.get(name, ""))

    def end(self, tag: str | Mapping[str, Any]) -> None:
        """Write the end of an element."""
        if isinstance(tag, str):
            name, value = tag, None
        else:
            ((name, value),) = tag.items()
        if name == "Heading":
            self.out.append(f"</h{heading_level(str(value))}>\n")
        elif name == "CodeBlock":
            self.out.append(code_block("".join(self.code or ()), self.language))
            self.code = None
        elif name == "List":
            self.out.append("</ol>\n" if value else "</ul>\n")
        elif name in ("Link", "Image"):
            ending = self.links.pop()
            self.anchors -= ending == "</a>"
            self.out.append(ending)
        elif name == "TableCell":
            self.out.append("</th>" if self.in_head else "</td>")
        else:
            self.out.append(ENDS.get(name, ""))

    def start_link(self, link: Mapping[str, Any], is_image: bool) -> None:
        """Write the start of a link. Images become links too: loading one would reveal that the page is being read."""
        url = link["dest_url"]
        if link["link_type"] == "Email" and not url.lower().startswith("mailto:"):
            url = f"mailto:{url}"
        if link["id"]:
            self.labels.add(link["id"].casefold())
        if not self.anchors and safe_link(url):
            self.out.append(link_start_tag(url))
            self.links.append("</a>")
            self.anchors += 1
        elif not self.anchors and url and RELATIVE.fullmatch(url) and len(url) <= LONGEST_LINK:
            # A relative link leads nowhere from here, but its target is worth showing.
            self.out.append(f'<span title="{text(url)}">')
            self.links.append("</span>")
        else:
            self.links.append("")
        if is_image:
            self.out.append("image: ")


def code_block(source: str, language: str) -> str:
    """Return a block of code in a frame with room for a copy button."""
    return el(
        "figure",
        code(source, language),
        class_="code-block",
        data_language=language or None,
    )


def heading_level(name: str) -> int:
    """Return the level of a heading; the page itself uses the first two."""
    return min(6, int(name[1]) + 2)


MAX_RENDERED: Final = 200_000
LONGEST_LINK: Final = 2_000
DEEPEST: Final = 60
MAX_EVENTS: Final = 60_000

OPTIONS: Final = pyromark.Options
PARSER: Final = pyromark.Markdown(
    options=OPTIONS.ENABLE_TABLES
    | OPTIONS.ENABLE_STRIKETHROUGH
    | OPTIONS.ENABLE_TASKLISTS
    | OPTIONS.ENABLE_FOOTNOTES
    | OPTIONS.ENABLE_GFM
)
TAGS: Final = frozenset(
    "a blockquote br code del div em figure h3 h4 h5 h6 hr li ol p pre span strong sup table tbody td th thead tr"
    " ul".split()
)
SANITISER: Final = nh3.Cleaner(
    tags=set(TAGS),
    attributes={
        "a": {"href", "target"},
        "div": {"class", "tabindex"},
        "figure": {"class", "data-language"},
        "ol": {"start"},
        "p": {"class"},
        "pre": {"class", "tabindex"},
        "span": {"class", "title"},
        "td": {"class"},
        "th": {"class"},
    },
    url_schemes={"http", "https", "mailto"},
    link_rel="noopener noreferrer nofollow",
    clean_content_tags=set(),
    strip_comments=True,
)
SAFE_LINK: Final = re.compile(r"(?:https?://[^\s\x00-\x20\\]+|mailto:[^\s\x00-\x20]+)", re.IGNORECASE)
RELATIVE: Final = re.compile(r"[^:]*(?:[/#][^\n]*)?")
ADDRESS: Final = re.compile(r"(?<!\w)https?://[^\s<>\"`|\\“”‘’«»\u3000-\u303f\uff00-\uffef]+", re.IGNORECASE)
STOPS: Final = frozenset(".,;:!?'*_~…")
BRACKETS: Final = {")": "(", "]": "[", "}": "{"}
BREAKS: Final = {"SoftBreak": "\n", "HardBreak": "<br>\n", "Rule": "<hr>\n"}
ALIGNED: Final = {"Center": ' class="align-center"', "Right": ' class="align-right"'}
STARTS: Final = {
    "Paragraph": "<p>",
    "HtmlBlock": '<p class="as-written">',
    "Item": "<li>",
    "Emphasis": "<em>",
    "Strong": "<strong>",
    "Strikethrough": "<del>",
}
ENDS: Final = {
    "Paragraph": "</p>\n",
    "HtmlBlock": "</p>\n",
    "Item": "</li>\n",
    "Emphasis": "</em>",
    "Strong": "</strong>",
    "Strikethrough": "</del>",
    "BlockQuote": "</blockquote>\n",
    "FootnoteDefinition": "</div>\n",
    "TableHead": "</tr></thead><tbody>",
    "TableRow": "</tr>\n",
    "Table": "</tbody></table></div>\n",
}
