"""The page about people and teams."""

from starlette.responses import Response

from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.team.pages.parts import button, field, moment_text, secret_box, table, team_document
from backscroll.team.pages.requests import TeamRequest, see
from backscroll.team.people.accounts import (
    HANDLE,
    LONGEST_NAME,
    Person,
    disable,
    not_joined,
    people,
    person_of,
    rename_org,
)
from backscroll.team.people.invitations import invite, invite_again
from backscroll.team.people.recoveries import OWNER_FOR, Recovery, approve, is_in_use, waiting_in, why_not_approve
from backscroll.team.people.roles import change_role, owners, roles_to_give
from backscroll.team.people.teams import Team, leads_of, new_team, set_leads, set_members, teams


def show(request: TeamRequest, notice: Html = NOTHING) -> Html:
    """Show everyone of the organisation; administrators can change people and teams."""
    person = request.person
    everyone = people(request.connection, person.org)
    groups = teams(request.connection, person.org)
    recoveries = waiting_in(request.connection, person.org) if person.is_administrator else []
    names = {each.id: each.name for each in groups}
    leads = leads_of(request.connection, person.org)
    waiting = not_joined(request.connection, person.org)
    owner_handles = owners(request.connection, person.org)
    rows = [
        (
            el("strong", each.handle), each.name,
            _role(person, each, is_only_owner=owner_handles == {each.handle}),
            ", ".join(names[team] for team in each.teams if team in names),
            _status(each, is_waiting=each.handle in waiting),
            _actions(person, each),
        )
        for each in everyone
    ]  # fmt: skip
    return team_document(
        "People and teams",
        person,
        "/people",
        notice,
        _recoveries(request, recoveries),
        table(("Handle", "Name", "Role", "Teams", "Status", ""), rows, ""),
        _invitation(person) if person.is_administrator else NOTHING,
        el("h2", "Teams"),
        table(
            ("Team", "" if person.is_administrator else "Members"),
            ((el("strong", each.name), _members(person, each, everyone, leads.get(each.id, set()))) for each in groups),
            "There are no teams yet. People share chats with teams, and Team spend sums by team.",
        ),
        _new_team() if person.is_administrator else NOTHING,
        _organisation(person) if person.is_administrator else NOTHING,
        lead=f"{person.org_name}: everyone on this server. No role gives the right to read the chats of others: each"
        " person decides what to share. If someone cannot confirm a link to their own account, two who were owners for"
        f" {OWNER_FOR.days} days can open it together, or the operator of the server can: the person is told, and it"
        " is in the audit log.",
    )


def _recoveries(request: TeamRequest, waiting: list[Recovery]) -> Html:
    """List the accounts in use whose opened link has to be confirmed."""
    if not waiting:
        return NOTHING
    rows = [
        (el("strong", recovery.handle), recovery.made_by, moment_text(recovery.opened), _approval(request, recovery))
        for recovery in waiting
    ]
    return join([
        el("h2", "Waiting to be confirmed"),
        el("p", "A link was opened for these accounts, which were used before. They show nothing until the person"
                " confirms it, on Account or on a machine of theirs. Only if they cannot, a second owner approves."),
        table(("Account", "Link made by", "Opened", ""), rows, ""),
        el("h2", "Everyone"),
    ])  # fmt: skip


def _approval(request: TeamRequest, recovery: Recovery) -> Html:
    if reason := why_not_approve(request.connection, request.person, recovery):
        return el("span", reason, class_="muted")
    ask = (
        f"Approve it? From then on, the person who opened the link that {recovery.made_by} made can read every chat of"
        f" {recovery.handle}. Be sure that this is {recovery.handle}. They are told, and the audit log names you."
    )
    return button(f"/recoveries/{recovery.id}/approve", "Approve", ask=ask, about=recovery.handle)


def _role(by: Person, person: Person, *, is_only_owner: bool) -> str | Html:
    """Show the role of a person; for those who may change it, as a form."""
    choices = roles_to_give(by)
    if not by.is_administrator or person.role not in choices or is_only_owner:
        return person.role
    menu = [el("option", role, value=role, selected=role == person.role) for role in choices]
    who = "owner" if person.role == "owner" else "administrator"
    ask = f"Change your own role? You give up what an {who} may do, and only another {who} can give it back."
    return el(
        "form",
        el("select", menu, name="role", aria_label=f"Role of {person.handle}"),
        el("button", "Save", aria_label=f"Save the role of {person.handle}"),
        method="post", action=f"/people/{person.handle}/role", class_="role-form",
        data_ask=ask if by.id == person.id else None,
    )  # fmt: skip


def _status(person: Person, *, is_waiting: bool) -> str:
    if person.disabled:
        return "disabled"
    if is_waiting:
        return "invited, not joined yet"
    if person.role == "owner" and person.owner_since:
        return f"active, owner since {person.owner_since:%Y-%m-%d}"
    return "active"


def _actions(by: Person, person: Person) -> Html:
    if not by.is_administrator or by.id == person.id:
        return NOTHING
    again = button(f"/people/{person.handle}/invite", "New link", about=person.handle)
    label, undo, ask = "Enable", "1", ""
    if not person.disabled:
        label, undo = "Disable", ""
        ask = (
            f"Disable {person.handle}?"
            " They are signed out, their keys and machines stop working, and their shares are hidden."
        )
    end = button(f"/people/{person.handle}/disable", label, ("undo", undo), ask=ask, about=person.handle)
    return el("div", again, end, class_="buttons")


def _invitation(by: Person) -> Html:
    roles = el("select", [el("option", role, value=role) for role in roles_to_give(by)], name="role")
    form = el(
        "form",
        field("Handle", "handle", required=True, pattern=HANDLE.pattern, placeholder="ada", autocapitalize="none"),
        field("Name", "name", required=True, placeholder="Ada Lovelace"),
        el("label", el("span", "Role"), roles, class_="field"),
        el("button", "Invite", class_="primary"),
        method="post", action="/people", class_="row-form",
    )  # fmt: skip
    return join([el("h2", "Invite someone"), form])


def _members(by: Person, team: Team, everyone: list[Person], leads: set[str]) -> Html:
    if not by.is_administrator:
        names = (f"{handle} (lead)" if handle in leads else handle for handle in team.members)
        return el("span", ", ".join(names) or "–")
    boxes = [
        el("label", el("input", type="checkbox", name="member", value=person.handle,
                       checked=person.handle in team.members), f" {person.handle}")
        for person in everyone if person.disabled is None or person.handle in team.members
    ]  # fmt: skip
    choices = [
        el("label", el("input", type="checkbox", name="lead", value=handle, checked=handle in leads), f" {handle}")
        for handle in team.members
    ]  # fmt: skip
    lead = el("fieldset", el("legend", "Leads (they see what the team spends)"), choices, class_="boxes leads")
    return el(
        "form",
        el("fieldset", el("legend", "Members"), boxes, class_="boxes"),
        lead if team.members else NOTHING,
        el("input", type="hidden", name="has_leads", value="1"),
        el("button", f"Save {team.name}"),
        method="post",
        action=f"/teams/{team.id}",
        class_="team-form",
    )


def _new_team() -> Html:
    return el("form", field("Name of a new team", "name", required=True), el("button", "Add a team"), method="post",
              action="/teams", class_="row-form")  # fmt: skip


def _organisation(by: Person) -> Html:
    form = el(
        "form",
        field("Name of the organisation", "name", required=True, maxlength=LONGEST_NAME, value=by.org_name),
        el("button", "Rename"),
        method="post", action="/organisation", class_="row-form",
    )  # fmt: skip
    about = "Everyone sees this name here, and machines name it with the rules of the organisation."
    return join([el("h2", "Organisation"), el("p", about, class_="muted"), form])


def invite_person(request: TeamRequest) -> Html:
    """Invite a person, and show the link once."""
    by = request.administrator()
    handle = request.form.get("handle", "").strip().lower()
    secret = invite(request.connection, by, handle, request.form.get("name", ""), request.form.get("role", "member"))
    return show(request, _link(request, handle, secret))


def new_link(request: TeamRequest) -> Html:
    """Make a new link for a person, who then chooses a new password."""
    by = request.administrator()
    handle = str(request.http.path_params["handle"])
    return show(request, _link(request, handle, invite_again(request.connection, by, handle)))


def _link(request: TeamRequest, handle: str, secret: str) -> Html:
    link = f"{request.context.url}/welcome?link={secret}"
    note = "It works once, within 7 days, and will not be shown again."
    if is_in_use(request.connection, person_of(request.connection, request.person.org, handle).id):
        note += (
            f" The account of {handle} is in use: it shows nothing through this link until {handle} confirms it, on"
            " Account or on a machine of theirs. They are told that you made it."
        )
    return secret_box(f"Send {handle} this link:", link, note)


def approve_recovery(request: TeamRequest) -> Response:
    """Approve a recovery as a second owner, for a person who cannot confirm it."""
    approve(request.connection, request.administrator(), request.number("recovery"))
    return see("/people")


def disable_person(request: TeamRequest) -> Response:
    """Disable or enable a person."""
    by = request.administrator()
    disable(request.connection, by, str(request.http.path_params["handle"]), undo=bool(request.form.get("undo")))
    return see("/people")


def change_role_of(request: TeamRequest) -> Response:
    """Give a person another role."""
    by = request.administrator()
    change_role(request.connection, by, str(request.http.path_params["handle"]), request.form.get("role", ""))
    return see("/people")


def add_team(request: TeamRequest) -> Response:
    """Add a team."""
    new_team(request.connection, request.administrator(), request.form.get("name", ""))
    return see("/people")


def rename_organisation(request: TeamRequest) -> Response:
    """Give the organisation another name."""
    rename_org(request.connection, request.administrator(), request.form.get("name", ""))
    return see("/people")


def change_team(request: TeamRequest) -> Response:
    """Say who is in a team."""
    members = request.form_lists.get("member", [])
    by, team = request.administrator(), request.number("team")
    set_members(request.connection, by, team, members)
    if "lead" in request.form or "has_leads" in request.form:
        leads = {handle for handle in request.form_lists.get("lead", []) if handle in members}
        set_leads(request.connection, by, team, leads)
    return see("/people")
