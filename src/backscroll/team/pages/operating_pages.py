"""Pages for administrators who run the server: jobs, storage, and a test of single sign-on."""

from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.terminal import size
from backscroll.team.pages.parts import beside, button, field, moment_text, table, team_document
from backscroll.team.pages.requests import TeamRequest, not_found, see
from backscroll.team.people.accounts import forbids_passwords
from backscroll.team.people.context import ASKER, TeamContext
from backscroll.team.people.limits import (
    GIGABYTE,
    MEGABYTE,
    ORG_RATE,
    PERSON_RATE,
    Limits,
    limits_of,
    parsed_limit,
    set_limits,
    set_quota,
)
from backscroll.team.people.passwords import RECENTLY, allow_passwords, forbid_passwords
from backscroll.team.people.sign_in_test import SignInStep, try_sign_in

JOBS = """
select j.id, j.kind, j.about, j.created, j.due, j.tries, split_part(j.problem, ':', 1) from job j
join person p on p.handle = split_part(j.about, '/', 1) where p.org = %s order by j.due limit 200
"""
STORAGE = """
select p.handle, count(d.id) filter (where d.revoked is null), coalesce(sum(d.stored_bytes), 0),
  coalesce(sum(d.sent_bytes), 0), max(d.seen), p.quota_bytes
from person p left join device d on d.person = p.id where p.org = %s group by p.id
having p.erased is null or sum(d.stored_bytes) > 0
order by coalesce(sum(d.stored_bytes), 0) desc, p.handle
"""
KINDS = {
    "pull": "read what a machine sent",
    "index": "build the search index",
    "expire": "remove expired chats",
    "mask": "mask secrets",
    "undo-import": "undo an import",
    "erase": "erase a person",
}
"""Kinds of jobs, in words."""


def jobs(request: TeamRequest) -> Html:
    """Show the waiting jobs, and those that failed."""
    person = request.administrator()
    rows = [_job_row(*row) for row in request.connection.execute(JOBS, (person.org,))]
    return team_document(
        "Jobs", person, "/jobs",
        table(("Job", "For", "Created", "Tries", "Next try", "Problem", ""), rows,
              "No jobs are waiting: everything that machines sent can be found.", numbers=("Tries",)),
        lead="What the workers still have to do with what machines sent. A job that fails is tried again, at growing"
        " intervals. This page shows whose job it is, never its contents; the worker's log has the details.",
    )  # fmt: skip


def _job_row(
    number: int, kind: str, about: str, created: datetime, due: datetime, tries: int, problem: str
) -> tuple[object, ...]:
    what = join([el("strong", kind), " ", el("span", KINDS.get(kind, ""), class_="muted")])
    again = button(f"/jobs/{number}/now", "Try now", about=f"{kind} {about}") if problem else NOTHING
    return what, about, moment_text(created), tries, moment_text(due), problem or _none("–"), again


def _none(text: str) -> Html:
    return el("span", text, class_="muted")


def try_now(request: TeamRequest) -> Response:
    """Let a job be tried at once."""
    person = request.administrator()
    row = request.connection.execute(
        "update job j set due = now() from person p where j.id = %s and p.handle = split_part(j.about, '/', 1)"
        " and p.org = %s returning j.id",
        (request.number("job"), person.org),
    ).fetchone()
    if row is None:
        not_found()
    request.connection.execute("notify backscroll_jobs")
    return see("/jobs")


def storage(request: TeamRequest) -> Html:
    """Show how much everyone has stored, the size of the database, and the limits."""
    person = request.administrator()
    people = request.connection.execute(STORAGE, (person.org,)).fetchall()
    total = sum(int(stored) for _, _, stored, *_ in people)
    limits = limits_of(request.connection, person.org)
    (database,) = request.connection.execute("select pg_database_size(current_database())").fetchone() or (0,)
    facts = el("p", el("strong", size(total)), f" of {size(limits.org_bytes)}" if limits.org_bytes else "",
               " stored; the database takes ", el("strong", size(int(database))), ".")  # fmt: skip
    rows = [
        (el("strong", handle), f"{machines:,}", size(int(stored)),
         f"{100 * int(stored) / total:.0f} %" if total else "–", _quota(int(stored), quota or limits.person_bytes),
         size(int(sent)), moment_text(seen))
        for handle, machines, stored, sent, seen, quota in people
    ]  # fmt: skip
    return team_document(
        "Storage", person, "/storage", facts,
        table(("Person", "Machines", "Stored", "Of total", "Quota", "Ever sent", "Last seen"), rows,
              "No machine has sent anything yet.", numbers=("Machines", "Stored", "Of total", "Ever sent")),
        el("h2", "Limits for everyone"), _limits_form(limits),
        el("h2", "A different quota for one person"), _quota_form([str(row[0]) for row in people]),
        lead="What machines have sent: stored before compression, ever sent after it. The indexes in the database are"
             " built from it and can be rebuilt.",
    )  # fmt: skip


def _quota(stored: int, quota: int | None) -> Html:
    if quota is None:
        return _none("none")
    text = f"{size(quota)}, {100 * stored / quota:.0f} % used"
    return el("span", text, class_="no" if stored >= quota else None)


def _limits_form(limits: Limits) -> Html:
    def number(label: str, name: str, value: int | None, unit: int, usual: str) -> Html:
        text = f"{value / unit:g}" if value else ""
        return field(label, name, value=text, inputmode="decimal", placeholder=usual)

    return el(
        "form",
        number("GB per person", "person_bytes", limits.person_bytes, GIGABYTE, "no limit"),
        number("GB in total", "org_bytes", limits.org_bytes, GIGABYTE, "no limit"),
        number("MB/s per person", "person_rate", limits.person_rate, MEGABYTE, f"{PERSON_RATE / MEGABYTE:.0f}"),
        number("MB/s in total", "org_rate", limits.org_rate, MEGABYTE, f"{ORG_RATE / MEGABYTE:.0f}"),
        el("button", "Save the limits"),
        el("p", "A machine that sends too fast waits and continues. One whose quota is used up says so and tries"
           " again later; it can still remove what it has sent. Sizes and rates are those before compression.",
           class_="muted"),
        method="post", action="/storage/limits", class_="row-form",
    )  # fmt: skip


def _quota_form(handles: list[str]) -> Html:
    people = el("select", [el("option", handle, value=handle) for handle in handles], name="handle")
    return el(
        "form",
        el("label", el("span", "Person"), people, class_="field"),
        field("GB (empty: the same as everyone)", "bytes", inputmode="decimal"),
        el("button", "Save the quota"),
        method="post", action="/storage/quota", class_="row-form",
    )  # fmt: skip


def change_limits(request: TeamRequest) -> Response:
    """Set the limits of the organisation."""
    by, form = request.administrator(), request.form
    units = {"person_bytes": GIGABYTE, "org_bytes": GIGABYTE, "person_rate": MEGABYTE, "org_rate": MEGABYTE}
    parsed = {name: parsed_limit(form.get(name, ""), unit) for name, unit in units.items()}
    set_limits(request.connection, by, Limits(**parsed))
    return see("/storage")


def change_quota(request: TeamRequest) -> Response:
    """Set the quota of one person."""
    by, form = request.administrator(), request.form
    set_quota(request.connection, by, form.get("handle", ""), parsed_limit(form.get("bytes", ""), GIGABYTE))
    return see("/storage")


def before_sign_in_test(request: Request, context: TeamContext) -> list[SignInStep]:
    """Test single sign-on. This sends requests to the provider, so it runs outside of a transaction."""
    asker = request.scope.get(ASKER)
    return try_sign_in(context.oidc) if context.oidc and asker and asker.is_administrator else []


def sign_in_test(request: TeamRequest) -> Html:
    """Show whether single sign-on can work with the current settings."""
    person = request.administrator()
    steps: list[SignInStep] = request.before
    if request.context.oidc is None:
        sentence = join(["No identity provider is set up. To use one, start the server with ",
                     el("code", "--oidc-issuer"), " and ", el("code", "--oidc-client"), "."])  # fmt: skip
    else:
        sentence = join(["The provider must know this redirect address: ",
                     el("code", f"{request.context.url}/oidc/callback")])  # fmt: skip
    rows = [
        (join([el("span", "✔" if step.is_so else "✘", class_="yes" if step.is_so else "no", role="img",
                  aria_label="works" if step.is_so else "does not work"), " ", el("strong", step.what)]), step.told)
        for step in steps
    ]  # fmt: skip
    return team_document(
        "Sign-in test", person, "/sign-in-test", el("p", sentence),
        table(("Step", "Detail"), rows, "") if rows else NOTHING,
        el("h2", "Passwords"), _passwords(request),
        lead="Checks now whether single sign-on works, without signing anyone in.",
    )  # fmt: skip


def _passwords(request: TeamRequest) -> Html:
    person = request.person
    is_forbidden = forbids_passwords(request.connection, person.org)
    sentence = (
        "Passwords are switched off: people sign in, and accept invitations, only through the provider."
        if is_forbidden
        else "People can sign in with a password, and through the provider if one is set up."
    )
    if person.role != "owner":
        return el("p", sentence, " An owner can change that.")
    if request.context.oidc is None and not is_forbidden:
        return el("p", sentence, " To switch passwords off, set up an identity provider first.")
    label = "Allow passwords" if is_forbidden else "Switch passwords off"
    ask = "" if is_forbidden else "Switch passwords off? Everyone who signed in with a password is signed out."
    form = button("/sign-in-test/passwords", label, ("forbid", "" if is_forbidden else "1"), ask=ask)
    note = (
        "Switching passwords off ends every session that began with one. An owner must have signed in through the"
        f" provider in the last {RECENTLY.days} days. Keys and machines keep working. If the provider fails, run "
    )
    command = el("code", "backscroll server allow-passwords")
    return join([beside(sentence, form), el("p", note, command, " on the server.", class_="muted")])


def change_passwords(request: TeamRequest) -> Response:
    """Switch passwords off, or allow them."""
    by, provider = request.administrator(), request.context.oidc
    if request.form.get("forbid"):
        forbid_passwords(request.connection, by, provider.settings.issuer if provider else None)
    else:
        allow_passwords(request.connection, by)
    return see("/sign-in-test")
