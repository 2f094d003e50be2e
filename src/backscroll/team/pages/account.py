"""The account of the person who asks: their password, keys for programs, and signing out."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.team.context import TeamRequest, not_found, see
from backscroll.team.doorkeeper import MCP
from backscroll.team.pages.parts import beside, button, field, moment_text, secret_box, table, team_document, with_copy
from backscroll.team.pages.password_form import password_form
from backscroll.team.pages.recovery_page import notices
from backscroll.team.pages.sign_in_pages import guesses_of
from backscroll.team.passwords import change_password
from backscroll.team.people import invite_again
from backscroll.team.rates import PER_MINUTE
from backscroll.team.secrets import LONGEST_PASSWORD, SHORTEST_PASSWORD, is_long_enough
from backscroll.team.sessions import ApiKey, keys_of, new_key, revoke_key
from backscroll.team.spend import agree_to_be_named, agreed_to_be_named, shows_small_sums

SCOPES = {"mcp": "agents, over MCP", "read": "programs, over the HTTP API", "metrics": "metrics, for Prometheus"}


NOTHING_WRONG: Final[Mapping[str, str]] = MappingProxyType({})


def show(request: TeamRequest, notice: Html = NOTHING, wrong: Mapping[str, str] = NOTHING_WRONG) -> Html:
    """Who you are here, your password and your keys. `wrong` is about the form for the password."""
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
        _named(request),
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
    """Change the password of the person who asks; guesses at the current one count as failed sign-ins."""
    person = request.person
    current, new, again = (request.form.get(name, "") for name in ("current", "new", "again"))
    if not is_long_enough(new):
        return show(request, wrong={"new": f"A password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters."})
    if new != again:
        return show(request, wrong={"again": "The new passwords are not the same."})
    guesses = guesses_of(request, person.handle)
    guesses.check()
    session = request.http.cookies.get(request.context.cookie, "")
    if change_password(request.connection, person, current, new, session):
        return see("/account?password=changed")
    guesses.note_failure()
    return show(request, wrong={"current": "This is not your current password."})


def _named(request: TeamRequest) -> Html:
    """Whether the person is listed by name in Team spend, and the button that changes it."""
    if request.person.handle in agreed_to_be_named(request.connection, request.person.org):
        told = "Leads of your teams, administrators and auditors see by name what you spend."
        return beside(told, button("/account/spend", "Stop showing it", ("agreed", "")))
    if shows_small_sums(request.connection, request.person.org):
        told = "Your organisation decided that leads, administrators and auditors see what each person spends."
        return el("p", told)
    told = (
        "Leads of your teams, administrators and auditors see sums of several people. If you agree, they also see by"
        " name what you spend, to compare it with others. You can take that back at any time."
    )
    return beside(told, button("/account/spend", "Show what I spend by name", ("agreed", "1")))


def change_named(request: TeamRequest) -> Response:
    """Agree to be listed by name in Team spend, or take that back."""
    agree_to_be_named(request.connection, request.person, agreed=request.form.get("agreed") == "1")
    return see("/account")


def _provider(request: TeamRequest) -> Html:
    """How the person signs in through the provider from now on, unless they do already."""
    row = request.connection.execute("select subject from person where id = %s", (request.person.id,)).fetchone()
    if request.context.oidc is None:
        return NOTHING
    if row and row[0] is not None:
        return el("p", "You can sign in through your organisation.", class_="muted")
    return button("/account/provider", "Connect with your organisation's sign-in")


def connect_provider(request: TeamRequest) -> Response:
    """Send the person to the provider; who they are there is who they are here from then on."""
    person = request.person
    if request.context.oidc is None:
        not_found()
    secret = invite_again(request.connection, person, person.handle)
    return see(f"/oidc/start?{urlencode({'link': secret, 'next': '/account'})}")


def mcp_line(request: TeamRequest, key: str) -> str:
    """The command that connects Claude Code to this server."""
    where = f"{request.context.url}{MCP}"
    return f'claude mcp add --transport http backscroll-team {where} --header "Authorization: Bearer {key}"'


def _row(key: ApiKey) -> tuple[object, ...]:
    ask = f"Revoke the key “{key.name}”? Programs that use it stop working at once."
    end = button(f"/account/keys/{key.id}/revoke", "Revoke", ask=ask, about=key.name)
    scopes = ", ".join(SCOPES.get(scope, scope) for scope in key.scopes)
    return el("strong", key.name), scopes, moment_text(key.created), moment_text(key.used), end


def make_key(request: TeamRequest) -> Html:
    """Make a key; shows it, once."""
    scope = request.form.get("scope", "read")
    person = request.administrator() if scope == "metrics" else request.person
    secret = new_key(request.connection, person, request.form.get("name", ""), [scope])
    told = "Copy it now: it will not be shown again."
    if scope == "mcp":
        return show(request, secret_box("Run this on the machine with Claude Code:", mcp_line(request, secret), told))
    return show(request, secret_box("Your new key:", secret, told))


def end_key(request: TeamRequest) -> Response:
    """Revoke a key."""
    revoke_key(request.connection, request.person, request.number("key"))
    return see("/account")
