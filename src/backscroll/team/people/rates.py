"""Rate limits on requests and uploads, so that one program cannot hold up everyone.

Uses are counted in the database, so that a limit is the same with any number of web processes, and after a restart.
Each name has a time up to which its rate is used up, and each use moves that time. Once the time is too far ahead of
now, the next use is refused.
"""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import Busy

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection
    from backscroll.team.people.sessions import KeyUse

PER_MINUTE: Final = 120
PERSON_PER_MINUTE: Final = 300
ORG_PER_MINUTE: Final = 3000
"""Requests with one key, all keys of a person, and those of everyone in an organisation; half as many at once."""


class TooMuchError(Busy):
    """More was asked or sent than a rate allows."""

    def __init__(self, message: str, seconds: float) -> None:
        self.seconds = max(1, math.ceil(seconds))
        super().__init__(message, f"wait {self.seconds} seconds")


class Use(NamedTuple):
    """A use of a rate, counted under a name."""

    name: str
    message: str
    """The message of the error if there is no room."""
    seconds: float
    """Duration of this use at the rate."""
    room: float
    """Seconds that may be used ahead."""


def count(connection: "Connection", uses: Sequence[Use]) -> None:
    """Count a use under each of its names; TooMuchError, and nothing is counted, if one of them has no room."""
    columns = zip(*((use.name, use.seconds, use.room) for use in uses), strict=True)
    waits: dict[str, float | None] = dict(connection.execute(COUNT, [*map(list, columns)]).fetchall())
    for use in uses:
        # A name that is not among them was used up by another request at the same moment.
        if (wait := waits.get(use.name, 1.0)) is not None:
            raise TooMuchError(use.message, wait)


def count_request(connection: "Connection", use: "KeyUse") -> None:
    """Count a request with a key; TooMuchError if there were too many lately."""
    rates = {
        f"key {use.key}": ("this key", PER_MINUTE),
        f"person {use.person.id}": ("all your keys together", PERSON_PER_MINUTE),
        f"org {use.person.org}": ("your organisation", ORG_PER_MINUTE),
    }
    # Half of a minute's requests may come at once, and not one more because of rounding.
    uses = [
        Use(name, f"too many requests of {whose}", 60 / rate, 30 - 30 / rate) for name, (whose, rate) in rates.items()
    ]
    count(connection, uses)


def used_ahead(connection: "Connection", names: Iterable[str]) -> dict[str, float]:
    """Seconds that each of these names is ahead; names that are not ahead are left out."""
    rows = connection.execute(AHEAD, ([*names],))
    return {name: float(seconds) for name, seconds in rows}


def add_use(connection: "Connection", uses: Sequence[Use]) -> None:
    """Count a use under each of its names, whether there is room or not; never further ahead than twice the room."""
    columns = zip(*((use.name, use.seconds, use.room) for use in uses), strict=True)
    connection.execute(ADD, [*map(list, columns)])


def forget_unused(connection: "Connection") -> None:
    """Remove the names that are not ahead: they are counted as if they had never been used."""
    connection.execute("delete from request_rate where until <= now()")


COUNT: Final = """
with asked as (select * from unnest(%s::text[], %s::float8[], %s::float8[]) as asked (name, step, room)),
over as (
  select name, extract(epoch from r.until - now())::float8 - asked.room as wait
  from asked join request_rate r using (name) where r.until >= now() + make_interval(secs => asked.room)),
counted as (
  insert into request_rate as r (name, until, room)
  select name, now() + make_interval(secs => step), make_interval(secs => room) from asked
  where not exists (select from over) order by name
  on conflict (name) do update
  set until = greatest(r.until, now()) + (excluded.until - now()), room = excluded.room
  where r.until < now() + excluded.room
  returning name)
select name, null::float8 from counted union all select name, wait from over
union all select name, null from asked where exists (select from over) and name not in (select name from over)
"""
"""Ordered by name, so that two requests never wait for one another."""
AHEAD: Final = """
select name, extract(epoch from until - now())::float8 from request_rate where name = any(%s) and until > now()
"""
ADD: Final = """
insert into request_rate as r (name, until, room)
select name, now() + make_interval(secs => step), make_interval(secs => room)
from unnest(%s::text[], %s::float8[], %s::float8[]) as used (name, step, room) order by name
on conflict (name) do update
set until = least(greatest(r.until, now()) + (excluded.until - now()), now() + 2 * excluded.room), room = excluded.room
"""
