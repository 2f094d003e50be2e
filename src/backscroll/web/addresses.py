"""The URLs of the viewer's pages."""

from functools import lru_cache
from urllib.parse import quote, urlencode


def address(path: str, /, **fields: str | int | None) -> str:
    """Return a URL with query parameters; empty ones are left out."""
    # A transcript may contain half a surrogate pair; the page must still work.
    pairs = [(name, str(value).encode("utf-8", "replace")) for name, value in fields.items() if value not in (None, "")]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def chat_address(chat: str, message: str | None = None) -> str:
    """Return the address of a chat, or of a message in it."""
    where = f"/chats/{part(chat)}"
    return f"{where}?at={part(message)}#m-{part(message)}" if message else where


def with_find(where: str, query: str) -> str:
    """Return a message's address with a search query whose matches the page marks."""
    page, mark, place = where.partition("#")
    return f"{page}&find={part(query)}{mark}{place}" if query and "?" in page else where


def agent_address(chat: str, agent: str, message: str | None = None) -> str:
    """Return the address of a sub-agent's page, or of a message on it."""
    where = f"/chats/{part(chat)}/agents/{part(agent)}"
    return f"{where}#m-{part(message)}" if message else where


def search_address(query: str = "", sort: str = "", page: int = 1, cursor: str | None = None) -> str:
    """Return the address of a query's results; with a cursor, the page does not shift when new matches appear."""
    order = "" if sort == "relevance" else sort
    return address("/search", q=query, sort=order, page=page if page > 1 else None, after=cursor)


def chats_address(query: str = "", **fields: str | int | None) -> str:
    """Return the address of the list of chats."""
    return address("/chats", q=query, **fields)


def prompt_address(key: str) -> str:
    """Return the address of a saved prompt's page."""
    return f"/prompts/{quote(key, safe=':', errors='replace')}"


@lru_cache(4096)
def part(text: str) -> str:
    """Quote a text for a URL path. Cached: a page links to its chat from every message."""
    return quote(text, safe="", errors="replace")
