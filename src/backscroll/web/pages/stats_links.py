"""Links from the rows of reports to chats, files and searches."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final
from urllib.parse import quote, urlencode

from backscroll.library.analytics.file_calls import FileCallRow
from backscroll.library.analytics.periods import PERIODS
from backscroll.query.write import field_text
from backscroll.render.terminal import clean_line
from backscroll.web.addresses import agent_address, chat_address, chats_address, search_address
from backscroll.web.pages.stats_periods import bounds_of, is_drawn

FIELDS: Final = {"project": "project", "model": "model", "git-branch": "branch", "machine": "machine"}
"""Columns whose values a query can ask for."""
LONGEST_NAME: Final = 60
NAMELESS: Final = ("", "-", None)


def link_of(column: str, row: Mapping[str, Any]) -> str | None:
    """Return the link of a cell, from its column and the rest of its row."""
    value = row.get(column)
    if value in NAMELESS:
        return None
    text = str(value)
    if column in FIELDS:
        return chats_address(field_text(FIELDS[column], text))
    if column in IN_CHATS and (column != "last" or "example_chat" in row):
        chat, message = (row.get(name) for name in IN_CHATS[column])
        if chat in NAMELESS:
            chat, message = row.get("chat"), message or (row.get("message") if column == "example" else None)
        return chat_address(str(chat), str(message) if message else None) if chat not in NAMELESS else None
    if column in FAILURES and value and (row.get("tool") not in NAMELESS):
        return _failures_address(column, row)
    if column == "file":
        return file_address(text)
    if column == "folder":
        slash = "/" if "/" in text else "\\"
        return file_address(text.rstrip(slash) + slash)
    if column == "word":
        return _said_address(text, row)
    if column == "tool":
        return search_address(field_text("tool", text))
    if column == "mcp-server":
        return search_address(field_text("tool", f"mcp__{text}__"))
    if column in PERIODS and is_drawn(text):
        since, end = bounds_of(column, text)
        return chats_address(f"after:{since} before:{end}")
    return None


def _said_address(word: str, row: Mapping[str, Any]) -> str:
    """Return the search for a word, in the project or period that it stands out in."""
    where = [field_text("project", str(row["project"]))] if row.get("project") not in NAMELESS else []
    for period in PERIODS:
        if period in row and is_drawn(str(row[period])):
            where += ["after:{} before:{}".format(*bounds_of(period, str(row[period])))]
    return search_address(" ".join((word, *where)))


def _failures_address(column: str, row: Mapping[str, Any]) -> str:
    """Return the failed calls that a number counts."""
    filters = {"tool": str(row["tool"])}
    if row.get("signature"):
        filters["signature"] = str(row["signature"])
    if column == "denied":
        filters["state"] = "denied"
    return "/stats/failures?" + urlencode({name: text.encode("utf-8", "replace") for name, text in filters.items()})


def file_address(path: str, **more: str) -> str:
    """Return the address of a file's history."""
    # Not every path is a text: half a surrogate pair in a transcript must not cost the page.
    return "/files?" + urlencode({"path": path.encode("utf-8", "replace"), **more})


def file_search(path: str) -> str:
    """Return the search for the chats that changed a file."""
    return chats_address(field_text("file", path))


def call_address(call: FileCallRow) -> str | None:
    """Return the address of a call in its chat, or on the page of the agent that made it."""
    if call.chat is None:
        return None
    place = f"#t-{quote(call.call, safe='')}" if call.call else ""
    if call.agent:
        return agent_address(call.chat, call.agent) + place
    at = call.call or call.uuid
    return chat_address(call.chat, at).partition("#")[0] + place if at else chat_address(call.chat)


def chats_of_day(day: date) -> str:
    """Return the search for the chats of a day."""
    return chats_address(f"after:{day} before:{day + timedelta(days=1)}")


def short_path(path: str) -> str:
    """Return the end of a path, which says more than its beginning."""
    parts = [part for part in path.split("/") if part]
    return path if len(parts) <= 2 else "…/" + "/".join(parts[-2:])


def cut_name(name: str) -> str:
    """Return a name on one line, not too long."""
    line = clean_line(name)
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"


FAILURES: Final = frozenset({"errors", "denied", "count", "signature"})
"""Columns about failed calls, numbers or what the calls have in common: they lead to the calls."""
IN_CHATS: Final = {
    "chat": ("chat", ""),
    "title": ("chat", ""),
    "prompt": ("chat", "message"),
    "message": ("chat", "message"),
    "example_chat": ("example_chat", "example_message"),
    "example_message": ("example_chat", "example_message"),
    "example": ("example_chat", "example_message"),
    "last": ("example_chat", "example_message"),
}
"""Columns that lead into a chat, with the fields of the row that name the chat and the message."""
