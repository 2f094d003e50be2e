"""The current status: running sessions, today's cost, the open window, upcoming deletions, the archive, the remotes."""

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
    """Return the current status; `now` is in the user's time zone."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    today = usage(library, ReportRequest(since=midnight, zone=now.tzinfo), "model").facts
    window = blocks(library, ReportRequest(zone=now.tzinfo), now, active=True).facts["active"]
    return {
        "running": running(library),
        "today": {**today["total"], "unrecorded": today["unrecorded"]},
        "window": window,
        "deletion": deletion(library, now),
        "archive": _archive(library, now),
        "sync": _sync(library),
    }


def running(library: Library) -> list[dict[str, Any]]:
    """Return the sessions that Claude Code has open, the last written first; an empty session has no chat."""
    sessions = []
    chats = {session.lower(): chat for chat in library.chats("is:live") for session in chat.overview.sessions}
    for name, live in library.live.items():
        chat = chats.get(name)
        overview = chat.overview if chat else None
        sessions.append({
            "session": live.session_id,
            "process": live.pid,
            "status": live.status,
            "waiting_for": live.waiting_for,
            "project": overview.project if overview and overview.project else live.cwd,
            "chat": overview.id if overview else None,
            "title": overview.title if overview else None,
            "started": overview.started if overview else None,
            "last_active": overview.last_active if overview else None,
            "messages": overview.messages if overview else 0,
            "cost_microdollars": round(chat.cost / 1000) if chat and chat.cost is not None else None,
        })  # fmt: skip
    return sorted(sessions, key=lambda one: one["last_active"] or EARLIEST, reverse=True)


def _sync(library: Library) -> list[dict[str, Any]]:
    """Return the remotes, as the last sync left them."""
    return [
        {"remote": remote.name, "last_sync": remote.last_sync, "is_paused": remote.is_paused, "problem": remote.problem}
        for remote in read_remotes(library.settings).values()
    ]


def _archive(library: Library, now: datetime) -> dict[str, Any] | None:
    try:
        state = status(library.settings, library.homes, now)
    except NothingFound:
        return None
    return {
        "folder": str(Path(state.folder)),
        "sessions": state.sessions,
        "bytes": state.size,
        "stored_bytes": state.stored,
        "only_in_archive": len(state.gone),
        "captured": max(state.captured.values(), default=None),
        "verified": state.verified,
        "damaged_lines": state.damaged_lines,
    }
