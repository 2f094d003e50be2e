"""Retention and erasures: what is removed for good, by whom it was asked, and what must be kept."""

from starlette.responses import Response

from backscroll.errors import UsageError
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.terminal import plural
from backscroll.team.context import TeamRequest, not_found, see
from backscroll.team.erasures import Erasure, ask_erasure, erasures
from backscroll.team.holds import Hold, holds, holds_on, place_hold, release_hold
from backscroll.team.pages.parts import button, field, moment_text, table, team_document
from backscroll.team.pages.retention_page import retention_html
from backscroll.team.people import Person, people, person_of

HERE = "/retention"


def show(request: TeamRequest) -> Html:
    """How long chats are kept; below it the ledger of erasures and the holds, for those who may see them.

    Administrators ask for erasures; owners and auditors place holds.
    """
    person = request.person
    if not person.sees_erasures:
        return team_document("Retention", person, HERE, retention_html(request))
    found = people(request.connection, person.org)
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
            (_erasure_row(one) for one in erasures(request.connection, person.org)),
            "No one has been erased.",
        ),
        _choice(person, found) if person.is_administrator else NOTHING,
        el("h2", "Legal holds", id="holds"),
        el("p", "Chats under a legal hold cannot be erased and do not expire."),
        table(
            ("What", "Reason", "Placed by", "Since", ""),
            (_hold_row(person, one) for one in holds(request.connection, person.org)),
            "There are no legal holds.",
        ),
        _hold_form(found) if person.is_auditor else NOTHING,
    )


def _erasure_row(one: Erasure) -> tuple[object, ...]:
    done = el("span", moment_text(one.done), f" ({plural(one.objects, 'object')})") if one.done else "in progress"
    return el("strong", one.handle), one.asked_by, moment_text(one.asked), one.reason or "–", done


def _hold_row(person: Person, one: Hold) -> tuple[object, ...]:
    what = join([el("strong", one.handle), ": ", el("code", one.chat) if one.chat else "all chats"])
    ask = f"Release the legal hold on {one.handle}? What it covers can then be erased, and can expire."
    end = NOTHING
    if person.is_auditor:
        end = button(f"/holds/{one.id}/release", "Release", ask=ask, about=f"{one.handle}, {one.reason}")
    return what, one.reason, one.placed_by, moment_text(one.placed), end


def _options(found: list[Person]) -> list[Html]:
    return [el("option", f"{one.handle} ({one.name})", value=one.handle) for one in found]


def _choice(by: Person, found: list[Person]) -> Html:
    """Whom to erase; the next page asks to confirm."""
    others = [one for one in found if one.id != by.id and (one.role != "owner" or by.role == "owner")]
    form = el(
        "form",
        el("label", el("span", "Person"), el("select", _options(others), name="handle"), class_="field"),
        el("button", "Erase…"),
        action="/erasures", class_="row-form",
    )  # fmt: skip
    return join([el("h3", "Erase someone"), form]) if others else NOTHING


def _hold_form(found: list[Person]) -> Html:
    return el(
        "form",
        el("label", el("span", "Person"), el("select", _options(found), name="handle"), class_="field"),
        field("Chat id (empty: all their chats)", "chat"),
        field("Reason", "reason", required=True, maxlength=300),
        el("button", "Place a hold"),
        method="post", action="/holds", class_="row-form",
    )  # fmt: skip


def confirm(request: TeamRequest) -> Html:
    """What erasing someone means, and a form that asks for their handle."""
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
    """Have someone erased."""
    by = request.administrator()
    handle = request.form.get("handle", "")
    if request.form.get("confirm", "").strip().lower() != handle:
        raise UsageError("the handle does not match: nothing was erased", f"type {handle} to confirm")
    ask_erasure(request.connection, by, handle, by.org, request.form.get("reason", ""))
    return see(HERE)


def hold(request: TeamRequest) -> Response:
    """Place a hold."""
    by = _auditor(request)
    form = request.form
    place_hold(request.connection, by, form.get("handle", ""), form.get("reason", ""), form.get("chat"))
    return see(HERE)


def release(request: TeamRequest) -> Response:
    """Release a hold."""
    release_hold(request.connection, _auditor(request), request.number("hold"))
    return see(HERE)


def _auditor(request: TeamRequest) -> Person:
    return request.person if request.person.is_auditor else not_found()


COUNTS = (
    "select (select count(*) from device where person = %s and revoked is null),"
    " (select count(*) from share where owner = %s and revoked is null)"
)
