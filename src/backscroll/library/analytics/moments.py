"""The rows of chats with their times: each once, within the period."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from backscroll.library.analytics.reports import QUARTER, ReportRequest
from backscroll.store.batches import EPOCH, microseconds
from backscroll.store.report_rows import ChatMoment


class Moments(NamedTuple):
    """All rows, chat by chat in order of time, and what was left out."""

    rows: list[ChatMoment]
    """Each with a time. Copies in several files are one row, with the earliest time."""
    copies: int
    without_time: int


def moments(rows: Iterable[ChatMoment]) -> Moments:
    """The rows of the store, each once, including those outside the period."""
    kept: list[ChatMoment] = []
    places: dict[str, int] = {}
    chat: int | None = None
    copies = without = 0
    for row in rows:
        if row.chat != chat:
            chat, places = row.chat, {}
        place = places.get(row.uuid)
        if place is not None:
            copies += 1
            if kept[place].is_abandoned and not row.is_abandoned:
                kept[place] = kept[place]._replace(is_abandoned=False)
        elif row.time is None:
            without += 1
        else:
            places[row.uuid] = len(kept)
            kept.append(row)
    return Moments(kept, copies, without)


def time_of(row: ChatMoment) -> int:
    """The time of a row of `Moments`."""
    return row.time or 0


def within(asked: ReportRequest) -> Callable[[int], bool]:
    """Whether a time is in the period, to the quarter of an hour, as in all reports."""
    since, until = microseconds(asked.since), microseconds(asked.until)
    first = None if since is None else since // QUARTER * QUARTER
    last = None if until is None else until // QUARTER * QUARTER
    return lambda time: (first is None or time >= first) and (last is None or time < last)


def by_chat(rows: Iterable[ChatMoment]) -> Iterator[list[ChatMoment]]:
    """The rows of one chat after the other."""
    for _, group in groupby(rows, key=attrgetter("chat")):
        yield list(group)


def local(asked: ReportRequest, time: int) -> datetime:
    """That time in the chosen time zone."""
    return asked.local(EPOCH + timedelta(microseconds=time))


def names_by(asked: ReportRequest, by: str) -> Callable[[ChatMoment], str]:
    """The group of a row."""
    if by != "day":
        value = attrgetter("chat_id" if by == "chat" else by)
        return lambda row: value(row) or "-"

    @cache
    def day(quarter: int) -> str:  # in every time zone, days begin with a quarter of an hour
        return f"{local(asked, quarter * QUARTER):%Y-%m-%d}"

    return lambda row: day(time_of(row) // QUARTER)


SECOND: Final = 1_000_000
