"""Web tools, those of the client and those of the API."""

import json
import re
from typing import Any, Final

from backscroll.records.content import WebSearchResult
from backscroll.records.decode import readable_value
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.plain import external_link
from backscroll.render.html.prose import prose
from backscroll.render.html.tools.call_view import CallReader, CallView, first_text, label
from backscroll.render.reports import duration
from backscroll.render.terminal import plural, size


def fetch(reader: CallReader) -> CallView:
    """WebFetch: an address, the prompt, and the answer."""
    address, prompt = reader.input_text("url"), reader.input_text("prompt")
    code, count = reader.details.get("code"), reader.details.get("bytes")
    facts = [str(code)] if isinstance(code, int) else []
    facts += [size(count)] if isinstance(count, int) and count >= 0 else []
    answer = reader.detail_text("result") or ("" if reader.has_failed else reader.output) or _fetched_text(reader)
    parts = [
        el("p", external_link(address), class_="address"),
        label("asked", prose(prompt)) if prompt else NOTHING,
        label("answer", reader.prose(answer)) if answer else NOTHING,
    ]
    return CallView(address, parts, ", ".join(facts))


def search(reader: CallReader) -> CallView:
    """WebSearch: the resulting pages, and the summary."""
    query = reader.input_text("query") or reader.detail_text("query")
    links, summary = _search_results(reader)
    seconds = reader.details.get("durationSeconds")
    facts = [plural(len(links), "page")] if links else []
    facts += [duration(seconds)] if isinstance(seconds, (int, float)) and 0 < seconds < 1e9 else []
    listed = el("ol", [_page(link) for link in links], class_="found-pages") if links else NOTHING
    answer = label("answer", reader.prose(summary)) if summary.strip() else NOTHING
    return CallView(query, [listed, answer], ", ".join(facts))


def _search_results(reader: CallReader) -> tuple[list[dict[str, Any]], str]:
    results = reader.details.get("results")
    if isinstance(results, list):
        groups = [item.get("content") for item in results if isinstance(item, dict)]
        pages = [page for group in groups if isinstance(group, list) for page in group if isinstance(page, dict)]
        return pages, "\n\n".join(item for item in results if isinstance(item, str)).strip()
    for block in reader.server_results():
        if isinstance(block, WebSearchResult):
            value = readable_value(block.content)
            if isinstance(value, list):
                return [page for page in value if isinstance(page, dict)], ""
            return [], first_text(value, "error_code") if isinstance(value, dict) else ""
    if reader.has_failed:
        return [], ""
    return _parse_links(reader.output)


def _parse_links(text: str) -> tuple[list[dict[str, Any]], str]:
    """Return the list of links in the output for the model, and the rest of it."""
    begin = LINKS.search(text)
    if begin is None:
        return [], text
    try:
        pages, end = json.JSONDecoder().raw_decode(text, begin.end())
    except (ValueError, RecursionError):
        return [], text
    links = [page for page in pages if isinstance(page, dict)] if isinstance(pages, list) else []
    return links, text[end:].strip()


def _page(page: dict[str, Any]) -> Html:
    address, title, age = first_text(page, "url"), first_text(page, "title"), first_text(page, "page_age")
    host = HOST.match(address)
    facts = join([host[1] if host else "", f" · {age}" if age else ""])
    return el("li", external_link(address, title), " ", el("span", facts, class_="muted") if facts else NOTHING)


def _fetched_text(reader: CallReader) -> str:
    for block in reader.server_results():
        value = readable_value(block.content) if isinstance(block, WebSearchResult) else None
        content = value.get("content") if isinstance(value, dict) else None
        source = content.get("source") if isinstance(content, dict) else None
        if isinstance(source, dict):
            return first_text(source, "data") if source.get("type") == "text" else first_text(content or {}, "title")
        if isinstance(value, dict):
            return first_text(value, "error_code", "url")
    return ""


LINKS: Final = re.compile(r"^Links: (?=\[)", re.MULTILINE)
HOST: Final = re.compile(r"https?://([^/\s?#]{1,100})", re.IGNORECASE)
