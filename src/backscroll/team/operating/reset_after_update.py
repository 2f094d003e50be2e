"""After an update from a version with a hole, end all access that may have come through it, and list unlogged changes.

Before the update any member with a key for agents could read and change these tables. Secrets that we made are stored
as digests, so reading them was of no use; but sessions, keys and links could have been added, passwords replaced, and
roles changed. A change that came from a page is in the same transaction as its line in the audit log.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NoPermission
from backscroll.render.terminal import plural
from backscroll.team.database.audit import broken_at, record

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection


class _Finding(NamedTuple):
    action: str
    about: str
    text: str


def require_reset(connection: "Connection") -> None:
    """Raise NoPermission if an update was not finished: sign-in stays closed until then."""
    if connection.execute("select 1 from org where needs_reset").fetchone():
        raise NoPermission("the update of this server is not finished", "run backscroll server migrate")


def reset_after_update(connection: "Connection") -> list[str]:
    """Reset every organisation that needs it; return lines about what was ended, and what the audit log lacks."""
    rows = connection.execute("select id, name from org where needs_reset order by id for update").fetchall()
    lines: list[str] = []
    for org, name in rows:
        lines += _reset(connection, org, name)
        connection.execute("update org set needs_reset = false where id = %s", (org,))
    return lines


def _reset(connection: "Connection", org: int, name: str) -> list[str]:
    broken = broken_at(connection, org)
    findings = [*_roles(connection, org), *_identities(connection, org)]  # before anything here is changed
    findings += _end_unlogged(connection, org)
    findings += [
        _Finding("reset.database", "database", f"has the {kind} {part}, which backscroll did not make: look at it")
        for kind, part in connection.execute(PARTS)
    ]
    ended = {what: connection.execute(statement, (org,)).rowcount for what, statement in ENDED.items()}
    passwords = connection.execute(NEW_PASSWORDS, (org,)).rowcount
    connection.execute(OWNERS_SINCE_NOW, (org,))
    if not passwords and not any(ended.values()) and not findings:
        return []
    counts = ", ".join(plural(count, what) for what, count in ended.items())
    record(
        connection,
        org,
        "server",
        "server.reset",
        name,
        f"ended {counts}; {plural(passwords, 'password')} to be changed",
    )
    for finding in findings:
        record(connection, org, "server", finding.action, finding.about, finding.text)
    lines = [
        f"This update closes a hole: with a key for agents, any member could read and change everything in {name}.",
        f"Ended: {counts}. Everyone with a password ({passwords:,}) must choose a new one at the next sign-in.",
        "Machines stay connected: only digests of their credentials were stored.",
    ]
    if broken is not None:
        lines.append(f"The hash chain of the audit log is broken at event {broken}: it does not prove what follows.")
    if findings:
        lines.append("The audit log has no line for these:")
        lines += [f"  {finding.about}: {finding.text}" for finding in findings]
    else:
        lines.append("Every role and password has a line in the audit log.")
    return lines


def _roles(connection: "Connection", org: int) -> list[_Finding]:
    """Find roles that differ from the last line about them in the audit log."""
    return [
        _Finding("reset.role", handle, f"is {role}; the audit log says {logged or 'nothing'}")
        for handle, role, logged in connection.execute(ROLES, {"org": org})
        if role != logged
    ]


def _identities(connection: "Connection", org: int) -> list[_Finding]:
    """Find passwords and subjects at the provider that the audit log lacks; sign-ins with them need confirmation."""
    findings = []
    for person, handle, has_password, has_subject in connection.execute(IDENTITIES, {"org": org}).fetchall():
        what = " and ".join(
            [*(["password"] if has_password else []), *(["sign-in at the provider"] if has_subject else [])]
        )
        findings.append(
            _Finding("reset.identity", handle, f"the {what} may not be theirs: a sign-in has to be confirmed first")
        )
        connection.execute("update person set unproved = true where id = %s", (person,))
    return findings


def _end_unlogged(connection: "Connection", org: int) -> list[_Finding]:
    """End shares, machines and memberships that show chats to others and were not made on a page."""
    findings = []
    for handle, chat in connection.execute(SHARES, (org,)).fetchall():
        findings.append(_Finding("reset.share", handle, f"the chat {chat} was shared; it is no longer"))
    for device, handle in connection.execute(DEVICES, (org,)).fetchall():
        findings.append(_Finding("reset.device", handle, f"the machine {device} was connected; it is revoked"))
    for handle, team in connection.execute(MEMBERS, (org,)).fetchall():
        text = f"is in the team {team}; sees only what is shared with it from now on"
        findings.append(_Finding("reset.member", handle, text))
    return findings


RECOVERIES: Final = "0502_recoveries.sql"
"""The migration of the first version without the hole."""
OF_ORG: Final = "person in (select id from person where org = %s)"
ENDED: Final = {
    "session": f"delete from web_session where {OF_ORG}",  # noqa: S608
    "key": f"update api_key set revoked = now() where revoked is null and {OF_ORG}",  # noqa: S608
    "invitation": "delete from invitation where used is null and org = %s",
    "chat link": "update share_link set revoked = now() where revoked is null and expires > now()"
    " and owner in (select id from person where org = %s)",
    "waiting machine": f"delete from device_request where {OF_ORG}",  # noqa: S608
}
NEW_PASSWORDS: Final = """
update person set must_change_password = true where org = %s and password is not null and erased is null
"""
OWNERS_SINCE_NOW: Final = "update person set owner_since = now() where org = %s and role = 'owner'"
ROLES: Final = """
select p.handle, p.role, coalesce((
  select case when a.action = 'person.role' then split_part(a.detail, ' → ', 2)
    when a.action = 'person.invite' then a.detail
    when p.role = 'service' then 'service' else 'member' end
  from audit a where a.org = p.org and a.about = p.handle
    and (a.action in ('person.role', 'person.restore', 'person.link') or a.action = 'person.invite' and a.detail <> '')
  order by a.action = 'person.link', a.number desc limit 1),
  case when p.id = (select min(id) from person where org = %(org)s) then 'owner' end)
from person p where p.org = %(org)s and p.erased is null order by p.handle
"""
"""Without a line, the first person of an organisation is its owner, and a person from the provider a member."""
IDENTITIES: Final = """
select p.id, p.handle, p.password is not null, p.subject is not null from person p
where p.org = %(org)s and p.erased is null and (p.password is not null or p.subject is not null) and (
  p.password is not null and not exists (select from audit a where a.org = p.org and a.about = p.handle
    and a.action in ('password.set', 'password.change', 'person.restore'))
  or p.subject is not null and not exists (select from audit a where a.org = p.org and a.about = p.handle
    and a.action in ('person.link', 'person.restore'))
  or not exists (select from audit a where a.org = p.org and a.xmin = p.xmin)
    and not exists (select from audit a where a.org = p.org and a.about = p.handle and a.action = 'person.restore')
    and (select count(distinct q.xmin::text) > 1 or count(*) = 1 from person q where q.org = p.org))
order by p.handle
"""
"""Includes people whose row was last changed in a transaction without a line. Where one transaction wrote all rows, the
database was copied, and that says nothing."""
PARTS: Final = """
select 'function', p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname not in ('pg_catalog', 'information_schema', 'backscroll', 'backscroll_sql')
  and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
union all select 'trigger', t.tgname || ' on ' || t.tgrelid::regclass from pg_trigger t where not t.tgisinternal
union all select 'rule', r.rulename || ' on ' || r.ev_class::regclass from pg_rewrite r
  join pg_class c on c.oid = r.ev_class join pg_namespace n on n.oid = c.relnamespace
where r.rulename <> '_RETURN' and n.nspname in ('team', 'backscroll')
union all select 'policy', p.polname || ' on ' || p.polrelid::regclass from pg_policy p
  join pg_class c on c.oid = p.polrelid where c.relnamespace = 'team'::regnamespace and p.polname <> 'own_org'
order by 1, 2
"""
"""Parts of the database that could act or read for an attacker later."""
SHARES: Final = """
update share s set revoked = now() from person p where p.id = s.owner and p.org = %s and s.revoked is null
  and not exists (select from audit a where a.org = p.org and a.action = 'chat.share' and a.actor = p.handle
    and a.about = s.chat)
returning p.handle, s.chat
"""
DEVICES: Final = """
update device d set revoked = now() from person p where p.id = d.person and p.org = %s and d.revoked is null
  and not d.is_import and not exists (select from audit a where a.org = p.org and a.about = d.name
    and a.action in ('device.new', 'history.import'))
  and not exists (select from audit a where a.org = p.org and a.about = p.handle and a.action = 'person.restore')
returning d.name, p.handle
"""
MEMBERS: Final = """
update membership m set since = now() from team t, person p where t.id = m.team and t.org = %s and p.id = m.person
  and not exists (select from audit a where a.org = t.org and a.about = t.name
    and (a.action = 'team.members' and p.handle = any(string_to_array(a.detail, ', '))
      or a.action = 'team.join' and a.actor = p.handle))
returning p.handle, t.name
"""
