"""The page about one's account: password, keys for programs, and signing out."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.team.pages.parts import beside, button, field, moment_text, secret_box, table, team_document, with_copy
from backscroll.team.pages.recovery_page import notices
from backscroll.team.pages.requests import TeamRequest, not_found, see
from backscroll.team.pages.sign_in_pages import failed_sign_ins_of
from backscroll.team.people.invitations import invite_again
from backscroll.team.people.passwords import change_password, password_of
from backscroll.team.people.rates import PER_MINUTE
from backscroll.team.people.secrets import LONGEST_PASSWORD, SHORTEST_PASSWORD, is_long_enough
from backscroll.team.people.sessions import ApiKey, keys_of, new_key, revoke_key
from backscroll.team.reading.remote_mcp import MCP
from backscroll.team.reading.spend import agree_to_be_named, agreed_to_be_named, shows_small_sums

SCOPES = {"mcp": "agents, over MCP", "read": "programs, over the HTTP API", "metrics": "metrics, for Prometheus"}


NOTHING_WRONG: Final[Mapping[str, str]] = MappingProxyType({})


def show(request: TeamRequest, notice: Html = NOTHING, wrong: Mapping[str, str] = NOTHING_WRONG) -> Html:
    """Show the account: role, password, keys. `wrong` has problems with the password form, by field."""
    person = request.person
    if request.get("password") == "changed":
        notice = el("p", "Your password was changed, and your other sessions have ended.", class_="notice",
                    role="status")  # fmt: skip
    keys = keys_of(request.connection, person)
    choice = el("select", [el("option", text, value=scope) for scope, text in SCOPES.items()
                           if scope != "metrics" or person.is_administrator], name="scope")  # fmt: skip
    form = el(
        "form",
        field("Name", "name", required=True, placeholder="Claude Code on my laptop"),
        el("label", el("span", "For"), choice, class_="field"),
        el("button", "Create a key", class_="primary"),
        method="post", action="/account/keys", class_="row-form",
    )  # fmt: skip
    line = mcp_line(request, "KEY")
    return team_document(
        "Account",
        person,
        "/account",
        notice,
        notices(request),
        beside(f"You are {person.name} ({person.handle}). Your role is {person.role}.",
               button("/sign-out", "Sign out")),
        _provider(request),
        el("h2", "Password"),
        password_form(request, wrong),
        el("h2", "What you spend"),
        _spend_choice(request),
        el("h2", "Keys"),
        el("p", "A key lets a program read your own chats and what others share with you. It cannot change anything,"
           " and works only for the purpose you choose here."),
        table(("Key", "For", "Created", "Last used", ""), (_row(key) for key in keys), "You have no keys yet."),
        form,
        el("h2", "Memory for Claude Code"),
        el("p", "With a key for agents, Claude Code recalls your history and what your team shares, on any machine:"),
        with_copy(el("pre", line, class_="command", tabindex=0), line),
        el("p", "When it quotes a colleague's chat, the colleague sees this under ", el("em", "Who read my chats"),
           f". A key allows {PER_MINUTE} requests a minute.", class_="muted"),
    )  # fmt: skip


def change_own_password(request: TeamRequest) -> Html | Response:
    """Change the password of the account; guesses at the current one count as failed sign-ins."""
    person = request.person
    current, new, again = (request.form.get(name, "") for name in ("current", "new", "again"))
    if not is_long_enough(new):
        return show(request, wrong={"new": f"A password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters."})
    if new != again:
        return show(request, wrong={"again": "The new passwords are not the same."})
    failures = failed_sign_ins_of(request, person.handle)
    failures.check()
    session = request.http.cookies.get(request.context.cookie, "")
    if change_password(request.connection, person, current, new, session):
        return see("/account?password=changed")
    failures.note_failure()
    return show(request, wrong={"current": "This is not your current password."})


def _spend_choice(request: TeamRequest) -> Html:
    """Say whether the person is listed by name in Team spend, with the button that changes it."""
    if request.person.handle in agreed_to_be_named(request.connection, request.person.org):
        sentence = "Leads of your teams, administrators and auditors see by name what you spend."
        return beside(sentence, button("/account/spend", "Stop showing it", ("agreed", "")))
    if shows_small_sums(request.connection, request.person.org):
        sentence = "Your organisation decided that leads, administrators and auditors see what each person spends."
        return el("p", sentence)
    sentence = (
        "Leads of your teams, administrators and auditors see sums of several people. If you agree, they also see by"
        " name what you spend, to compare it with others. You can take that back at any time."
    )
    return beside(sentence, button("/account/spend", "Show what I spend by name", ("agreed", "1")))


def change_named(request: TeamRequest) -> Response:
    """Agree to be listed by name in Team spend, or take that back."""
    agree_to_be_named(request.connection, request.person, agreed=request.form.get("agreed") == "1")
    return see("/account")


def _provider(request: TeamRequest) -> Html:
    """Make the button for connecting with the provider, unless the person has done so."""
    row = request.connection.execute("select subject from person where id = %s", (request.person.id,)).fetchone()
    if request.context.oidc is None:
        return NOTHING
    if row and row[0] is not None:
        return el("p", "You can sign in through your organisation.", class_="muted")
    return button("/account/provider", "Connect with your organisation's sign-in")


def connect_provider(request: TeamRequest) -> Response:
    """Send the person to the provider, to link their account there with this one."""
    person = request.person
    if request.context.oidc is None:
        not_found()
    secret = invite_again(request.connection, person, person.handle)
    return see(f"/oidc/start?{urlencode({'link': secret, 'next': '/account'})}")


def mcp_line(request: TeamRequest, key: str) -> str:
    """Return the command that connects Claude Code to this server."""
    where = f"{request.context.url}{MCP}"
    return f'claude mcp add --transport http backscroll-team {where} --header "Authorization: Bearer {key}"'


def _row(key: ApiKey) -> tuple[object, ...]:
    ask = f"Revoke the key “{key.name}”? Programs that use it stop working at once."
    end = button(f"/account/keys/{key.id}/revoke", "Revoke", ask=ask, about=key.name)
    scopes = ", ".join(SCOPES.get(scope, scope) for scope in key.scopes)
    return el("strong", key.name), scopes, moment_text(key.created), moment_text(key.used), end


def make_key(request: TeamRequest) -> Html:
    """Make a key, and show it once."""
    scope = request.form.get("scope", "read")
    person = request.administrator() if scope == "metrics" else request.person
    secret = new_key(request.connection, person, request.form.get("name", ""), [scope])
    note = "Copy it now: it will not be shown again."
    if scope == "mcp":
        return show(request, secret_box("Run this on the machine with Claude Code:", mcp_line(request, secret), note))
    return show(request, secret_box("Your new key:", secret, note))


def end_key(request: TeamRequest) -> Response:
    """Revoke a key of the person."""
    revoke_key(request.connection, request.person, request.number("key"))
    return see("/account")


def password_form(request: TeamRequest, wrong: Mapping[str, str]) -> Html:
    """Make the password form, or say how the person signs in without one. `wrong` has problems by field."""
    if why := password_of(request.connection, request.person).why_none:
        return el("p", why)
    return el(
        "form",
        el("p", "Your other sessions end when you change it. Keys and machines keep working."),
        el("input", name="username", value=request.person.handle, autocomplete="username", hidden=True),
        _field("Current password", "current", wrong, autocomplete="current-password"),
        _field(f"New password, {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters", "new", wrong,
               autocomplete="new-password", minlength=SHORTEST_PASSWORD),
        _field("New password again", "again", wrong, autocomplete="new-password"),
        el("button", "Change the password", class_="primary"),
        method="post", action="/account/password", class_="column-form",
    )  # fmt: skip


def _field(label: str, name: str, wrong: Mapping[str, str], **attributes: str | int) -> Html:
    problem = wrong.get(name, "")
    problem_html = el("p", problem, class_="problem", id=f"{name}-problem") if problem else NOTHING
    return el(
        "div",
        field(label, name, type="password", required=True, aria_invalid="true" if problem else None,
              aria_describedby=f"{name}-problem" if problem else None, autofocus=bool(problem), **attributes),
        problem_html,
    )  # fmt: skip
