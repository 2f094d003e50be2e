"""Rules of an organisation about how much of which projects its machines may send.

A machine fetches the rules when they change, and names the version that it follows when it sends. The stricter of its
own policy and these rules holds: no rule makes more leave a machine than its person chose.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from backscroll.errors import NothingFound, UsageError
from backscroll.sync.http_remote import ToldProject
from backscroll.sync.policy import OrgRules, Policy, PolicyRule, SyncMode, normal_remote, strictest_first
from backscroll.team.database.audit import record
from backscroll.team.database.jobs import enqueue
from backscroll.team.people.accounts import Person

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection, Database

EVERYTHING_ELSE: Final = "all"
KINDS: Final = (EVERYTHING_ELSE, "remote", "path", "project")
MAX_RULES: Final = 200
MAX_PROJECTS: Final = 5_000
LONGEST_PATTERN: Final = 1000
MASK_JOB: Final = "mask"


class ProjectRule(NamedTuple):
    """A mode for the projects that a pattern matches."""

    id: int
    by: str
    pattern: str
    mode: str
    made_by: str
    made: datetime


class OutdatedDevice(NamedTuple):
    """A machine that does not follow the current rules of its organisation."""

    name: str
    seen: datetime | None
    has_asked: bool
    """Whether the machine ever asked for rules; old versions do not."""


class OutdatedRulesError(UsageError):
    """The error for a machine that does not follow the current rules of its organisation."""

    def __init__(self) -> None:
        super().__init__(
            "your organisation has rules about what may be sent, and this machine does not follow them yet",
            "update backscroll on this machine, and sync again",
        )


def rules_of(connection: "Connection", org: int) -> list[ProjectRule]:
    """Read the rules of an organisation, with the one about everything else first."""
    rows = connection.execute(
        "select id, by, pattern, mode, made_by, made from project_rule where org = %s"
        " order by by <> 'all', by, pattern",
        (org,),
    )
    return [ProjectRule(*row) for row in rows]


def set_rule(connection: "Connection", by: Person, kind: str, pattern: str, mode: str) -> None:
    """Make a rule, or change the mode of the one with this pattern."""
    pattern = _checked(kind, pattern)
    if mode not in set(SyncMode):
        raise UsageError(f"{mode or 'nothing'} is not a mode", f"the modes are: {', '.join(SyncMode)}")
    connection.execute("select 1 from org where id = %s for update", (by.org,))
    row = connection.execute("select count(*) from project_rule where org = %s", (by.org,)).fetchone()
    if row and row[0] >= MAX_RULES:
        raise UsageError(f"there are {MAX_RULES} rules already", "remove one, or make one with a wider pattern")
    connection.execute(
        "insert into project_rule (org, by, pattern, mode, made_by) values (%s, %s, %s, %s, %s)"
        " on conflict (org, by, pattern) do update set mode = excluded.mode, made_by = excluded.made_by, made = now()",
        (by.org, kind, pattern, mode, by.handle),
    )
    record(connection, by.org, by.handle, "project-rule.set", _audit_name(kind, pattern), mode)
    _note_digest(connection, by.org)


def remove_rule(connection: "Connection", by: Person, number: int) -> None:
    """Remove a project rule of an organisation."""
    row = connection.execute(
        "delete from project_rule where id = %s and org = %s returning by, pattern", (number, by.org)
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such rule", "see Projects and rules")
    record(connection, by.org, by.handle, "project-rule.remove", _audit_name(*row))
    _note_digest(connection, by.org)


def mask_arrivals(connection: "Connection", by: Person, *, is_on: bool) -> None:
    """Switch on or off that secrets are masked in everything that arrives, whatever a machine masked itself.

    Existing libraries are masked too; masked secrets stay masked when this is switched off.
    """
    connection.execute("update org set masks_arrivals = %s where id = %s", (is_on, by.org))
    record(connection, by.org, by.handle, "masking.on" if is_on else "masking.off", by.org_name)
    if is_on:
        rows = connection.execute("select handle from person where org = %s and erased is null", (by.org,)).fetchall()
        for (handle,) in rows:
            enqueue(connection, MASK_JOB, handle)


def masks_arrivals(connection: "Connection", handle: str) -> bool:
    """Whether secrets are masked in what arrives from this person's machines."""
    row = connection.execute(
        "select o.masks_arrivals from org o join person p on p.org = o.id where p.handle = %s", (handle,)
    ).fetchone()
    return bool(row and row[0])


# Requests of machines


def org_rules(connection: "Connection", device: str) -> OrgRules:
    """Return the rules for a machine, and note that it follows them from now on."""
    row = connection.execute(
        "update device d set rules_digest = o.rules_digest from person p join org o on o.id = p.org"
        " where d.name = %s and p.id = d.person returning o.id, o.name, o.rules_digest",
        (device,),
    ).fetchone()
    return OrgRules(row[2], policy_of(rules_of(connection, row[0])), row[1]) if row else OrgRules()


def note_projects(connection: "Connection", device: str, projects: Sequence[ToldProject]) -> None:
    """Replace the git remotes of the projects that a machine sends."""
    row = connection.execute("select id, person from device where name = %s for update", (device,)).fetchone()
    if row is None or len(projects) > MAX_PROJECTS:
        return
    connection.execute("delete from device_project where device = %s", (row[0],))
    for project in projects:
        path, remote = _storable(project.path), normal_remote(_storable(project.remote))[:500]
        if path and remote:
            connection.execute(
                "insert into device_project (device, person, path, remote) values (%s, %s, %s, %s)"
                " on conflict do nothing",
                (*row, path, remote),
            )


def outdated_devices(connection: "Connection", org: int) -> list[OutdatedDevice]:
    """List the machines that do not follow the current rules."""
    rows = connection.execute(
        "select d.name, d.seen, d.rules_digest is not null from device d join person p on p.id = d.person"
        " join org o on o.id = p.org where o.id = %s and d.revoked is null and p.disabled is null"
        " and o.rules_digest <> '' and d.rules_digest is distinct from o.rules_digest order by d.name",
        (org,),
    )
    return [OutdatedDevice(*row) for row in rows]


def remotes_of(connection: "Connection", org: int) -> dict[str, dict[str, str]]:
    """Read the git remotes of people's projects: handle → path → remote."""
    remotes: dict[str, dict[str, str]] = {}
    rows = connection.execute(
        "select p.handle, d.path, d.remote from device_project d join person p on p.id = d.person where p.org = %s",
        (org,),
    )
    for handle, path, remote in rows:
        remotes.setdefault(handle, {})[path] = remote
    return remotes


def _checked(kind: str, pattern: str) -> str:
    pattern = pattern.strip()
    if kind not in KINDS:
        raise UsageError("a rule applies to a git remote, a folder, a project, or everything else", "choose one")
    if kind == EVERYTHING_ELSE:
        return ""
    if not pattern or len(pattern) > LONGEST_PATTERN or not pattern.isprintable():
        raise UsageError("the rule needs a pattern", "for example github.com/acme/*")
    return normal_remote(pattern) if kind == "remote" else pattern


def policy_of(rules: Sequence[ProjectRule]) -> Policy:
    """Make a policy of rules."""
    default = next((rule.mode for rule in rules if rule.by == EVERYTHING_ELSE), SyncMode.FULL)
    matching = (PolicyRule(rule.by, rule.pattern, SyncMode(rule.mode)) for rule in rules if rule.by != EVERYTHING_ELSE)  # type: ignore[arg-type]
    return Policy(SyncMode(default), strictest_first(matching))


def _note_digest(connection: "Connection", org: int) -> None:
    rules = rules_of(connection, org)
    rules_digest = hashlib.sha256(msgspec.json.encode(policy_of(rules))).hexdigest()[:16] if rules else ""
    connection.execute("update org set rules_digest = %s where id = %s", (rules_digest, org))


def _audit_name(kind: str, pattern: str) -> str:
    return "everything else" if kind == EVERYTHING_ELSE else f"{kind} {pattern}"


def _storable(text: str) -> str:
    """Return a text that PostgreSQL can store; empty for any other."""
    return text[:LONGEST_PATTERN] if text.isprintable() else ""


class StoredRules:
    """Project rules from the database, for the routes of devices."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    def rules(self, device: str) -> OrgRules:
        """The rules for a device."""
        with self._database.transaction() as connection:
            return org_rules(connection, device)

    def note_projects(self, device: str, projects: Sequence[ToldProject]) -> None:
        """Note the projects that a device sends."""
        with self._database.transaction() as connection:
            note_projects(connection, device, projects)
