"""The rows of chats with their times: each once, within the period."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Final

from backscroll.library.analytics.reports import QUARTER, ReportRequest, start_of_quarter
from backscroll.store.batches import EPOCH
from backscroll.store.report_rows import ChatMoment


class LeftOutRows:
    """Counts of the rows that `by_chat` left out."""

    copies = 0
    without_time = 0


def by_chat(rows: Iterable[ChatMoment], left_out: LeftOutRows) -> Iterator[list[ChatMoment]]:
    """Yield the rows of one chat after another, in order of time, including those outside the period.

    Copies in several files are one row, with the earliest time. Each row has a time.
    """
    for _, group in groupby(rows, key=attrgetter("chat")):
        kept: dict[str, ChatMoment] = {}
        for row in group:
            known = kept.get(row.uuid)
            if known is not None:
                left_out.copies += 1
                if known.is_abandoned and not row.is_abandoned:
                    kept[row.uuid] = known._replace(is_abandoned=False)
            elif row.time is None:
                left_out.without_time += 1
            else:
                kept[row.uuid] = row
        if kept:
            yield list(kept.values())


def time_of(row: ChatMoment) -> int:
    """Return the time of a row of `by_chat`."""
    return row.time or 0


def within(asked: ReportRequest) -> Callable[[int], bool]:
    """Return a test whether a time is in the period, to the quarter of an hour, as in all reports."""
    first, last = start_of_quarter(asked.since), start_of_quarter(asked.until)
    return lambda time: (first is None or time >= first) and (last is None or time < last)


def local(asked: ReportRequest, time: int) -> datetime:
    """Return a time in the chosen time zone."""
    return asked.local(EPOCH + timedelta(microseconds=time))


def names_by(asked: ReportRequest, by: str) -> Callable[[ChatMoment], str]:
    """Return a function that names the group of a row."""
    if by != "day":
        value = attrgetter("chat_id" if by == "chat" else by)
        return lambda row: value(row) or "-"

    @cache
    def day(quarter: int) -> str:  # in every time zone, days begin with a quarter of an hour
        return f"{local(asked, quarter * QUARTER):%Y-%m-%d}"

    return lambda row: day(time_of(row) // QUARTER)


SECOND: Final = 1_000_000
