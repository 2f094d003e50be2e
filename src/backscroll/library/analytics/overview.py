"""The overview: activity, tokens, costs with their largest parts, and upcoming deletions."""

from collections import Counter
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, Final

from backscroll.errors import NothingFound
from backscroll.library.analytics.activity import streaks
from backscroll.library.analytics.moments import SECOND, local
from backscroll.library.analytics.prompts import PromptCounts, count_prompts
from backscroll.library.analytics.reports import ReportRequest, reports_about
from backscroll.library.analytics.time import measure
from backscroll.library.analytics.usage import chats_with_answers, usage
from backscroll.library.archives import find_archive
from backscroll.library.keeping.keep import status
from backscroll.library.library import Library

SHOWN: Final = 5
DAYS: Final = 30


def overview(
    library: Library,
    asked: ReportRequest,
    now: datetime,
    said: PromptCounts | None = None,
    *,
    has_deletion: bool = True,
) -> dict[str, Any]:
    """Return the overview, for programs and people; `said` are its prompts, if the caller already counted them."""
    today = asked.local(now).date()
    said = said or count_prompts(library, asked)
    timed = measure(library, asked)
    models, projects = usage(library, asked, "model"), usage(library, asked, "project")
    days = _days_of(said.times, asked)
    tools = sorted(reports_about(library, asked).calls_by_tool(), key=lambda row: (-row.calls, str(row.tool)))
    return {
        "since": asked.since.isoformat() if asked.since else None,
        "until": asked.until.isoformat() if asked.until else None,
        "activity": {
            "chats": len(said.chats | chats_with_answers(library, asked)),
            "prompts": len(said.total.lengths),
            "turns": len(timed.total.turns),
            "active_seconds": round(timed.total.active / SECOND),
            "active_days": len(days),
            **streaks(days, today),
        },
        "usage": models.facts["total"],
        "unrecorded": models.facts["unrecorded"],
        "models": models.as_dicts()[:SHOWN],
        "projects": projects.as_dicts()[:SHOWN],
        "tools": [{"tool": row.tool or "-", "calls": row.calls, "failed": row.failed} for row in tools[:SHOWN]],
        "calls": sum(row.calls for row in tools),
        "last_days": _last_days(library, asked, now, days),
        "deletion": deletion(library, now) if has_deletion else None,
        "counted": {name: models.facts[name] for name in ("counted", "copies", "placeholders", "synthetic", "unknown")},
        "notes": models.notes,
    }


def deletion(library: Library, now: datetime) -> dict[str, Any] | None:
    """Return the sessions that Claude Code deletes within a week and how many are kept; None if none was ever kept."""
    try:
        state = status(library.settings, library.homes, now)
    except NothingFound:
        return None
    archive = find_archive(library.settings)
    sizes = {
        file.key: file.latest.size for file in (archive.files.values() if archive else ()) if file.latest is not None
    }
    # A file that grew since it was kept is not completely kept.
    kept = sum(1 for item in state.due if sizes.get(item.file.key, -1) >= item.file.size)
    # An overdue session is deleted when Claude Code is next started.
    first = min((item.due for item in state.due if item.due > now), default=None)
    return {
        "due": len(state.due),
        "overdue": sum(1 for item in state.due if item.due <= now),
        "kept": kept,
        "not_kept": len(state.due) - kept,
        "first_due": first.isoformat() if first else None,
        "sessions_kept": state.sessions,
        "only_in_archive": len(state.gone),
        "verified": state.verified,
    }


def _last_days(library: Library, asked: ReportRequest, now: datetime, prompts: Counter[date]) -> list[dict[str, Any]]:
    """Return prompts and costs of each of the last days, the latest last; `prompts` are those of the period."""
    today = asked.local(now).date()
    first = today - timedelta(days=DAYS - 1)
    recent = replace(asked, since=now - timedelta(days=DAYS + 1), until=None)
    costs = {row["day"]: row["cost_microdollars"] for row in usage(library, recent, "day").as_dicts()}
    if asked.since or asked.until:
        prompts = _days_of(count_prompts(library, recent).times, asked)
    days = [first + timedelta(days=number) for number in range(DAYS)]
    return [{"day": str(day), "prompts": prompts[day], "cost_microdollars": costs.get(str(day), 0)} for day in days]


def _days_of(times: list[int], asked: ReportRequest) -> Counter[date]:
    return Counter(local(asked, time).date() for time in times)
