"""The URLs of the viewer's pages."""

from functools import lru_cache
from urllib.parse import quote, urlencode


def address(path: str, /, **fields: str | int | None) -> str:
    """A URL with query parameters; empty ones are left out."""
    # A transcript may contain half a surrogate pair; the page must still work.
    pairs = [(name, str(value).encode("utf-8", "replace")) for name, value in fields.items() if value not in (None, "")]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def chat_address(chat: str, message: str | None = None) -> str:
    """A chat, or a message in it."""
    where = f"/chats/{part(chat)}"
    return f"{where}?at={part(message)}#m-{part(message)}" if message else where


def with_find(where: str, query: str) -> str:
    """The address of a message, to be opened with what was searched for marked."""
    page, mark, place = where.partition("#")
    return f"{page}&find={part(query)}{mark}{place}" if query and "?" in page else where


def agent_address(chat: str, agent: str, message: str | None = None) -> str:
    """A sub-agent's page, or a message on it."""
    where = f"/chats/{part(chat)}/agents/{part(agent)}"
    return f"{where}#m-{part(message)}" if message else where


def search_address(query: str = "", sort: str = "", page: int = 1, cursor: str | None = None) -> str:
    """What a query finds; with a cursor the page does not shift when something new is found meanwhile."""
    order = "" if sort == "relevance" else sort
    return address("/search", q=query, sort=order, page=page if page > 1 else None, after=cursor)


def chats_address(query: str = "", **fields: str | int | None) -> str:
    """The list of chats."""
    return address("/chats", q=query, **fields)


def prompt_address(key: str) -> str:
    """The page of a saved prompt."""
    return f"/prompts/{quote(key, safe=':', errors='replace')}"


@lru_cache(4096)
def part(text: str) -> str:
    """A text, quoted for a URL path. A page links to its chat from every message."""
    return quote(text, safe="", errors="replace")
