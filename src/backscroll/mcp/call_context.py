"""A call that is being answered: with what, for whom, and what of the library it is about."""

from datetime import UTC, datetime
from typing import Final, NamedTuple

from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.library import Library, StoredChat
from backscroll.library.analytics.reports import Asked
from backscroll.library.memory.asking_session import AskingSession
from backscroll.library.memory.citations import times
from backscroll.mcp.pool import RefreshedPool
from backscroll.mcp.quoting import Frame, one_line
from backscroll.query import All, Field, Not, Part, Query, parse_moment

EVERYWHERE: Final = frozenset({"*", "all"})
LONGEST_REASON: Final = 150


class CallContext(NamedTuple):
    """A call."""

    pool: RefreshedPool
    library: Library
    caller: AskingSession
    frame: Frame

    def query(self, text: str, *, include_current: bool, project: str = "", since: str = "", until: str = "") -> Query:
        """What is asked for, without the chat that the caller is in."""
        asked = self.library.parse(text)
        parts: list[Part] = list(asked.root.parts)
        left_out = sorted(self.left_out(include_current=include_current))
        parts += [Not(Field("session", "=", session)) for session in left_out]
        if project and project not in EVERYWHERE:
            parts.append(Field("project", "=", project))
        parts += times(*window_of(since, until))
        return Query(asked.text, All(tuple(parts)))

    def asked(self, query: str = "", since: str = "", until: str = "") -> Asked:
        """What a report is asked about."""
        return Asked(self.library.parse(query) if query else None, *window_of(since, until))

    def left_out(self, *, include_current: bool) -> frozenset[str]:
        """The sessions that the caller is not to be told of."""
        return frozenset() if include_current else self.caller.sessions

    def find(self, name: str) -> StoredChat:
        """The chat of an id."""
        try:
            return self.library.find(name)
        except NothingFound:
            raise NothingFound(
                f"no chat, session, message or agent begins with {name}", "find one with search"
            ) from None
        except UsageError:  # its message has titles in it, and errors are not framed
            raise UsageError(f"{name} is the beginning of several ids", "write more of it") from None

    def own_chats(self) -> frozenset[str]:
        """The chats that the caller is in."""
        found = set()
        for session in self.caller.sessions:
            try:
                found.add(self.library.find(session).overview.id)
            except (NothingFound, UsageError):
                continue
        return frozenset(found)

    def pending(self) -> str:
        """What the index does not have yet, if anything, and why."""
        if not self.library.is_indexed:
            return "The library is being made for the first time: ask again in a minute."
        if self.pool.trouble:
            return f"The newest messages may be missing: {one_line(self.pool.trouble, LONGEST_REASON)}."
        passages = self.library.pending_passages()
        return f"{passages:,} passages are still being indexed: ask again in a minute." if passages else ""

    def must_exist(self) -> None:
        """There is nothing to ask before the first chats were read."""
        if self.library.is_indexed:
            return
        if self.pool.trouble:
            raise BackscrollError(f"the library cannot be made: {self.pool.trouble}", "run backscroll doctor")
        raise NothingFound("the library is being made for the first time", "ask again in a minute")


def moment_of(text: str, *, end: bool = False) -> datetime:
    """A time as queries have it."""
    return parse_moment(text, datetime.now().astimezone(), end=end)


def window_of(since: str, until: str) -> tuple[datetime | None, datetime | None]:
    """From when until when; None where nobody says."""
    return moment_of(since) if since else None, moment_of(until, end=True) if until else None


def utc_minutes(when: datetime | None) -> str | None:
    """A time as answers have it: in UTC, to the minute."""
    if when is None:
        return None
    try:
        when = when.astimezone(UTC)
    except OverflowError:  # in the first or last hours of the calendar; some clock has gone mad
        when = when.replace(tzinfo=UTC)
    return when.isoformat(timespec="minutes").replace("+00:00", "Z")
