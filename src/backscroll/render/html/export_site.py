"""The list of chats exported into one folder, with a search of its own."""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from backscroll.conversation.branches import Branch
from backscroll.conversation.kinds import HUMAN
from backscroll.conversation.overview import Overview
from backscroll.render.documents import Readable
from backscroll.render.html.element import Html, el, text, trusted
from backscroll.render.html.export import Assets, footer, page_bar, page_head
from backscroll.render.html.outline import first_words
from backscroll.render.terminal import clean, clean_line, moment, plural

LONGEST_PROMPT = 400
MAX_PROMPTS = 500


class ExportedChat(NamedTuple):
    """An entry of the list, without the messages of the chat, so that there can be many."""

    file: str
    overview: Overview
    title: str
    prompts: tuple[str, ...]
    """Beginnings of the prompts, for the search."""


def exported_chat(file: str, shared: Readable, overview: Overview) -> ExportedChat:
    """Return the list entry of a chat."""
    return ExportedChat(file, overview, shared.title, tuple(_prompts(shared, shared.chat.branches)))


def index_page(chats: Sequence[ExportedChat], assets: Assets, *, title: str, is_redacted: bool) -> Iterator[str]:
    """Yield the page that links to all chats."""
    yield from page_head(title, assets)
    yield '<body class="exported export-list">'
    yield page_bar()
    yield '<main id="main">'
    yield el("h1", first_words(title, 200))
    yield el("p", plural(len(chats), "chat"), class_="muted")
    yield el(
        "form",
        el("input", type="search", id="chats-find", aria_label="Find in titles and prompts", autocomplete="off",
           placeholder="Find in titles and prompts"),
        el("span", id="chats-count", class_="muted", role="status"),
        id="chats-form", role="search", hidden=True,
    )  # fmt: skip
    names = ("Title", "Project", "Last active", "Messages")
    heads = [el("th", name, scope="col", class_="number" if name == "Messages" else None) for name in names]
    yield f'<table id="chats"><thead>{el("tr", heads)}</thead><tbody>'
    for chat in chats:
        yield text(_row(chat))
    yield "</tbody></table>"
    yield text(footer(is_redacted=is_redacted))
    yield '</main><script type="application/json" id="chats-data">['
    for number, chat in enumerate(chats):
        yield ("," if number else "") + _data(chat)
    yield "]</script></body></html>\n"


def _row(chat: ExportedChat) -> Html:
    overview = chat.overview
    when = moment(overview.last_active) if overview.last_active else ""
    name = first_words(chat.title, 110) or overview.id[:8]
    return el(
        "tr",
        el("td", el("a", name, href=f"./{quote(chat.file)}"), el("span", class_="found")),
        el("td", overview.project or "", class_="project"),
        el("td", el("time", f"{when[:10]} {when[11:16]}", datetime=when) if when else "", class_="when"),
        el("td", f"{overview.messages:,}", class_="number"),
    )


def _data(chat: ExportedChat) -> Html:
    """Return the searched text as JSON that its contents cannot end: every `<` is written by its number."""
    words = clean_line(f"{chat.title} {chat.overview.project or ''} {chat.overview.id}")
    written = json.dumps({"text": words, "prompts": chat.prompts}, ensure_ascii=False)
    return trusted(written.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _prompts(shared: Readable, branches: Sequence[Branch]) -> Iterator[str]:
    count = 0
    for branch in branches:
        for message in shared.messages(branch):
            if message.kind in HUMAN and message.text.strip() and count < MAX_PROMPTS:
                count += 1
                yield " ".join(clean(message.text[: 4 * LONGEST_PROMPT]).split())[:LONGEST_PROMPT]
