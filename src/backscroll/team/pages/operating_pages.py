"""Pages for administrators who run the server: jobs, storage, and a test of single sign-on."""

from starlette.responses import Response

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.team.context import TeamRequest, not_found, see
from backscroll.team.pages.parts import button, moment_text, table, team_document
from backscroll.team.sign_in_test import SignInStep, try_sign_in

UNITS = ("B", "KB", "MB", "GB", "TB")
JOBS = """
select j.id, j.kind, j.about, j.created, j.due, j.tries, split_part(j.problem, ':', 1) from job j
join person p on p.handle = split_part(j.about, '/', 1) where p.org = %s order by j.due limit 200
"""
STORAGE = """
select p.handle, count(d.id) filter (where d.revoked is null), coalesce(sum(d.sent_bytes), 0), max(d.seen)
from person p left join device d on d.person = p.id where p.org = %s group by p.handle
order by coalesce(sum(d.sent_bytes), 0) desc, p.handle
"""


def jobs(request: TeamRequest) -> Html:
    """What the workers have to do, and what failed."""
    person = request.administrator()
    rows = [
        (kind, about, moment_text(created), tries, moment_text(due), problem or el("span", "–", class_="muted"),
         button(f"/jobs/{number}/now", "Try now") if problem else NOTHING)
        for number, kind, about, created, due, tries, problem in request.connection.execute(JOBS, (person.org,))
    ]  # fmt: skip
    return team_document(
        "Jobs", person, "/jobs",
        table(("Job", "About", "Since", "Tries", "Next try", "Problem", ""), rows,
              "Nothing waits: everything that was sent is in the libraries."),
        lead="What workers do with what machines sent. A job that fails is tried again, less and less often. It"
        " says whose it is, never what is in it; the worker's log has the rest.",
    )  # fmt: skip


def try_now(request: TeamRequest) -> Response:
    """Have a job tried at once."""
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
    """How much everyone has sent, and how large the database is."""
    person = request.administrator()
    found = request.connection.execute(STORAGE, (person.org,)).fetchall()
    total = sum(int(sent) for _, _, sent, _ in found)
    (database,) = request.connection.execute("select pg_database_size(current_database())").fetchone() or (0,)
    facts = el("p", el("strong", size_text(total)), " were sent by everyone; the database takes ",
               el("strong", size_text(int(database))), ".")  # fmt: skip
    rows = [
        (el("strong", handle), f"{machines:,}", size_text(int(sent)),
         f"{100 * int(sent) / total:.0f} %" if total else "–", moment_text(seen))
        for handle, machines, sent, seen in found
    ]  # fmt: skip
    return team_document(
        "Storage", person, "/storage", facts,
        table(("Person", "Machines", "Sent", "Share", "Last sent"), rows, "Nobody has sent anything."),
        lead="What machines have sent, packed, as it is counted for their credit. The database is made of it and can be"
        " made again.",
    )  # fmt: skip


def sign_in_test(request: TeamRequest) -> Html:
    """Whether single sign-on can work with the settings that there are."""
    person = request.administrator()
    provider = request.context.oidc
    if provider is None:
        steps: list[SignInStep] = []
        told = "No identity provider is set. Start the server with --oidc-issuer and --oidc-client."
    else:
        steps = try_sign_in(provider)
        told = f"Register this redirect address at the provider: {request.context.url}/oidc/callback"
    rows = [
        (el("span", "✔" if one.is_so else "✘", class_="yes" if one.is_so else "no",
            aria_label="works" if one.is_so else "does not work"), one.what, one.told)
        for one in steps
    ]  # fmt: skip
    return team_document(
        "Sign-in test", person, "/sign-in-test", el("p", told),
        table(("", "Step", "Detail"), rows, "") if rows else NOTHING,
        lead="Looks at the provider now, as a sign-in would, and signs nobody in.",
    )  # fmt: skip


def size_text(count: int) -> str:
    """Bytes as people read them."""
    size, unit = float(count), 0
    while size >= 1000 and unit < len(UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:,.0f} {UNITS[unit]}" if unit == 0 or size >= 10 else f"{size:.1f} {UNITS[unit]}"
