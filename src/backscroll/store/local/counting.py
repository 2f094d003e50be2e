"""Count tokens and money: each answer once over the whole library, whatever rows and files repeat it.

`counted` has one row for each answer, `spent` the sums by quarter of an hour, file and model. Both follow the rows in
the same transaction, at a cost that follows what changed.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import apsw

from backscroll.store.local.database import array, select
from backscroll.store.prices import AnswerPrice, CountedAnswer

AT_ONCE: Final = 5_000
QUARTER: Final = 900 * 1_000_000
"""A quarter of an hour: every time zone's days begin with one."""


def unpriced(_: CountedAnswer) -> int | None:
    """No price for anything."""
    return None


class Counting:
    """Brings the counts up to date inside a transaction that is open."""

    def __init__(self, connection: apsw.Connection, price: AnswerPrice) -> None:
        self._connection = connection
        self._price = price
        self._touched: set[str] = set()

    def note_files(self, files: Iterable[int]) -> None:
        """What these files say is going to be dropped."""
        for file in files:
            self._note("r.file = ?", file)

    def note_records(self, records: Iterable[int]) -> None:
        """These records say something new."""
        listed = list(records)
        for at in range(0, len(listed), AT_ONCE):
            self._note("r.id in (select value from json_each(?))", array(listed[at : at + AT_ONCE]))

    def count(self) -> None:
        """Count what was noted."""
        touched = sorted(self._touched)
        deltas: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0] * SUMS)
        for at in range(0, len(touched), AT_ONCE):
            keys = array(touched[at : at + AT_ONCE])
            for row in select(self._connection, f"select * from counted where message in ({LISTED})", (keys,)):  # noqa: S608
                _add(deltas, CountedAnswer(*row), -1)
            self._connection.execute(f"delete from counted where message in ({LISTED})", (keys,))  # noqa: S608
            fresh = [self._priced(CountedAnswer(*row)) for row in select(self._connection, COUNT, (keys,))]
            self._connection.executemany(INSERT, fresh)
            for counted in fresh:
                _add(deltas, counted, 1)
        self._connection.executemany(ADD, [(*key, *sums) for key, sums in deltas.items() if any(sums)])
        if deltas:
            self._connection.executemany(
                "delete from spent where quarter = ? and file = ? and agent = ? and model = ? and speed = ?"
                " and version = ? and git_branch = ? and messages = 0",
                [key for key, sums in deltas.items() if sums[0] <= 0],
            )

    def recount(self) -> None:
        """Count everything anew, as after prices have changed."""
        self._connection.execute("delete from spent")
        deltas: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0] * SUMS)
        rows = [self._priced(CountedAnswer(*row)) for row in select(self._connection, "select * from counted")]
        self._connection.executemany(
            "update counted set cost = ? where message = ?", [(row.cost, row.message) for row in rows]
        )
        for row in rows:
            _add(deltas, row, 1)
        self._connection.executemany(ADD, [(*key, *sums) for key, sums in deltas.items()])

    def _priced(self, row: CountedAnswer) -> CountedAnswer:
        return row._replace(cost=self._price(row))

    def _note(self, where: str, value: Any) -> None:  # noqa: ANN401
        statement = f"select distinct {NAME} from usage u join records r on r.id = u.record where {where}"  # noqa: S608
        self._touched.update(name for (name,) in select(self._connection, statement, (value,)))


def _add(deltas: dict[tuple[Any, ...], list[int]], row: CountedAnswer, sign: int) -> None:
    key = (
        (row.time or 0) // QUARTER, row.file, row.agent, row.model or "", row.speed or "", row.version or "",
        row.git_branch or "",
    )  # fmt: skip
    sums = deltas[key]
    values = (
        1, row.input, row.output, row.cache_write, row.cache_read, row.cache_write_5m, row.cache_write_1h,
        row.web_searches, row.web_fetches, 1 - row.final, row.cost or 0, row.cost is None, row.reported_cost or 0,
        row.records, row.files - 1,
    )  # fmt: skip
    for number, value in enumerate(values):
        sums[number] += sign * value


NAME: Final = "u.message"
SUMS: Final = 15
LISTED: Final = "select value from json_each(?)"
# The first row by time tells where and when; of rows of the same time, always the same one.
COUNT: Final = """
with rows as (
  select u.*, r.file, f.agent is not null or u.agent as by_agent, r.time,
    row_number() over (partition by u.message order by r.time, f.agent is not null, f.source, r.number) as place
  from usage u indexed by usage_message join records r on r.id = u.record join files f on f.id = r.file
  where u.message in (select value from json_each(?))
)
select message, max(case when place = 1 then file end), max(case when place = 1 then by_agent end), min(time),
  max(case when place = 1 then model end), max(input), max(output), max(cache_write), max(cache_read),
  max(cache_write_5m), max(cache_write_1h), max(web_searches), max(web_fetches), max(tier), max(speed), max(geo),
  max(final), cast(round(max(reported_cost) * 1e9) as integer), max(case when place = 1 then version end),
  max(case when place = 1 then git_branch end), null, count(*), count(distinct file)
from rows group by message
"""
INSERT: Final = f"insert into counted values ({', '.join('?' * len(CountedAnswer._fields))})"  # noqa: S608
SUM_COLUMNS: Final = (
    "messages", "input", "output", "cache_write", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches",
    "web_fetches", "placeholders", "cost", "unpriced", "reported_cost", "records", "copies",
)  # fmt: skip
SETTING: Final = ", ".join(f"{name} = {name} + excluded.{name}" for name in SUM_COLUMNS)
PLACES: Final = ", ".join("?" * (7 + SUMS))
ADD: Final = f"insert into spent values ({PLACES}) on conflict do update set {SETTING}"  # noqa: S608
