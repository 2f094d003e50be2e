"""What is now: sessions that run, today's cost, the open window, what will be deleted, the archive, the remotes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from backscroll.errors import NothingFound
from backscroll.library.analytics.blocks import blocks
from backscroll.library.analytics.overview import deletion
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.library.keeping.keep import status
from backscroll.library.library import Library
from backscroll.library.syncing.remote_settings import read_remotes

EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


def current_status(library: Library, now: datetime) -> dict[str, Any]:
    """The state of this moment; `now` is in the user's time zone."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    today = usage(library, ReportRequest(since=midnight, zone=now.tzinfo), "model").facts["total"]
    window = blocks(library, ReportRequest(zone=now.tzinfo), now, active=True).facts["active"]
    return {
        "running": running(library),
        "today": today,
        "window": window,
        "deletion": deletion(library, now),
        "archive": _archive(library, now),
        "sync": _sync(library),
    }


def running(library: Library) -> list[dict[str, Any]]:
    """The sessions that Claude Code has open, the one that was written last first; without a chat if it is empty."""
    found = []
    chats = {session.lower(): chat for chat in library.chats("is:live") for session in chat.overview.sessions}
    for name, live in library.live.items():
        chat = chats.get(name)
        overview = chat.overview if chat else None
        found.append({
            "session": live.session_id,
            "process": live.pid,
            "status": live.status,
            "project": overview.project if overview and overview.project else live.cwd,
            "chat": overview.id if overview else None,
            "title": overview.title if overview else None,
            "started": overview.started if overview else None,
            "last_active": overview.last_active if overview else None,
            "messages": overview.messages if overview else 0,
            "cost_microdollars": round(chat.cost / 1000) if chat and chat.cost is not None else None,
        })  # fmt: skip
    return sorted(found, key=lambda one: one["last_active"] or EARLIEST, reverse=True)


def _sync(library: Library) -> list[dict[str, Any]]:
    """The remotes, as the last sync left them."""
    return [
        {"remote": one.name, "last_sync": one.last_sync, "is_paused": one.is_paused, "problem": one.problem}
        for one in read_remotes(library.settings).values()
    ]


def _archive(library: Library, now: datetime) -> dict[str, Any] | None:
    try:
        found = status(library.settings, library.homes, now)
    except NothingFound:
        return None
    return {
        "folder": str(Path(found.folder)),
        "sessions": found.sessions,
        "bytes": found.size,
        "stored_bytes": found.stored,
        "only_in_archive": len(found.gone),
        "captured": max(found.captured.values(), default=None),
        "verified": found.verified,
        "damaged_lines": found.damaged_lines,
    }
