"""The page about retention, erasures and legal holds."""

from starlette.responses import Response

from backscroll.errors import UsageError
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.terminal import plural
from backscroll.team.keeping.erasures import Erasure, ask_erasure, erasures
from backscroll.team.keeping.holds import Hold, holds, holds_on, place_hold, release_hold
from backscroll.team.pages.parts import button, field, moment_text, table, team_document
from backscroll.team.pages.requests import TeamRequest, not_found, see
from backscroll.team.pages.retention_page import retention_html
from backscroll.team.people.accounts import Person, people, person_of

HERE = "/retention"


def show(request: TeamRequest) -> Html:
    """Show retention; below it the ledger of erasures and the holds, for those who may see them.

    Administrators request erasures; owners and auditors place holds.
    """
    person = request.person
    if not person.sees_erasures:
        return team_document("Retention", person, HERE, retention_html(request))
    everyone = people(request.connection, person.org)
    return team_document(
        "Retention and erasures",
        person,
        HERE,
        retention_html(request),
        el("h2", "Erasures"),
        el(
            "p",
            "Erasing a person removes their chats, search index, objects, shares, keys and sessions, and rewrites the"
            " database files. Only the entry here and the audit log remain.",
        ),
        table(
            ("Person", "Requested by", "Requested", "Reason", "Done"),
            (_erasure_row(entry) for entry in erasures(request.connection, person.org)),
            "No one has been erased.",
        ),
        _choice(person, everyone) if person.is_administrator else NOTHING,
        el("h2", "Legal holds", id="holds"),
        el("p", "Chats under a legal hold cannot be erased and do not expire."),
        table(
            ("What", "Reason", "Placed by", "Since", ""),
            (_hold_row(person, entry) for entry in holds(request.connection, person.org)),
            "There are no legal holds.",
        ),
        _hold_form(everyone) if person.is_auditor else NOTHING,
    )


def _erasure_row(erasure: Erasure) -> tuple[object, ...]:
    done = (
        el("span", moment_text(erasure.done), f" ({plural(erasure.objects, 'object')})")
        if erasure.done
        else "in progress"
    )
    return el("strong", erasure.handle), erasure.asked_by, moment_text(erasure.asked), erasure.reason or "–", done


def _hold_row(person: Person, hold: Hold) -> tuple[object, ...]:
    what = join([el("strong", hold.handle), ": ", el("code", hold.chat) if hold.chat else "all chats"])
    ask = f"Release the legal hold on {hold.handle}? What it covers can then be erased, and can expire."
    end = NOTHING
    if person.is_auditor:
        end = button(f"/holds/{hold.id}/release", "Release", ask=ask, about=f"{hold.handle}, {hold.reason}")
    return what, hold.reason, hold.placed_by, moment_text(hold.placed), end


def _options(people: list[Person]) -> list[Html]:
    return [el("option", f"{person.handle} ({person.name})", value=person.handle) for person in people]


def _choice(by: Person, people: list[Person]) -> Html:
    """Make the form that chooses a person to erase; the next page asks to confirm."""
    others = [person for person in people if person.id != by.id and (person.role != "owner" or by.role == "owner")]
    form = el(
        "form",
        el("label", el("span", "Person"), el("select", _options(others), name="handle"), class_="field"),
        el("button", "Erase…"),
        action="/erasures", class_="row-form",
    )  # fmt: skip
    return join([el("h3", "Erase someone"), form]) if others else NOTHING


def _hold_form(people: list[Person]) -> Html:
    return el(
        "form",
        el("label", el("span", "Person"), el("select", _options(people), name="handle"), class_="field"),
        field("Chat id (empty: all their chats)", "chat"),
        field("Reason", "reason", required=True, maxlength=300),
        el("button", "Place a hold"),
        method="post", action="/holds", class_="row-form",
    )  # fmt: skip


def confirm(request: TeamRequest) -> Html:
    """Show what erasing a person means, and a form that asks for their handle."""
    by = request.administrator()
    person = person_of(request.connection, by.org, request.get("handle"))
    held = holds_on(request.connection, person.id)
    if held:
        text = f"{person.handle} is under a legal hold and cannot be erased: {held[0].reason}"
        return team_document(
            f"Erase {person.handle}", by, HERE,
            el("p", text, class_="problem", role="alert"),
            el("p", "An owner or an auditor can release it under ", el("a", "Legal holds", href=f"{HERE}#holds"), "."),
        )  # fmt: skip
    counts = request.connection.execute(COUNTS, (person.id, person.id)).fetchone() or (0, 0)
    machines, chats = plural(counts[0], "machine"), plural(counts[1], "chat")
    form = el(
        "form",
        field(f"Type {person.handle} to confirm", "confirm", required=True, autocomplete="off", autocapitalize="none"),
        field("Reason (for the ledger)", "reason", maxlength=300),
        el("input", type="hidden", name="handle", value=person.handle),
        el("div", el("button", f"Erase {person.handle} for good", class_="danger"),
           el("a", "Cancel", href=HERE, class_="button"), class_="buttons"),
        method="post", action="/erasures", class_="row-form",
    )  # fmt: skip
    return team_document(
        f"Erase {person.handle}",
        by,
        HERE,
        el("p", f"{person.name} ({person.handle}) has {machines} and shares {chats}."),
        el("p", "Everything they sent is removed from the database, its indexes and the object store. They are signed"
           " out at once, and their machines can send no more. The copies on their own machines stay there."),
        el("p", el("strong", "This cannot be undone.")),
        form,
    )  # fmt: skip


def erase(request: TeamRequest) -> Response:
    """Request the erasure of a person."""
    by = request.administrator()
    handle = request.form.get("handle", "")
    if request.form.get("confirm", "").strip().lower() != handle:
        raise UsageError("the handle does not match: nothing was erased", f"type {handle} to confirm")
    ask_erasure(request.connection, by, handle, by.org, request.form.get("reason", ""))
    return see(HERE)


def hold(request: TeamRequest) -> Response:
    """Place a legal hold."""
    by = _auditor(request)
    form = request.form
    place_hold(request.connection, by, form.get("handle", ""), form.get("reason", ""), form.get("chat"))
    return see(HERE)


def release(request: TeamRequest) -> Response:
    """Release a legal hold."""
    release_hold(request.connection, _auditor(request), request.number("hold"))
    return see(HERE)


def _auditor(request: TeamRequest) -> Person:
    return request.person if request.person.is_auditor else not_found()


COUNTS = (
    "select (select count(*) from device where person = %s and revoked is null),"
    " (select count(*) from share where owner = %s and revoked is null)"
)
