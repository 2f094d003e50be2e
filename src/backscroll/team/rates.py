"""How many requests a key, a person and an organisation may make: so that one program cannot hold up everyone.

They are counted in the database, in the statement that each request costs: a limit is the same however many web
processes there are. Each request moves the time up to which its key has asked by the same step; once that is too far
ahead of now, it is refused.
"""

import math
from typing import TYPE_CHECKING, Final

from backscroll.errors import Busy

if TYPE_CHECKING:
    from backscroll.team.database import Connection
    from backscroll.team.sessions import KeyUse

PER_MINUTE: Final = 120
PERSON_PER_MINUTE: Final = 300
ORG_PER_MINUTE: Final = 3000
"""With one key, all keys of a person, and those of everyone in an organisation; half as many at once."""


class TooManyRequestsError(Busy):
    """A key, a person or an organisation asks too often."""

    def __init__(self, whose: str, seconds: int) -> None:
        self.seconds = seconds
        super().__init__(f"too many requests of {whose}", f"wait {seconds} seconds")


def count_request(connection: "Connection", use: "KeyUse") -> None:
    """Count a request with a key; TooManyRequestsError if there were too many lately."""
    rates = {
        f"key {use.key}": ("this key", PER_MINUTE),
        f"person {use.person.id}": ("all your keys together", PERSON_PER_MINUTE),
        f"org {use.person.org}": ("your organisation", ORG_PER_MINUTE),
    }
    steps = [60 / rate for _, rate in rates.values()]
    rooms = [step * rate / 2 for step, (_, rate) in zip(steps, rates.values(), strict=True)]
    counted = {name for (name,) in connection.execute(COUNT, ([*rates], steps, rooms))}
    for (name, (whose, _)), step in zip(rates.items(), steps, strict=True):
        if name not in counted:
            row = connection.execute(WAIT, (step, name)).fetchone()
            raise TooManyRequestsError(whose, max(1, math.ceil(row[0])) if row else 1)


COUNT: Final = """
insert into request_rate as r (name, until, room)
select name, now() + make_interval(secs => step), make_interval(secs => room)
from unnest(%s::text[], %s::float8[], %s::float8[]) as asked (name, step, room) order by name
on conflict (name) do update
set until = greatest(r.until, now()) + (excluded.until - now()), room = excluded.room
where greatest(r.until, now()) + (excluded.until - now()) <= now() + excluded.room
returning name
"""
"""In the order of the names, so that two requests never wait for one another."""
WAIT: Final = """
select extract(epoch from until + make_interval(secs => %s) - room - now()) from request_rate where name = %s
"""
