"""The text of the status line.

Runs after every message, so it must cost next to nothing: it imports neither click nor the library, brings nothing up
to date, and reads sums from the index as the last update left it. That is why its few statements are here, and why the
rule of the five-hour windows (`library.analytics.blocks`) is written a second time; a test holds the two together.
"""

import json
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any, Final

from backscroll.disk import open_own
from backscroll.render.terminal import clean_line
from backscroll.settings import Settings

QUARTER: Final = 900
WINDOW: Final = 20
"""Quarters of an hour in five hours."""
APPLICATION: Final = 0x6273_6372
"""The application id of our files; a file of another version either answers the statements or is ignored."""
LONGEST_INPUT: Final = 1_000_000


def answer_to(data: bytes, settings: Settings) -> dict[str, Any]:
    """Return the contents of the line, from the JSON that Claude Code wrote to stdin."""
    status = read(data)
    path = rows_in_use(str(settings.library / "index"))
    return combine(status, from_index(path, _text(status, "session_id"), time.time()))


def rows_in_use(folder: str) -> str:
    """Return the path of the rows of the index in use, as `store.local.generations` writes it down."""
    try:
        with open_own(Path(folder, "current")) as file:
            name = file.read(100).decode("ascii").partition(" ")[0]
    except (OSError, ValueError):
        name = ""
    return f"{folder}/{name if name.isdecimal() else '-'}/rows.sqlite"


def without_index(data: bytes) -> dict[str, Any]:
    """Return the contents of the line from stdin alone."""
    return combine(read(data), {})


def from_stdin() -> bytes:
    """Read the JSON that Claude Code wrote to stdin; nothing if it is a terminal."""
    return b"" if sys.stdin.isatty() else sys.stdin.buffer.read(LONGEST_INPUT)


def read(data: bytes) -> dict[str, Any]:
    """Parse the JSON; empty if it is not valid."""
    try:
        status = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return status if isinstance(status, dict) else {}


def from_index(path: str, session: str | None, now: float) -> dict[str, Any]:
    """Return the sums from the index; empty if there is no index of a known version."""
    try:
        open_own(Path(path)).close()
        connection = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True, timeout=0.05)
        try:
            if connection.execute("pragma application_id").fetchone()[0] != APPLICATION:
                return {}
            return {
                **_chat(connection, session),
                "today_microdollars": _cost(connection, _midnight(now), None),
                "window": _window(connection, now),
            }
        finally:
            connection.close()
    except (sqlite3.Error, OSError, OverflowError, ValueError):
        return {}


def combine(status: dict[str, Any], indexed: dict[str, Any]) -> dict[str, Any]:
    """Merge the line's contents. The larger chat cost counts: the index may be behind, stdin covers only this run."""
    stated = _number(status, "cost", "total_cost_usd")
    costs = [
        cost
        for cost in (indexed.get("cost_microdollars"), None if stated is None else round(stated * 1e6))
        if cost is not None
    ]
    counts = [_number(status, "context_window", f"total_{side}_tokens") for side in ("input", "output")]
    tokens = indexed.get("tokens")
    if tokens is None and any(count is not None for count in counts):
        tokens = round(sum(count or 0 for count in counts))
    return {
        "model": _text(status, "model", "display_name") or _text(status, "model", "id") or _text(status, "model"),
        "cost_microdollars": max(costs, default=None),
        "tokens": tokens,
        "today_microdollars": indexed.get("today_microdollars"),
        "window": indexed.get("window"),
        "context_used_percentage": _number(status, "context_window", "used_percentage"),
        "limit_used_percentage": _number(status, "rate_limits", "five_hour", "used_percentage"),
    }


def line(answer: dict[str, Any]) -> str:
    """Return the status line."""
    parts = [clean_line(answer["model"] or "Claude")]
    chat = [_dollars(answer["cost_microdollars"])] if answer["cost_microdollars"] is not None else []
    if answer["tokens"] is not None:
        chat.append(f"{_short(answer['tokens'])} tokens")
    if chat:
        parts.append(" ".join(chat))
    if answer["context_used_percentage"] is not None:
        parts.append(f"context {answer['context_used_percentage']:.0f} %")
    if answer["today_microdollars"] is not None:
        parts.append(f"today {_dollars(answer['today_microdollars'])}")
    window, used = answer["window"], answer["limit_used_percentage"]
    if window or used is not None:
        words = ["5 h"]
        if used is not None:
            words.append(f"{used:.0f} %")
        if window:
            minutes = window["minutes_left"]
            words.append(
                f"{_dollars(window['cost_microdollars'])}, {_dollars(window['cost_microdollars_per_hour'])}/h,"
            )
            words.append(f"{minutes // 60}:{minutes % 60:02} left")
        parts.append(" ".join(words))
    return " | ".join(parts)


def _chat(connection: sqlite3.Connection, session: str | None) -> dict[str, Any]:
    if session is None:
        return {}
    sums = connection.execute(CHAT, (session,)).fetchone()
    messages, tokens, cost, unpriced = sums
    if not messages:
        return {}
    return {"tokens": tokens, "cost_microdollars": None if unpriced == messages else _micro(cost)}


def _cost(connection: sqlite3.Connection, since: int, until: int | None) -> int:
    values = (since, 2**60 if until is None else until)
    return _micro(connection.execute(COST, values).fetchone()[0] or 0)


def _window(connection: sqlite3.Connection, now: float) -> dict[str, Any] | None:
    quarter = int(now) // QUARTER
    # A pause of five hours ends every window, so what came before it does not matter. Two days contain one.
    recent = [row[0] for row in connection.execute(QUARTERS, (quarter - 192, quarter))]
    for number in range(1, len(recent)):
        if recent[number] - recent[number - 1] > WINDOW:
            recent = recent[number:]
            break
    else:
        recent = [row[0] for row in connection.execute(QUARTERS, (1, quarter))]
    start = None
    for answered in recent:
        if start is None or answered >= start + WINDOW:
            start = answered // 4 * 4
    if start is None or quarter >= start + WINDOW:
        return None
    cost = _cost(connection, start, start + WINDOW)
    # Precise to the quarter hour, the unit of the sums: reading every answer would take too long.
    begun = next(answered for answered in recent if answered >= start) * QUARTER
    return {
        "cost_microdollars": cost,
        "cost_microdollars_per_hour": round(cost * 3600 / max(60.0, now - begun)),
        "minutes_left": int(((start + WINDOW) * QUARTER - now) // 60),
    }


def _midnight(now: float) -> int:
    """Return the quarter hour at which the local day begins."""
    today = time.localtime(now)
    return int(time.mktime((today.tm_year, today.tm_mon, today.tm_mday, 0, 0, 0, 0, 0, -1))) // QUARTER


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _value(status: Any, *names: str) -> Any:  # noqa: ANN401 - whatever stdin says
    for name in names:
        status = status.get(name) if isinstance(status, dict) else None
    return status


def _text(status: dict[str, Any], *names: str) -> str | None:
    value = _value(status, *names)
    return value if isinstance(value, str) and value else None


def _number(status: dict[str, Any], *names: str) -> float | None:
    value = _value(status, *names)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    return value if is_number else None


def _micro(nanodollars: int) -> int:
    return round(nanodollars / 1000)


def _dollars(microdollars: int) -> str:
    return f"${microdollars / 1e6:,.2f}"


def _short(count: int) -> str:
    for size, unit in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}" if count < 100 * size else f"{count // size}{unit}"
    return str(count)


REAL: Final = "model <> '<synthetic>'"
CHAT: Final = f"""
select sum(messages), sum(input + output + cache_write + cache_read), sum(cost), sum(unpriced) from spent
where {REAL} and file in (
  select id from files where chat in (select chat from files where session = ? and chat is not null))
"""  # noqa: S608 - no values in it
COST: Final = f"select sum(cost) from spent where {REAL} and quarter >= ? and quarter < ?"  # noqa: S608
QUARTERS: Final = f"select distinct quarter from spent where {REAL} and quarter >= ? and quarter <= ? order by quarter"  # noqa: S608
