"""The account of the person who asks: keys for programs, and signing out."""

from starlette.responses import Response

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.team.context import TeamRequest, see
from backscroll.team.pages.parts import button, field, moment_text, secret_box, table, team_document
from backscroll.team.sessions import ApiKey, keys_of, new_key, revoke_key


def show(request: TeamRequest, notice: Html = NOTHING) -> Html:
    """Who you are here, and your keys."""
    person = request.person
    keys = keys_of(request.connection, person)
    scopes = ("read", "metrics") if person.is_administrator else ("read",)
    choice = el("select", [el("option", scope, value=scope) for scope in scopes], name="scope")
    form = el(
        "form",
        field("What it is for", "name", required=True, placeholder="a script of mine"),
        el("label", el("span", "Scope"), choice, class_="field"),
        el("button", "Make a key", class_="primary"),
        method="post", action="/account/keys", class_="row-form",
    )  # fmt: skip
    return team_document(
        "Account",
        person,
        "/account",
        notice,
        el("p", f"You are {person.name} ({person.handle}), {person.role} of {person.org_name}. ",
           button("/sign-out", "Sign out")),
        el("h2", "Keys"),
        el("p", "A key lets a program read, through the HTTP API, what you may read. It changes nothing."),
        table(("Key", "Scopes", "Made", "Last used", ""), (_row(key) for key in keys), "You have no key."),
        form,
    )  # fmt: skip


def _row(key: ApiKey) -> tuple[object, ...]:
    end = button(f"/account/keys/{key.id}/revoke", "Revoke")
    return key.name, ", ".join(key.scopes), moment_text(key.created), moment_text(key.used), end


def make_key(request: TeamRequest) -> Html:
    """Make a key; shows it, once."""
    scope = request.form.get("scope", "read")
    person = request.administrator() if scope == "metrics" else request.person
    secret = new_key(request.connection, person, request.form.get("name", ""), [scope])
    return show(request, secret_box("Your new key:", secret, "Copy it now: it is not shown again."))


def end_key(request: TeamRequest) -> Response:
    """Revoke a key."""
    revoke_key(request.connection, request.person, request.number("key"))
    return see("/account")
