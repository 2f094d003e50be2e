"""Sessions that Claude Code is about to delete, and whether the archive has them.

Counting them looks at every file, so a background thread does it, and pages show the last result.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from backscroll.errors import BackscrollError
from backscroll.library import Home
from backscroll.library.analytics.overview import deletion
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.render.html.element import Html, el
from backscroll.render.terminal import plural
from backscroll.settings import Settings
from backscroll.web.addresses import chats_address
from backscroll.web.pages.chat_rows import when

DELETES_IT: Final = " is overdue: Claude Code deletes it when it next starts."
STALE: Final = 30.0
"""Seconds until the numbers are counted again."""
PATIENCE: Final = 0.2
"""Seconds that a page waits for the first count."""


@dataclass(frozen=True)
class Expiring:
    """Numbers of expiring sessions, and when they were counted."""

    found: dict[str, Any] | None
    """The numbers; None if there is no archive yet."""


@dataclass(frozen=True)
class ExpiringCount:
    """A running or finished count, and the result before it."""

    since: float
    work: "Future[Expiring]"
    before: Expiring | None


def expiring_section(library: Library) -> Html:
    """Return the section of the home page."""
    counted = _latest_count(library)
    content: object
    if counted is None:
        waiting = el("span", [el("span") for _ in range(3)], class_="skeleton-lines", aria_hidden="true")
        content = el("div", el("span", "Counting …", class_="unseen"), waiting, class_="counting")
    elif counted.found is None:
        content = el("p", "The archive is empty; the first update fills it.")
    else:
        content = _lines(counted.found)
    return el(
        "section",
        el("h2", "Expiring soon ", el("a", "Details", href="/settings", class_="more")),
        content,
        class_="card kept",
        aria_label="Expiring soon",
    )


def _lines(found: dict[str, Any]) -> list[Html]:
    lines = []
    overdue, soon = found["overdue"], found["due"] - found["overdue"]
    if overdue:
        consequence = DELETES_IT if overdue == 1 else " are overdue: Claude Code deletes them when it next starts."
        lines.append(el("p", el("strong", plural(overdue, "session")), consequence))
    if soon:
        first = el("span", " (the first ", when(datetime.fromisoformat(found["first_due"])), ")")
        lines.append(
            el("p", el("strong", plural(soon, "session")), " will be deleted by Claude Code within 7 days", first, ".")
        )
    if found["due"]:
        if found["not_kept"]:
            lines.append(
                el("p", f"{found['kept']:,} are fully archived; the next update archives the rest.",
                   class_="warn")
            )  # fmt: skip
        else:
            lines.append(el("p", "All are archived, byte for byte.", class_="good"))
    else:
        lines.append(el("p", "Claude Code will delete no sessions in the next 7 days."))
    gone = found["only_in_archive"]
    kept = [el("strong", plural(found["sessions_kept"], "session")), " archived"]
    if gone:
        kept += ["; ", el("a", f"{gone:,} deleted by Claude Code", href=chats_address("is:archived"))]
    lines.append(el("p", kept, "."))
    return lines


def _latest_count(library: Library) -> Expiring | None:
    """Return the last result; None before the first count is done."""
    at, now = library.settings.library, time.monotonic()
    with _lock:
        count = _counts.get(at)
        if count is None or (count.work.done() and now - count.since > STALE):
            work = _pool.submit(_count, library.settings, library.homes)
            count = _counts[at] = ExpiringCount(now, work, count.work.result() if count else None)
    try:
        return count.work.result(0 if count.before else PATIENCE)
    except TimeoutError:
        return count.before


def _count(settings: Settings, homes: Sequence[Home]) -> Expiring:
    try:
        with local_library(settings, homes) as library:  # a library serves one thread at a time
            return Expiring(deletion(library, datetime.now(UTC)))
    except (BackscrollError, OSError):
        return Expiring(None)


_lock: Final = threading.Lock()
_pool: Final = ThreadPoolExecutor(1, "counting")
_counts: Final[dict[Path, ExpiringCount]] = {}
