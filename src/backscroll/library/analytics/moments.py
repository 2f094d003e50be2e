"""The rows of chats with their times: each once, within the period."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from backscroll.library.analytics.reports import QUARTER, ReportRequest
from backscroll.store.batches import EPOCH, microseconds
from backscroll.store.report_rows import ChatMoment


class Moment(NamedTuple):
    """A row of a chat. Copies in several files are one row, with the earliest time."""

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
    is_decision: bool
    """Whether it is a result that waited for the user."""
    text: str
    """For a prompt, its start."""
    size: int
    """For a prompt, its number of characters."""


class Moments(NamedTuple):
    """All rows, chat by chat in order of time, and what was left out."""

    rows: list[Moment]
    copies: int
    without_time: int


def moments(rows: Iterable[ChatMoment]) -> Moments:
    """The rows of the store, each once, including those outside the period."""
    found: dict[tuple[int, str], Moment] = {}
    copies = without = 0
    for row in rows:
        key = (row.chat, row.uuid)
        if (known := found.get(key)) is not None:
            copies += 1
            if known.abandoned and not row.is_abandoned:
                found[key] = known._replace(abandoned=False)
        elif row.time is None:
            without += 1
        else:
            found[key] = Moment(
                row.chat, row.uuid, row.time, row.kind, row.model, row.project, row.is_abandoned, row.chat_id,
                row.is_decision, row.text or "", row.size or len(row.text or ""),
            )  # fmt: skip
    return Moments(list(found.values()), copies, without)


def within(asked: ReportRequest) -> Callable[[int], bool]:
    """Whether a time is in the period, to the quarter of an hour, as in all reports."""
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


def local(asked: ReportRequest, time: int) -> datetime:
    """That time in the chosen time zone."""
    return asked.local(EPOCH + timedelta(microseconds=time))


def name_of(asked: ReportRequest, row: Moment, by: str) -> str:
    """The group of a row."""
    if by == "day":
        return f"{local(asked, row.time):%Y-%m-%d}"
    return {"project": row.project, "model": row.model, "chat": row.chat_id}[by] or "-"


SECOND: Final = 1_000_000
