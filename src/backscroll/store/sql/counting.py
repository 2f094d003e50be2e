"""Count tokens and costs: each answer once in the whole library, however many rows and files repeat it.

`counted` has one row for each answer, `spent` the sums by quarter of an hour, file and model. Nearly every answer is in
one file only, and then `counted` is complete; `shared_answers` has the others as each of their files has them, so that
they can be counted again without one of them. All follow the rows in the same transaction, at a cost proportional to
what changed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from backscroll.store.batches import Batch, UsageColumns
from backscroll.store.prices import AnswerPrice, CountedAnswer
from backscroll.store.sql.chat_sums import renew_all_chat_sums
from backscroll.store.sql.new_ids import NewIds
from backscroll.store.sql.statements import RowWriter, array, select
from backscroll.store.sql.unrecorded import renew_all_unrecorded

Answers = dict[str, dict[int, CountedAnswer]]
"""Answers by message and file."""
Deltas = dict[tuple[Any, ...], list[int]]
"""Changes of `spent`: sums by key."""
AT_ONCE: Final = 5_000
QUARTER: Final = 900 * 1_000_000
"""A quarter of an hour: in every time zone, days begin with one."""

MAX_DOLLARS: Final = 10**6
"""The highest cost of an answer."""


COUNTED_AS: Final = "2"
"""Increased when sums of older versions have to be recomputed."""


def rules_of(fingerprint: str) -> str:
    """Return the version and prices of a store's sums: sums with other rules are to be recomputed."""
    return f"{COUNTED_AS} {fingerprint}"


def unpriced(_: CountedAnswer) -> int | None:
    """Return no price for any answer."""
    return None


class Counting:
    """Brings the counts up to date inside an open transaction."""

    def __init__(self, connection: RowWriter, price: AnswerPrice) -> None:
        self._connection = connection
        self._price = price
        self._dropped: set[int] = set()
        self._touched: set[str] = set()
        self._added: Answers = {}
        self.changed_files: set[int] = set()
        """The files whose sums have changed."""
        self.changed_answers: dict[int, int] = {}
        """The files with a changed answer, each with the time of the earliest."""

    def drop(self, files: Iterable[int]) -> None:
        """Remove the counts of these files."""
        for file in files:
            self._dropped.add(file)
            self._touched.update(name for (name,) in select(self._connection, MESSAGES, (file, file)))

    def add(self, batch: Batch, ids: NewIds) -> None:
        """Add the records of a batch."""
        agents = {columns.id for columns in batch.files if columns.agent is not None}
        for usage in batch.usage:
            record = batch.records[usage.record]
            file = ids.file(record.file)
            answer = _answer(usage, file, record.time, is_agent=usage.agent or record.file in agents)
            answers = self._added.setdefault(usage.message, {})
            answers[file] = _merge_rows(answers[file], answer, 1) if file in answers else answer

    def count(self) -> None:
        """Count all changed answers again."""
        touched = sorted(self._touched | self._added.keys())
        deltas: Deltas = defaultdict(lambda: [0] * SUMS)
        for at in range(0, len(touched), AT_ONCE):
            some = touched[at : at + AT_ONCE]
            answers = self._take(some, deltas)
            for message in some:
                files = answers.setdefault(message, {})
                for file, answer in self._added.get(message, {}).items():
                    files[file] = _merge_rows(files[file], answer, 1) if file in files else answer
                self._note_changed(files)
            shared = [files for message in some if len(files := answers[message]) > 1]
            places = self._places({file for files in shared for file in files})
            fresh = [self._priced(_merge_files(answers[message], places)) for message in some if answers[message]]
            self._connection.executemany(INSERT, fresh)
            self._connection.executemany(INSERT_SHARED, [answer for files in shared for answer in files.values()])
            for counted in fresh:
                _add(deltas, counted, 1)
        changed = [(*key, *sums) for key, sums in deltas.items() if any(sums)]
        self._connection.executemany(ADD, changed)
        self.changed_files.update(row[FILE] for row in changed)
        if deltas:
            self._connection.executemany(
                "delete from spent where quarter = ? and file = ? and agent = ? and model = ? and speed = ?"
                " and version = ? and git_branch = ? and messages = 0",
                [key for key, sums in deltas.items() if sums[0] <= 0],
            )

    def recount(self) -> None:
        """Count everything again, for example after a change of prices."""
        self._connection.execute("delete from spent")
        deltas: Deltas = defaultdict(lambda: [0] * SUMS)
        rows = [self._priced(CountedAnswer(*row)) for row in select(self._connection, ALL_COUNTED)]
        self._connection.executemany(
            "update counted set cost = ? where message = ?", [(row.cost, row.message) for row in rows]
        )
        for row in rows:
            _add(deltas, row, 1)
        self._connection.executemany(ADD, [(*key, *sums) for key, sums in deltas.items()])
        renew_all_unrecorded(self._connection, self._price)
        renew_all_chat_sums(self._connection)

    def _take(self, messages: list[str], deltas: Deltas) -> Answers:
        """Remove the counts of these messages, and return them by file, without the dropped files."""
        keys = array(messages)
        answers: Answers = {}
        shared = []
        for row in select(self._connection, COUNTED, (keys,)):
            counted = CountedAnswer(*row)
            _add(deltas, counted, -1)
            answers[counted.message] = {counted.file: counted} if counted.files == 1 else {}
            if counted.files > 1:
                shared.append(counted.message)
        if answers:
            self._connection.execute(f"delete from counted where message in ({LISTED})", (keys,))  # noqa: S608
        if shared:
            keys = array(shared)
            for row in select(self._connection, SHARED, (keys,)):
                answers[row[0]][row[1]] = CountedAnswer(*row)
            self._connection.execute(f"delete from shared_answers where message in ({LISTED})", (keys,))  # noqa: S608
        for files in answers.values():
            self._note_changed(files)
            for file in self._dropped & files.keys():
                del files[file]
        return answers

    def _note_changed(self, files: Mapping[int, CountedAnswer]) -> None:
        """Record the files with a changed answer: all files that repeat it."""
        time = min((answer.time for answer in files.values() if answer.time is not None), default=0)
        for file in files:
            self.changed_answers[file] = min(time, self.changed_answers.get(file, time))

    def _places(self, files: set[int]) -> dict[int, tuple[bool, str]]:
        """Return the keys that decide between files with an answer of the same time: agent or not, and file name."""
        statement = f"select id, agent is not null, source from files where id in ({LISTED})"  # noqa: S608
        rows = select(self._connection, statement, (array(files),)) if files else []
        return {file: (bool(is_agent), source) for file, is_agent, source in rows}

    def _priced(self, row: CountedAnswer) -> CountedAnswer:
        return row._replace(cost=self._price(row))


def _answer(usage: UsageColumns, file: int, time: int | None, *, is_agent: bool) -> CountedAnswer:
    return CountedAnswer(
        usage.message, file, int(is_agent), time, usage.model, usage.input, usage.output, usage.cache_write,
        usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.web_searches, usage.web_fetches, usage.tier,
        usage.speed, usage.geo, int(usage.is_final), _nanodollars(usage.reported_cost), usage.version,
        usage.git_branch, None, 1, 1,
    )  # fmt: skip


def _nanodollars(reported: float | None) -> int | None:
    """Return a valid amount in nanodollars; 0 for anything else, which would spoil every sum."""
    if reported is None:
        return None
    return int(reported * 1e9 + 0.5) if 0 <= reported <= MAX_DOLLARS else 0


def _moment(answer: CountedAnswer) -> tuple[bool, int]:
    """Return the sort key of a row's time; rows without a time come last."""
    return answer.time is None, answer.time or 0


def _merge_rows(one: CountedAnswer, other: CountedAnswer, files: int) -> CountedAnswer:
    """Merge two rows of an answer: place and time from the earlier row, and the maximum of every other field."""
    first = other if _moment(other) < _moment(one) else one
    return CountedAnswer(
        one.message, first.file, first.agent, first.time, first.model,
        max(one.input, other.input), max(one.output, other.output), max(one.cache_write, other.cache_write),
        max(one.cache_read, other.cache_read), max(one.cache_write_5m, other.cache_write_5m),
        max(one.cache_write_1h, other.cache_write_1h), max(one.web_searches, other.web_searches),
        max(one.web_fetches, other.web_fetches),
        _most(one.tier, other.tier), _most(one.speed, other.speed), _most(one.geo, other.geo),
        max(one.final, other.final), _most(one.reported_cost, other.reported_cost),
        first.version, first.git_branch, None, one.records + other.records, files,
    )  # fmt: skip


def _merge_files(answers: Mapping[int, CountedAnswer], places: Mapping[int, tuple[bool, str]]) -> CountedAnswer:
    """Merge an answer over all files; of files with the same time, always the same one comes first."""
    if len(answers) == 1:
        return next(iter(answers.values()))
    first, *others = sorted(answers.values(), key=lambda answer: (*_moment(answer), places[answer.file]))
    for answer in others:
        first = _merge_rows(first, answer, len(answers))
    return first


def _most(one: Any, other: Any) -> Any:  # noqa: ANN401 - two texts or two numbers, or none
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def _add(deltas: Deltas, row: CountedAnswer, sign: int) -> None:
    key = (
        (row.time or 0) // QUARTER, row.file, row.agent, row.model or "", row.speed or "", row.version or "",
        row.git_branch or "",
    )  # fmt: skip
    sums = deltas[key]
    values = (
        1, row.input, row.output, row.cache_write, row.cache_read, row.cache_write_5m, row.cache_write_1h,
        row.web_searches, row.web_fetches, 1 - row.final, row.cost or 0, int(row.cost is None), row.reported_cost or 0,
        row.records, row.files - 1,
    )  # fmt: skip
    for number, value in enumerate(values):
        sums[number] += sign * value


SUMS: Final = 15
LISTED: Final = "select value from json_each(?)"
MESSAGES: Final = "select message from counted where file = ? union select message from shared_answers where file = ?"
COLUMNS: Final = ", ".join(CountedAnswer._fields)
ALL_COUNTED: Final = f"select {COLUMNS} from counted"  # noqa: S608 - no values in it
COUNTED: Final = f"{ALL_COUNTED} where message in ({LISTED})"
SHARED: Final = f"select {COLUMNS} from shared_answers where message in ({LISTED})"  # noqa: S608
VALUES: Final = f"({COLUMNS}) values ({', '.join('?' * len(CountedAnswer._fields))})"
INSERT: Final = f"insert into counted {VALUES}"
INSERT_SHARED: Final = f"insert into shared_answers {VALUES}"
SUM_COLUMNS: Final = (
    "messages", "input", "output", "cache_write", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches",
    "web_fetches", "placeholders", "cost", "unpriced", "reported_cost", "records", "copies",
)  # fmt: skip
SETTING: Final = ", ".join(f"{name} = spent.{name} + excluded.{name}" for name in SUM_COLUMNS)
FILE: Final = 1
"""The index of the file in a key."""
KEYS: Final = "quarter, file, agent, model, speed, version, git_branch"
PLACES: Final = ", ".join("?" * (7 + SUMS))
ADD: Final = (
    f"insert into spent ({KEYS}, {', '.join(SUM_COLUMNS)}) values ({PLACES})"  # noqa: S608
    f" on conflict ({KEYS}) do update set {SETTING}"
)
