"""Requests without a record: the part of the client's own totals that no answer has.

Compactions, titles and searches inside tools leave no row. The answers that a total in a session includes are those of
the session and its agents from the start of the counter until the next row after the total. A fork continues the
counter of its parent: then its totals are compared from the parent's last total whose row is in the fork, too.
`docs/reference/counting.md` has the rule in words.

This is the only writer of `unrecorded`: it recomputes each counter that a write could have changed, in its transaction.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import add, sub
from typing import Final, NamedTuple

from backscroll.conversation.model_names import undated_model
from backscroll.conversation.usage import SYNTHETIC
from backscroll.store.batches import Batch
from backscroll.store.prices import AnswerPrice, CountedAnswer
from backscroll.store.sql.new_ids import NewIds
from backscroll.store.sql.statements import RowWriter, array, select

Counts = tuple[int, ...]
"""Input, output, cache write, cache read, written for 5 minutes and for an hour, web searches, cost."""
NONE: Final[Counts] = (0,) * 8
COST: Final = 7
AT_ONCE: Final = 200
"""The number of counters whose answers are in memory together."""
QUARTER: Final = 900 * 1_000_000
FOREVER: Final = 1 << 62


class Answer(NamedTuple):
    """An answer of a session."""

    time: int
    message: str
    model: str
    counts: Counts


class Total(NamedTuple):
    """A record with the client's totals, the start of their counter, and the rows before and after it."""

    source: str
    number: int
    file: int
    session: str
    row: str
    """The row before the record."""
    seen: int
    """The time of the row before."""
    until: int
    """The time of the next row; answers since then are not in the total."""
    models: dict[str, Counts]
    names: dict[str, str]
    """The client's names of these models."""


Family = dict[str, list[Total]]
"""The totals of one counter by session, the first session first."""


class ClientTotals:
    """Keeps `client_totals`, and the table computed from it, in step with a batch, inside an open transaction."""

    def __init__(self, connection: RowWriter, price: AnswerPrice) -> None:
        self._connection = connection
        self._price = price
        self._changed: set[int] = set()
        """The counters whose totals have changed, by their start."""
        self.changed_files: set[int] = set()
        """The files whose totals may have another unrecorded part than before."""

    def drop(self, files: list[int]) -> None:
        """Remove the totals of these files."""
        if not files:
            return
        for table in ("client_totals", "unrecorded"):
            statement = f"select distinct started from {table} where file in ({LISTED})"  # noqa: S608 - a name of ours
            self._changed.update(began for (began,) in select(self._connection, statement, (array(files),)))
            self._connection.executemany(f"delete from {table} where file = ?", [(file,) for file in files])  # noqa: S608
        self.changed_files.update(files)

    def add(self, batch: Batch, ids: NewIds, answers: Mapping[int, int]) -> None:
        """Add the totals of a batch; `answers` are the files whose answers changed, with the time of the earliest."""
        self._changed.update(total.started for total in batch.client_totals)
        self._connection.executemany(INSERT_TOTAL, [(ids.file(file), *rest) for file, *rest in batch.client_totals])
        first: dict[int, int] = {}
        for record in batch.records:
            file = ids.file(record.file)
            first[file] = min(first.get(file, record.number), record.number)
        files = array(first.keys() | answers.keys())
        last: dict[tuple[int, int], tuple[int, int]] = {}
        for file, main, began, seen, until, number in select(self._connection, LAST_TOTALS, (files,)):
            if number is not None and number >= first.get(main, FOREVER):
                self._changed.add(began)  # until now, the row after the total was unknown
            # Of copies of a session, the longest has the last total.
            place = (seen, -(FOREVER if until is None else until))
            last[file, began] = max(place, last.get((file, began), place))
        self._changed.update(
            began for (file, began), (_, until) in last.items() if file in answers and answers[file] < -until
        )

    def renew(self) -> None:
        """Recompute the unrecorded part of the counters that have changed."""
        if self._changed:
            self.changed_files |= renew_unrecorded(self._connection, self._price, self._changed)


def renew_all_unrecorded(connection: RowWriter, price: AnswerPrice) -> None:
    """Recompute all unrecorded usage and its cost, inside an open transaction."""
    counters = select(connection, "select distinct started from client_totals")
    renew_unrecorded(connection, price, [began for (began,) in counters])


def renew_unrecorded(connection: RowWriter, price: AnswerPrice, counters: Iterable[int]) -> set[int]:
    """Recompute the unrecorded usage of some counters, by their start; return the files with their totals."""
    files = set()
    ordered = sorted(counters)
    for start in range(0, len(ordered), AT_ONCE):
        some = ordered[start : start + AT_ONCE]
        connection.execute(f"delete from unrecorded where started in ({LISTED})", (array(some),))  # noqa: S608
        families = _totals(connection, some)
        answers = _answers(connection, {session for family in families.values() for session in family})
        rows = []
        for began, family in families.items():
            copied = _copied_rows(connection, family) if len(family) > 1 else {}
            for total, counts in _missing_in(family, began, answers, copied):
                files.add(total.file)
                when = total.seen or began
                for model, more in counts.items():
                    if any(more[:COST]):
                        name = total.names[model]
                        place = (total.file, total.number, name, began, when // QUARTER)
                        rows.append((*place, *more[:COST], _cost(price, name, when, more)))
        connection.executemany(INSERT, rows)
    return files


def _totals(connection: RowWriter, counters: Iterable[int]) -> dict[int, Family]:
    """Return the totals of these counters by session, in order of time."""
    by_counter: dict[int, dict[tuple[int, int], Total]] = defaultdict(dict)
    for began, source, number, file, session, row, seen, until, model, *counts in select(
        connection, TOTALS, (array(counters),)
    ):
        total = Total(source, number, file, session, row, seen, FOREVER if until is None else until, {}, {})
        *_, models, names = by_counter[began].setdefault((file, number), total)
        name = undated_model(model)
        models[name] = tuple(map(add, models.get(name, NONE), counts))
        names[name] = min(names.get(name, model), model)
    families: dict[int, Family] = {}
    for began, totals in by_counter.items():
        family = families.setdefault(began, {})
        for total in sorted(totals.values(), key=lambda total: (total.seen, total.session, total.number, total.source)):
            family.setdefault(total.session, []).append(total)
    return families


def _answers(connection: RowWriter, sessions: Iterable[str]) -> dict[str, list[Answer]]:
    """Return the answers of sessions and their agents in order of time, each once."""
    by_session: dict[str, dict[str, Answer]] = defaultdict(dict)
    keys = array(sorted(sessions))
    for session, time, message, model, *counts in select(connection, ANSWERS, (keys, keys)):
        if model != SYNTHETIC and time is not None:
            by_session[session][message] = Answer(time, message, undated_model(model or ""), tuple(counts))
    return {session: sorted(each.values()) for session, each in by_session.items()}


def _copied_rows(connection: RowWriter, family: Family) -> dict[str, set[str]]:
    """Return, by session, the rows before totals of the family that it has too, perhaps under another id."""
    rows = array(sorted({total.row for totals in family.values() for total in totals}))
    by_session: dict[str, set[str]] = defaultdict(set)
    for session, uuid, original in select(connection, COPIED, (array(sorted(family)), rows, rows)):
        by_session[session].update((uuid, original))
    return by_session


def _missing_in(
    family: Family, began: int, answers: Mapping[str, list[Answer]], copied: Mapping[str, set[str]]
) -> Iterator[tuple[Total, dict[str, Counts]]]:
    """Yield the part of each total that neither an answer nor an earlier total has."""
    earlier: list[Total] = []
    for session, totals in family.items():
        shared = [total for total in earlier if total.row in copied.get(session, ())]
        base = max(shared, key=lambda total: (total.seen, total.number), default=None)
        listed = answers.get(session, [])
        at = bisect_left(listed, (base.seen + 1 if base else began,))
        most: dict[str, Counts] = {}
        answered: dict[str, Counts] = dict(base.models) if base else {}
        for total, until in zip(totals, _untils(totals), strict=True):
            while at < len(listed) and listed[at].time < until:
                answer = listed[at]
                answered[answer.model] = tuple(map(add, answered.get(answer.model, NONE), answer.counts))
                at += 1
            missing = _difference(total.models, answered)
            yield total, {model: _beyond(counts, most.get(model, NONE)) for model, counts in missing.items()}
            for model, counts in missing.items():
                most[model] = tuple(map(max, most.get(model, NONE), counts))
        earlier += totals


def _untils(totals: Sequence[Total]) -> list[int]:
    """Return the end of the answers in each total: not later than the ends of later totals, as in a shorter copy."""
    return list(accumulate((total.until for total in reversed(totals)), min))[::-1]


def _beyond(counts: Counts, other: Counts) -> Counts:
    return tuple(max(0, count) for count in map(sub, counts, other))


def _difference(totals: Mapping[str, Counts], answered: Mapping[str, Counts]) -> dict[str, Counts]:
    """Return the part of the totals that is not in the answers, by model.

    A provider may have another name for a model than the client. The usage of answers under such a name is subtracted
    from the models without an answer, so that it never counts as missing.
    """
    unnamed = NONE
    for model, counts in answered.items():
        if model not in totals:
            unnamed = tuple(map(add, unnamed, counts))
    missing = {}
    for model, counts in totals.items():
        used = answered.get(model)
        if used is None:
            used = tuple(map(min, unnamed, counts))
            unnamed = tuple(map(sub, unnamed, used))
        missing[model] = _beyond(counts, used)
    return missing


def _cost(price: AnswerPrice, model: str, time: int, counts: Counts) -> int | None:
    """Return the cost in nanodollars, at our prices.

    The number of requests is not known. Where long prompts have another price, the client's own cost decides between
    the usual price of all tokens and that of one long prompt.
    """
    input_, output, written, read, _, hour, searches, stated = counts
    hour = min(hour, written)
    whole = price(_request(model, time, (input_, output, written, read, written - hour, hour, searches)))
    if whole is None:
        return None
    single = [
        (price(_request(model, time, unit)) or 0) * count
        for unit, count in zip(UNITS, (input_, output, written - hour, hour, read, searches), strict=True)
    ]
    return min(max(stated, sum(single)), whole) if whole > sum(single) else whole


def _request(model: str, time: int, counts: Counts) -> CountedAnswer:
    input_, output, written, read, short, hour, searches = counts
    return CountedAnswer(
        "", 0, 0, time, model, input_, output, written, read, short, hour, searches, 0, None, None, None, 1, None, None,
        None, None, 1, 1,
    )  # fmt: skip


UNITS: Final = (
    (1, 0, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0, 0), (0, 0, 1, 0, 1, 0, 0), (0, 0, 1, 0, 0, 1, 0), (0, 0, 0, 1, 0, 0, 0),
    (0, 0, 0, 0, 0, 0, 1),
)  # fmt: skip
"""One token of each kind, and one web search, for their prices in a short prompt."""
LISTED: Final = "select value from json_each(?)"
COUNTS: Final = "input, output, cache_write, cache_read, cache_write_5m, cache_write_1h, web_searches, cost"
INSERT_TOTAL: Final = (
    f"insert into client_totals (file, number, started, model, {COUNTS})"  # noqa: S608 - no values in it
    f" values ({', '.join('?' * 12)})"
)
INSERT: Final = (
    f"insert into unrecorded (file, number, model, started, quarter, {COUNTS})"  # noqa: S608
    f" values ({', '.join('?' * 13)})"
)
BEFORE: Final = """(select r.{column} from records r where r.file = t.file and r.number < t.number
  and r.{column} is not null order by r.number desc limit 1)"""
NEXT: Final = """(select r.{column} from records r where r.file = t.file and r.number > t.number and r.time > t.seen
  order by r.number limit 1)"""
TOTALS: Final = f"""
select t.started, t.source, t.number, t.file, t.session, t.row, t.seen, {NEXT.format(column="time")}, c.model, {COUNTS}
from (select distinct t.file, t.number, t.started, f.source, f.session, {BEFORE.format(column="uuid")} as row,
      coalesce({BEFORE.format(column="time")}, 0) as seen
    from client_totals t join files f on f.id = t.file
    where t.started in ({LISTED}) and f.session is not null) t
  join client_totals c on c.file = t.file and c.number = t.number
where t.row is not null
"""  # noqa: S608
COPIED: Final = f"""
select distinct f.session, r.uuid, coalesce(r.forked_uuid, r.uuid) from files f join records r on r.file = f.id
where f.session in ({LISTED}) and f.kind = 'session' and (r.uuid in ({LISTED}) or r.forked_uuid in ({LISTED}))
"""  # noqa: S608
# The last totals in the sessions that some files are part of: later answers are in none.
LAST_TOTALS: Final = f"""
select t.touched, t.file, t.started, t.seen, {NEXT.format(column="time")}, {NEXT.format(column="number")}
from (
  select t.touched, t.file, t.number, t.started, coalesce({BEFORE.format(column="time")}, 0) as seen
  from (
    select s.id as touched, t.file, t.started, max(t.number) as number
    from files s join files m on m.session = s.session join client_totals t on t.file = m.id
    where s.id in ({LISTED}) group by 1, 2, 3) t) t
"""  # noqa: S608
ANSWERS: Final = f"""
select f.session, u.time, u.message, u.model, u.input, u.output, u.cache_write, u.cache_read, u.cache_write_5m,
  u.cache_write_1h, u.web_searches, coalesce(u.cost, 0)
from files f join counted u on u.file = f.id where u.files = 1 and f.session in ({LISTED})
union all
select f.session, u.time, u.message, u.model, u.input, u.output, u.cache_write, u.cache_read, u.cache_write_5m,
  u.cache_write_1h, u.web_searches, coalesce(u.cost, 0)
from files f join shared_answers s on s.file = f.id join counted u on u.message = s.message
where f.session in ({LISTED})
"""  # noqa: S608
