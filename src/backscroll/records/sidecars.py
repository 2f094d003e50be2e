"""The small JSON files next to the sessions.

As with records, a field of the wrong type is dropped, and nothing raises.
"""

from typing import Any

from msgspec import Struct

from backscroll.records.decode import value_of


class LiveSession(Struct, frozen=True, kw_only=True):
    """`sessions/<pid>.json`: a client that is running, or was when it last wrote this."""

    pid: int
    session_id: str | None
    cwd: str | None
    process_start: str | None
    status: str | None
    waiting_for: str | None = None
    """The event that the client waits for, such as `permission prompt`."""

    @property
    def waits_for_permission(self) -> bool:
        """Whether the user is asked whether a tool may run."""
        return self.status == "waiting" and "permission" in (self.waiting_for or "")


def live_session(data: bytes) -> LiveSession | None:
    """Return the running client that the file describes, if it names a process."""
    fields = _fields(data)
    pid = fields.get("pid")
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        return None
    started = fields.get("procStart")
    return LiveSession(
        pid=pid,
        session_id=_text(fields.get("sessionId")),
        cwd=_text(fields.get("cwd")),
        process_start=str(started) if isinstance(started, (str, int)) else None,
        status=_text(fields.get("status")),
        waiting_for=_text(fields.get("waitingFor")),
    )


class AgentMeta(Struct, frozen=True, kw_only=True):
    """`agent-<id>.meta.json`: the type and purpose of a sub-agent, and the call that started it."""

    agent_type: str | None = None
    description: str | None = None
    name: str | None = None
    model: str | None = None
    tool_use_id: str | None = None
    parent_agent_id: str | None = None
    is_fork: bool = False


def agent_meta(data: bytes) -> AgentMeta:
    """Return the contents of the file; empty if it cannot be read."""
    fields = _fields(data)
    return AgentMeta(
        agent_type=_text(fields.get("agentType")),
        description=_text(fields.get("description")),
        name=_text(fields.get("name")),
        model=_text(fields.get("model")),
        tool_use_id=_text(fields.get("toolUseId")),
        parent_agent_id=_text(fields.get("parentAgentId")),
        is_fork=fields.get("isFork") is True,
    )


def custom_title(data: bytes) -> str | None:
    """Return the title in a session's `custom-title.json`."""
    return _text(_fields(data).get("customTitle"))


def cleanup_period(settings: bytes) -> int | None:
    """Return the days after which sessions are deleted, from `settings.json`; None if missing or invalid."""
    days = _fields(settings).get("cleanupPeriodDays")
    if isinstance(days, bool) or not isinstance(days, (int, float)) or days < 0:
        return None
    return int(days)


def _fields(data: bytes) -> dict[str, Any]:
    value = value_of(data)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
