"""Recover an account that was in use before, by a link that another person made.

The holder of such a link has not shown that the account is theirs. So its password, its subject at the provider and its
sessions are kept apart until the recovery is confirmed: by the person (in a session that they have, or on a machine of
theirs), by a second owner, or by the operator of the server. Until then they read nothing, and what the person had
before keeps working. The person is told, and dismisses the notice.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.database.audit import record
from backscroll.team.people.secrets import digest, hash_password, is_password, new_code, new_secret, typed_code

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection
    from backscroll.team.people.accounts import Person

UNOPENED: Final = timedelta(days=7)
"""Time in which a link can be opened, the same as for every invitation."""
LASTS: Final = timedelta(days=30)
"""Time in which a recovery can be confirmed."""
OWNER_FOR: Final = timedelta(days=30)
"""Time that both owners who open an account must have been owners.

So an owner who makes a second one for this purpose is seen by everyone for a month."""
OPERATOR: Final = "operator"
SERVER: Final = "server"


class Recovery(NamedTuple):
    """A link that another person made for an account in use, and what became of it."""

    id: int
    org: int
    person: int
    handle: str
    made_by: str
    """The handle of an administrator, or `operator`, or `server`."""
    counts_as_owner: bool
    """Whether it was made by one who had long been an owner, so that a second owner may approve it."""
    made: datetime
    opened: datetime | None
    code: str | None
    has_password: bool
    decided: datetime | None
    decided_by: str | None
    is_confirmed: bool
    is_waiting: bool
    """Whether it was opened, and can still be confirmed or refused."""
    is_unopened: bool
    """Whether its link can still be opened."""

    @property
    def actor(self) -> str:
        """The actor for the audit log: not the person, who may know nothing of the link."""
        return f"link by {self.made_by}"


def is_in_use(connection: "Connection", person: int) -> bool:
    """Whether an account has or had anything that a link must not lay open."""
    row = connection.execute(IN_USE, {"person": person}).fetchone()
    return bool(row and row[0])


def announce_link(connection: "Connection", person: "Person", link: bytes, by: "Person | None") -> None:
    """Note, for its person, that an administrator or the operator made a link for an account in use."""
    counts = by is not None and _has_long_been_owner(connection, by)
    connection.execute(
        f"update recovery r set decided = now(), decided_by = 'a newer link' where person = %s and {IS_UNOPENED}",  # noqa: S608
        (person.id,),
    )
    connection.execute(
        "insert into recovery (org, person, link, made_by, counts_as_owner) values (%s, %s, %s, %s, %s)",
        (person.org, person.id, link, by.handle if by else OPERATOR, counts),
    )


def open_recovery(
    connection: "Connection",
    person: "Person",
    link: bytes,
    *,
    password: str | None = None,
    subject: tuple[str, str] | None = None,
) -> int:
    """Open a link: keep what it brings until it is confirmed. An older one that still waits ends."""
    stored = hash_password(password) if password is not None else None
    connection.execute(
        "insert into recovery (org, person, link, made_by) values (%s, %s, %s, %s) on conflict (link) do nothing",
        (person.org, person.id, link, SERVER),
    )
    connection.execute(
        "update recovery r set decided = now(), decided_by = 'a newer link' where person = %s and link <> %s"  # noqa: S608
        f" and ({WAITING} or {IS_UNOPENED})",
        (person.id, link),
    )
    issuer, name = subject or (None, None)
    row = connection.execute(
        "update recovery set opened = now(), code = %s, password = %s, issuer = %s, subject = %s"
        " where link = %s and person = %s and opened is null and decided is null returning id, made_by",
        (new_code(), stored, issuer, name, link, person.id),
    ).fetchone()
    if row is None:
        raise NothingFound("this link has been used already, or was refused", "ask an administrator for a new one")
    record(connection, person.org, f"link by {row[1]}", "recovery.open", person.handle)
    return int(row[0])


def recovery_of_unproved(connection: "Connection", person: "Person") -> int:
    """The recovery that a sign-in begins where it is not known whose password or subject that is; 0 elsewhere."""
    row = connection.execute("select unproved from person where id = %s", (person.id,)).fetchone()
    return open_recovery(connection, person, digest(new_secret("v"))) if row and row[0] else 0


def recovery_with_password(connection: "Connection", handle: str, password: str) -> Recovery | None:
    """Find the waiting recovery with this password; None without one, after the same time."""
    row = connection.execute(
        "select r.id, r.password from recovery r join person p on p.id = r.person"  # noqa: S608
        f" where p.handle = %s and p.disabled is null and {WAITING} order by r.id desc limit 1",
        (handle.strip().lower(),),
    ).fetchone()
    is_right = is_password(password, row[1] if row else None)
    return find_recovery(connection, row[0]) if is_right and row else None


def begin_recovery_session(connection: "Connection", number: int, browser: str, *, by_password: bool) -> str:
    """Begin a session that shows only how to confirm the recovery; once confirmed, it is a session of the person."""
    secret = new_secret("s")
    recovery = find_recovery(connection, number)
    connection.execute(
        "insert into recovery_session (digest, recovery, person, by_password, browser) values (%s, %s, %s, %s, %s)",
        (digest(secret), number, recovery.person, by_password, browser[:200]),
    )
    connection.execute("delete from recovery_session where created < now() - %s", (LASTS,))
    connection.execute(
        "update recovery set password = null, issuer = null, subject = null, code = null where opened < now() - %s",
        (LASTS,),
    )
    record(connection, recovery.org, recovery.actor, "recovery.sign-in", recovery.handle)
    return secret


def recovery_of_session(connection: "Connection", secret: str) -> Recovery | None:
    """The recovery that a session waits for; None for every other session."""
    condition = f"{WAITING} and r.id = (select recovery from recovery_session where digest = %s)"  # noqa: S608
    return _first(connection, condition, digest(secret))


def end_recovery_session(connection: "Connection", secret: str) -> None:
    """End the session of a recovery."""
    connection.execute("delete from recovery_session where digest = %s", (digest(secret),))


def confirm(connection: "Connection", number: int, by: str, *, keeps: bytes = b"", by_person: bool = True) -> None:
    """Confirm a recovery: what the link brought counts from now on, and its sessions become those of the person.

    If the person confirms, their other sessions end, but for the one with the digest `keeps`.
    """
    recovery = _locked(connection, number)
    if not recovery.is_waiting:
        raise NothingFound("there is nothing to confirm any more", "ask an administrator for a new link")
    other = connection.execute(
        "select 1 from person p join recovery r on p.issuer = r.issuer and p.subject = r.subject"
        " where r.id = %s and p.id <> r.person",
        (number,),
    ).fetchone()
    if other:
        raise UsageError("this sign-in at the provider belongs to another account by now", "ask for a new link")
    connection.execute(
        "update person p set password = coalesce(r.password, p.password), issuer = coalesce(r.issuer, p.issuer),"
        " subject = coalesce(r.subject, p.subject), unproved = false,"
        " must_change_password = p.must_change_password and r.password is null"
        " from recovery r where r.id = %s and p.id = r.person",
        (number,),
    )
    if by_person:
        connection.execute("delete from web_session where person = %s and digest <> %s", (recovery.person, keeps))
    connection.execute(
        "with ended as (delete from recovery_session where recovery = %s"
        " returning digest, person, browser, by_password)"
        " insert into web_session (digest, person, browser, by_password)"
        " select digest, person, browser, by_password from ended",
        (number,),
    )
    _decide(connection, recovery, by, is_confirmed=True)


def refuse(connection: "Connection", number: int, by: str) -> None:
    """Refuse a recovery: nothing of what the link brought ever counts."""
    recovery = _locked(connection, number)
    if not recovery.is_waiting and not recovery.is_unopened:
        raise NothingFound("there is nothing to refuse any more", "see Account")
    connection.execute("delete from invitation i using recovery r where r.id = %s and i.digest = r.link", (number,))
    connection.execute("delete from recovery_session where recovery = %s", (number,))
    _decide(connection, recovery, by, is_confirmed=False)


def refuse_all(connection: "Connection", person: int, by: str) -> None:
    """Refuse all recoveries of a person that wait or could still be opened."""
    for recovery in _read(connection, f"r.person = %s and ({WAITING} or {IS_UNOPENED})", person):
        refuse(connection, recovery.id, by)


def approve(connection: "Connection", by: "Person", number: int) -> None:
    """Approve a recovery as a second owner; the first one made the link."""
    recovery = next((waiting for waiting in _read(connection, "r.id = %s and r.org = %s", number, by.org)), None)
    if recovery is None:
        raise NothingFound("there is no such recovery", "see People and teams")
    if reason := why_not_approve(connection, by, recovery):
        raise UsageError(reason, "the person confirms it, or the operator runs backscroll server recover")
    confirm(connection, number, by.handle, by_person=False)


def why_not_approve(connection: "Connection", by: "Person", recovery: Recovery) -> str:
    """Return why this owner may not approve a recovery; empty if they may."""
    if by.role != "owner":
        return "only an owner can approve this"
    if by.handle == recovery.made_by or by.id == recovery.person:
        return "another owner has to approve this: not the one who made the link, nor the one whom it is for"
    if not recovery.counts_as_owner or not _has_long_been_owner(connection, by):
        return f"it takes two people who have been owners for {OWNER_FOR.days} days: one makes the link, one approves"
    return ""


def confirm_from_machine(connection: "Connection", device: str, code: str, *, is_mine: bool) -> None:
    """Confirm or refuse the recovery with this code, as a connected machine of the person answers."""
    recovery = with_code(connection, device, code)
    if is_mine:
        confirm(connection, recovery.id, device)
    else:
        refuse(connection, recovery.id, device)


def with_code(connection: "Connection", device: str, code: str) -> Recovery:
    """Return the recovery with this code, if it belongs to the person of this machine."""
    condition = f"{WAITING} and r.code = %s and r.person = (select person from device where name = %s)"  # noqa: S608
    recovery = _first(connection, condition, typed_code(code), device)
    if recovery is None:
        raise NothingFound("no new sign-in of your account waits with this code", "compare it with the page")
    return recovery


def dismiss(connection: "Connection", person: "Person", number: int) -> None:
    """Dismiss a notice that the person has read. A recovery that waits for an answer cannot be dismissed."""
    row = connection.execute(
        f"update recovery r set dismissed = now() where r.id = %s and r.person = %s and dismissed is null"  # noqa: S608
        f" and not ({WAITING} or {IS_UNOPENED}) returning r.id",
        (number, person.id),
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such notice", "see Account")


def notices_of(connection: "Connection", person: "Person") -> list[Recovery]:
    """The notices that the person has not dismissed, the newest first."""
    return _read(connection, "r.person = %s and r.dismissed is null", person.id)


def recovery_of(connection: "Connection", person: "Person", number: int) -> Recovery:
    """A recovery of this person's own account."""
    recovery = _first(connection, "r.id = %s and r.person = %s", number, person.id)
    if recovery is None:
        raise NothingFound("there is no such notice", "see Account")
    return recovery


def waiting_in(connection: "Connection", org: int) -> list[Recovery]:
    """The recoveries of an organisation that were opened and not decided."""
    return _read(connection, f"r.org = %s and {WAITING}", org)


def find_recovery(connection: "Connection", number: int) -> Recovery:
    """A recovery by its number."""
    recovery = _first(connection, "r.id = %s", number)
    if recovery is None:
        raise NothingFound("there is no such recovery", "see People and teams")
    return recovery


def note_opened(connection: "Connection", person: "Person", link: bytes) -> None:
    """Note the use of a link that needs no confirmation: the person is told if the operator made it."""
    row = connection.execute(
        "update recovery set opened = now(), decided = now(), decided_by = made_by, is_confirmed = true"
        " where link = %s and decided is null returning made_by",
        (link,),
    ).fetchone()
    connection.execute("update person set unproved = false where id = %s and unproved", (person.id,))
    if row is not None:
        record(connection, person.org, f"link by {row[0]}", "recovery.confirm", person.handle)


def _locked(connection: "Connection", number: int) -> Recovery:
    """Lock a recovery and read it: of answers at the same time only one counts."""
    connection.execute("select 1 from recovery where id = %s for update", (number,))
    return find_recovery(connection, number)


def _decide(connection: "Connection", recovery: Recovery, by: str, *, is_confirmed: bool) -> None:
    connection.execute(
        "update recovery set decided = now(), decided_by = %s, is_confirmed = %s, code = null, password = null,"
        " issuer = null, subject = null where id = %s",
        (by, is_confirmed, recovery.id),
    )
    action = "recovery.confirm" if is_confirmed else "recovery.refuse"
    record(connection, recovery.org, by, action, recovery.handle, recovery.actor)


def _has_long_been_owner(connection: "Connection", person: "Person") -> bool:
    row = connection.execute(
        "select 1 from person where id = %s and role = 'owner' and owner_since < now() - %s and disabled is null",
        (person.id, OWNER_FOR),
    ).fetchone()
    return row is not None


def _first(connection: "Connection", condition: str, *values: object) -> Recovery | None:
    return next(iter(_read(connection, condition, *values)), None)


def _read(connection: "Connection", condition: str, *values: object) -> list[Recovery]:
    return [Recovery(*row) for row in connection.execute(f"{RECOVERIES} and {condition} order by r.id desc", values)]


WAITING: Final = f"(r.opened > now() - interval '{LASTS.days} days' and r.decided is null)"
IS_UNOPENED: Final = f"(r.opened is null and r.decided is null and r.made > now() - interval '{UNOPENED.days} days')"
RECOVERIES: Final = (
    "select r.id, r.org, r.person, p.handle, r.made_by, r.counts_as_owner, r.made, r.opened, r.code,"  # noqa: S608
    f" r.password is not null, r.decided, r.decided_by, r.is_confirmed, coalesce({WAITING}, false),"
    f" {IS_UNOPENED} from recovery r join person p on p.id = r.person where p.disabled is null"
)
IN_USE: Final = """
select p.password is not null or p.subject is not null or p.unproved or exists (
  select from device where person = p.id union all select from web_session where person = p.id
  union all select from api_key where person = p.id union all select from share where owner = p.id
  union all select from prompt where owner = p.id) from person p where p.id = %(person)s
"""
