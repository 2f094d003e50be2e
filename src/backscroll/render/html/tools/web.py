"""Tools that look into the web, the client's own and those of the API."""

import json
import re
from typing import Any, Final

from backscroll.records.content import WebSearchResult
from backscroll.records.decode import readable_value
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.plain import outside
from backscroll.render.html.prose import prose
from backscroll.render.html.tools.call_view import CallReader, CallView, label, text_in
from backscroll.render.reports import duration
from backscroll.render.terminal import plural, size


def fetch(called: CallReader) -> CallView:
    """WebFetch: a page, and what was asked of it."""
    address, prompt = called.asked("url"), called.asked("prompt")
    code, count = called.fields.get("code"), called.fields.get("bytes")
    facts = [str(code)] if isinstance(code, int) else []
    facts += [size(count)] if isinstance(count, int) and count >= 0 else []
    answer = called.told("result") or ("" if called.has_failed else called.output) or _fetched(called)
    parts = [
        el("p", outside(address), class_="address"),
        label("asked", prose(prompt)) if prompt else NOTHING,
        label("answer", called.prose(answer)) if answer else NOTHING,
    ]
    return CallView(address, parts, ", ".join(facts))


def search(called: CallReader) -> CallView:
    """WebSearch: the pages that were found, and what was made of them."""
    query = called.asked("query") or called.told("query")
    links, said = _found(called)
    seconds = called.fields.get("durationSeconds")
    facts = [plural(len(links), "page")] if links else []
    facts += [duration(seconds)] if isinstance(seconds, (int, float)) and 0 < seconds < 1e9 else []
    listed = el("ol", [_page(one) for one in links], class_="found-pages") if links else NOTHING
    answer = label("answer", called.prose(said)) if said.strip() else NOTHING
    return CallView(query, [listed, answer], ", ".join(facts))


def _found(called: CallReader) -> tuple[list[dict[str, Any]], str]:
    results = called.fields.get("results")
    if isinstance(results, list):
        groups = [one.get("content") for one in results if isinstance(one, dict)]
        pages = [page for group in groups if isinstance(group, list) for page in group if isinstance(page, dict)]
        return pages, "\n\n".join(one for one in results if isinstance(one, str)).strip()
    for block in called.answered_here():
        if isinstance(block, WebSearchResult):
            value = readable_value(block.content)
            if isinstance(value, list):
                return [page for page in value if isinstance(page, dict)], ""
            return [], text_in(value, "error_code") if isinstance(value, dict) else ""
    if called.has_failed:
        return [], ""
    return _from_text(called.output)


def _from_text(text: str) -> tuple[list[dict[str, Any]], str]:
    """Of what the model was told: the list of links in it, and the rest."""
    begin = LINKS.search(text)
    if begin is None:
        return [], text
    try:
        pages, end = json.JSONDecoder().raw_decode(text, begin.end())
    except (ValueError, RecursionError):
        return [], text
    found = [page for page in pages if isinstance(page, dict)] if isinstance(pages, list) else []
    return found, text[end:].strip()


def _page(page: dict[str, Any]) -> Html:
    address, title, age = text_in(page, "url"), text_in(page, "title"), text_in(page, "page_age")
    host = HOST.match(address)
    told = join([host[1] if host else "", f" · {age}" if age else ""])
    return el("li", outside(address, title), " ", el("span", told, class_="muted") if told else NOTHING)


def _fetched(called: CallReader) -> str:
    for block in called.answered_here():
        value = readable_value(block.content) if isinstance(block, WebSearchResult) else None
        content = value.get("content") if isinstance(value, dict) else None
        source = content.get("source") if isinstance(content, dict) else None
        if isinstance(source, dict):
            return text_in(source, "data") if source.get("type") == "text" else text_in(content or {}, "title")
        if isinstance(value, dict):
            return text_in(value, "error_code", "url")
    return ""


LINKS: Final = re.compile(r"^Links: (?=\[)", re.MULTILINE)
HOST: Final = re.compile(r"https?://([^/\s?#]{1,100})", re.IGNORECASE)
