"""The rows of chats with their times: each once, of the time that is asked about."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from backscroll.library.analytics.reports import QUARTER, Asked, ask
from backscroll.library.library import Library
from backscroll.store import EPOCH, microseconds


class Moment(NamedTuple):
    """A row of a chat. What stands in several files is one row, of the earliest time that any of them gives it."""

    chat: int
    uuid: str
    time: int
    """Microseconds."""
    kind: str
    model: str | None
    project: str | None
    abandoned: bool
    """Whether no file has it on an active branch."""
    chat_id: str
    more: tuple[Any, ...]
    """What the statement gives beyond that."""


class Moments(NamedTuple):
    """All of them, chat by chat in the order of their times, and what was left out."""

    rows: list[Moment]
    copies: int
    without_time: int


def moments(library: Library, name: str, asked: Asked) -> Moments:
    """The rows that a statement gives, each once. Those outside the time asked about are still among them."""
    found: dict[tuple[int, str], Moment] = {}
    copies = without = 0
    for chat, uuid, time, kind, model, project, abandoned, chat_id, *more in ask(library, name, asked):
        key = (chat, uuid)
        if (known := found.get(key)) is not None:
            copies += 1
            if known.abandoned and not abandoned:
                found[key] = known._replace(abandoned=False)
        elif time is None:
            without += 1
        else:
            found[key] = Moment(chat, uuid, time, kind, model, project, bool(abandoned), chat_id, tuple(more))
    return Moments(list(found.values()), copies, without)


def within(asked: Asked) -> Callable[[int], bool]:
    """Whether a time is asked about; to the quarter of an hour, as all reports have it."""
    since, until = microseconds(asked.since), microseconds(asked.until)
    first = None if since is None else since // QUARTER * QUARTER
    last = None if until is None else until // QUARTER * QUARTER
    return lambda time: (first is None or time >= first) and (last is None or time < last)


def by_chat(rows: Iterable[Moment]) -> Iterator[list[Moment]]:
    """The rows of one chat after the other."""
    group: list[Moment] = []
    for row in rows:
        if group and group[-1].chat != row.chat:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def local(asked: Asked, time: int) -> datetime:
    """That time in the time zone asked for."""
    return asked.local(EPOCH + timedelta(microseconds=time))


def name_of(asked: Asked, row: Moment, by: str) -> str:
    """What a row is added up under."""
    if by == "day":
        return f"{local(asked, row.time):%Y-%m-%d}"
    return {"project": row.project, "model": row.model, "chat": row.chat_id}[by] or "-"


SECOND: Final = 1_000_000
