"""The context of a tool call: the library, the caller, and the frame for quotations."""

from datetime import UTC, datetime
from typing import Final, NamedTuple

from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.library import StoredChat
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.library import Library
from backscroll.library.memory.asking_session import AskingSession
from backscroll.library.memory.citations import times
from backscroll.mcp.pool import RefreshedPool
from backscroll.mcp.quoting import Frame, name_of, one_line
from backscroll.query.times import parse_moment
from backscroll.query.tree import All, Field, Not, Part, Query

EVERYWHERE: Final = frozenset({"*", "all"})
LONGEST_REASON: Final = 150


class CallContext(NamedTuple):
    """The context of one tool call."""

    pool: RefreshedPool
    library: Library
    caller: AskingSession
    frame: Frame
    others: tuple[Library, ...] = ()
    """On a team server: libraries with shared chats of others."""

    def query(self, text: str, *, include_current: bool, project: str = "", since: str = "", until: str = "") -> Query:
        """Return a query without the caller's own chat."""
        parsed = self.library.parse(text)
        parts: list[Part] = list(parsed.root.parts)
        left_out = sorted(self.left_out(include_current=include_current))
        parts += [Not(Field("session", "=", session)) for session in left_out]
        if project and project not in EVERYWHERE:
            parts.append(Field("project", "=", project))
        parts += times(*window_of(since, until))
        return Query(parsed.text, All(tuple(parts)), parsed.notes)

    def asked(self, query: str = "", since: str = "", until: str = "") -> ReportRequest:
        """Return the scope of a report."""
        return ReportRequest(self.library.parse(query) if query else None, *window_of(since, until))

    def left_out(self, *, include_current: bool) -> frozenset[str]:
        """Return the sessions to leave out."""
        return frozenset() if include_current else self.caller.sessions

    def find(self, name: str) -> StoredChat:
        """Return the chat with this id."""
        try:
            return self.library.find(name)
        except NothingFound:
            raise NothingFound(
                f"no chat, session, message or agent id starts with {name}", "find one with search"
            ) from None
        except UsageError:  # its message contains titles, and errors are not framed
            raise UsageError(f"several ids start with {name}", "give a longer prefix") from None

    def own_chats(self) -> frozenset[str]:
        """Return the chats that the caller is in."""
        ids = set()
        for session in self.caller.sessions:
            try:
                ids.add(self.library.find(session).overview.id)
            except (NothingFound, UsageError):
                continue
        return frozenset(ids)

    def machines_of(self, chat: StoredChat) -> list[str]:
        """Return the machines to name for a chat: none while everything is from this machine."""
        return [name for machine in self.library.machines_of(chat) if (name := name_of(machine))]

    def pending(self) -> str:
        """Return a note on passages that are not indexed yet, if any, and why."""
        if not self.library.is_indexed:
            return "The library is being built for the first time: try again in a minute."
        if self.pool.trouble:
            return f"The newest messages may be missing: {one_line(self.pool.trouble, LONGEST_REASON)}."
        passages = self.library.pending_passages()
        return f"{passages:,} passages are not indexed yet: try again in a minute." if passages else ""

    def must_exist(self) -> None:
        """Raise an error if nothing has been indexed yet."""
        if self.library.is_indexed:
            return
        if self.pool.trouble:
            raise BackscrollError(f"the library cannot be built: {self.pool.trouble}", "run backscroll doctor")
        raise NothingFound("the library is being built for the first time", "try again in a minute")


def window_of(since: str, until: str) -> tuple[datetime | None, datetime | None]:
    """Return the start and end of a period; None where it is open."""
    now = datetime.now().astimezone()
    return parse_moment(since, now) if since else None, parse_moment(until, now, end=True) if until else None


def utc_minutes(when: datetime | None) -> str | None:
    """Return a time as answers show it: UTC, to the minute."""
    if when is None:
        return None
    try:
        when = when.astimezone(UTC)
    except OverflowError:  # a broken clock: the first or last hours of the calendar
        when = when.replace(tzinfo=UTC)
    return when.isoformat(timespec="minutes").replace("+00:00", "Z")
