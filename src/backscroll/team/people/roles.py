"""Change the role of a person. There is always an owner left who can sign in."""

from typing import TYPE_CHECKING

from backscroll.errors import UsageError
from backscroll.team.database.audit import record
from backscroll.team.people.accounts import ROLES, Person, administrator_now, not_joined, people, person_of
from backscroll.team.people.recoveries import refuse_all

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection


def roles_to_give(by: Person) -> tuple[str, ...]:
    """The roles that an administrator may give."""
    return tuple(role for role in ROLES if role != "owner" or by.role == "owner")


def owners(connection: "Connection", org: int) -> set[str]:
    """The handles of the owners who can sign in: neither disabled, nor invited without having joined."""
    handles = {person.handle for person in people(connection, org) if person.role == "owner" and not person.disabled}
    return handles - not_joined(connection, org)


def check_other_owner(connection: "Connection", person: Person) -> None:
    """Raise UsageError if a person is the only owner: no one would be left to make another."""
    if person.role == "owner" and not owners(connection, person.org) - {person.handle}:
        raise UsageError(f"{person.handle} is the only owner who can sign in", "make someone else an owner first")


def change_role(connection: "Connection", by: Person, handle: str, role: str) -> None:
    """Give a person another role. It counts from their next request on."""
    by = administrator_now(connection, by)
    person = person_of(connection, by.org, handle)
    if role not in ROLES:
        raise UsageError(f"{role or 'nothing'} is not a role", f"the roles are: {', '.join(ROLES)}")
    if person.role == role:
        return
    if by.role != "owner" and "owner" in (role, person.role):
        raise UsageError("only an owner can make someone an owner, or change the role of one", "ask an owner")
    if connection.execute("select 1 from erasure where person = %s", (person.id,)).fetchone():
        raise UsageError(f"{handle} is being erased", "see Retention and erasures")
    check_other_owner(connection, person)
    if role == "owner":
        _end_links(connection, person, by)
    connection.execute(
        "update person set role = %s, owner_since = case when %s = 'owner' then now() end where id = %s",
        (role, role, person.id),
    )
    record(connection, by.org, by.handle, "person.role", handle, f"{person.role} → {role}")


def _end_links(connection: "Connection", person: Person, by: Person) -> None:
    """End the open links of a future owner: only an owner may have a link that signs them in as one."""
    if person.handle in not_joined(connection, person.org):
        raise UsageError(f"{person.handle} has not joined yet", "make them an owner once they have signed in")
    connection.execute("delete from invitation where person = %s and used is null", (person.id,))
    refuse_all(connection, person.id, by.handle)
