"""Failed sign-ins, counted in the database, so that neither another process nor a restart allows more guesses.

Failures are counted by handle and address together: guessing is slowed down, and the person can still sign in from
another address. Many failures at one address, or of one handle at many, leave fewer tries for each pair, and never
none: an address may be that of a proxy before everyone. A browser in which the person signed in before is counted by
itself, so that guesses from its own address do not shut it out either.
"""

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from backscroll.team.people.client_address import CountedAddress
from backscroll.team.people.rates import TooMuchError, Use, add_use, used_ahead
from backscroll.team.people.secrets import digest, new_secret

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

PERIOD: Final = 900.0
TRIES: Final = 10
"""Failures in a quarter of an hour, of one handle from one address, or of one browser."""
TRIES_THROUGH: Final = 30
"""Failures through a proxy that is not trusted, and may make up addresses."""
FEW_TRIES: Final = 2
"""The tries of one handle from one address where the address, or the handle, has failed too often in all."""
OF_ADDRESS: Final = 200
OF_HANDLE: Final = 100
LASTS: Final = timedelta(days=180)
MOST_BROWSERS: Final = 20
"""Known browsers of a person; the one that was used longest ago is forgotten."""


class FailedSignIns:
    """The failures that count for one attempt. `check` it before, and `note_failure` after it failed."""

    def __init__(self, connection: "Connection", handle: str, counted: CountedAddress, browser: str = "") -> None:
        """`browser` is the secret in the cookie of the browser, if it has one."""
        self._connection = connection
        handle = hashlib.sha256(handle.strip().lower().encode(errors="replace")).hexdigest()[:32]
        if browser and _is_known(connection, handle, browser):
            self._pairs, self._around = {f"guess browser {digest(browser).hex()[:32]}": TRIES}, {}
        else:
            addresses = [address for address in counted if address]
            self._pairs = dict(
                zip([f"guess {handle} {each}" for each in addresses], (TRIES, TRIES_THROUGH), strict=False)
            )
            self._around = {f"guess of {handle}": OF_HANDLE, **{f"guess from {each}": OF_ADDRESS for each in addresses}}

    def check(self) -> None:
        """Raise TooMuchError if there were too many failures lately."""
        ahead = used_ahead(self._connection, [*self._pairs, *self._around])
        over = max(ahead.get(name, 0.0) + step - PERIOD for name, step in self._steps(ahead).items())
        if over > 0:
            raise TooMuchError("too many failed attempts", over)

    def note_failure(self) -> None:
        """Count one more failure."""
        steps = self._steps(used_ahead(self._connection, [*self._around]))
        steps |= {name: PERIOD / most for name, most in self._around.items()}
        add_use(self._connection, [Use(name, "", step, PERIOD) for name, step in steps.items()])

    def _steps(self, ahead: dict[str, float]) -> dict[str, float]:
        """Seconds that a failure counts now, for each pair."""
        is_attack = any(ahead.get(name, 0.0) > PERIOD for name in self._around)
        few = FEW_TRIES if is_attack else TRIES
        return {name: PERIOD / (few if tries == TRIES else tries) for name, tries in self._pairs.items()}


def know_browser(connection: "Connection", person: int, browser: str) -> str:
    """Remember that a person has signed in with a password in this browser; the secret for its cookie."""
    row = connection.execute(
        "update known_browser set seen = now() where digest = %s and person = %s and seen > now() - %s returning 1",
        (digest(browser), person, LASTS),
    ).fetchone()
    if row is not None:
        return browser
    secret = new_secret("b")
    connection.execute("insert into known_browser (digest, person) values (%s, %s)", (digest(secret), person))
    connection.execute(
        "delete from known_browser where person = %s and digest in ("
        "select digest from known_browser where person = %s order by seen desc offset %s)",
        (person, person, MOST_BROWSERS),
    )
    return secret


def _is_known(connection: "Connection", handle: str, browser: str) -> bool:
    row = connection.execute(
        "select p.handle from known_browser b join person p on p.id = b.person"
        " where b.digest = %s and b.seen > now() - %s",
        (digest(browser), LASTS),
    ).fetchone()
    return row is not None and hashlib.sha256(row[0].encode()).hexdigest()[:32] == handle
