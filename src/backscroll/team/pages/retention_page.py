"""How long chats are kept, and which go next: a part of the page about retention and erasures."""

from starlette.responses import Response

from backscroll.errors import UsageError
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.team.context import TeamRequest, see
from backscroll.team.pages.parts import button, field, moment_text, table
from backscroll.team.people import Person
from backscroll.team.retention import (
    ExpiringChat,
    RetentionRule,
    expiring_in,
    expiring_of,
    remove_rule,
    rules_of,
    set_rule,
)
from backscroll.web.addresses import chat_address

HERE = "/retention"
DAYS_AHEAD = 30


def retention_html(request: TeamRequest) -> Html:
    """The rules, and what goes next: for administrators by person, for everyone their own chats."""
    person, connection = request.person, request.connection
    rules = rules_of(connection, person.org)
    own = expiring_of(connection, person)
    parts = [
        el("h2", "How long chats are kept"),
        table(
            ("Project", "Kept for", "Set by", "Since", ""),
            (_rule_row(person, one) for one in rules),
            "No rule: chats are kept until their person removes them.",
        ),
        _form() if person.is_administrator else NOTHING,
    ]
    if person.is_administrator:
        rows = ((el("strong", one.handle), one.chats, moment_text(one.first))
                for one in expiring_in(connection, person.org, DAYS_AHEAD))  # fmt: skip
        heads = ("Person", f"Chats within {DAYS_AHEAD} days", "The first")
        parts += [el("h2", "What goes next"), table(heads, rows, "Nothing expires soon.")]
    if own:
        rows_of_own = ((_chat_link(one), _end(one)) for one in own)
        parts += [el("h2", "Your chats that go next"), table(("Chat", "Removed after"), rows_of_own, "")]
    return join(parts)


def _rule_row(person: Person, one: RetentionRule) -> tuple[object, ...]:
    what = el("code", one.project) if one.project else "everything else"
    end = button(f"/retention/{one.id}/remove", "Remove") if person.is_administrator else NOTHING
    return what, f"{one.days} days", one.made_by, moment_text(one.made), end


def _form() -> Html:
    return el(
        "form",
        field("Project (a folder or its name; empty: everything else)", "project", placeholder="shop"),
        field("Days after the last activity", "days", type="number", min=1, max=36500, required=True),
        el("button", "Save the rule"),
        el("p", "Chats whose time is up are removed from the server for good, within a day. Their machines keep them.",
           class_="muted"),
        method="post", action="/retention", class_="row-form",
    )  # fmt: skip


def _chat_link(one: ExpiringChat) -> Html:
    return el("a", one.chat, href=chat_address(one.chat))


def _end(one: ExpiringChat) -> Html:
    return el("span", moment_text(one.at), " (under a legal hold)") if one.is_held else moment_text(one.at)


def set_days(request: TeamRequest) -> Response:
    """Make or change a rule."""
    by = request.administrator()
    days = request.form.get("days", "").strip()
    if not days.isdecimal() or len(days) > 6:
        raise UsageError(f"{days or 'nothing'} is not a number of days", "give a number")
    set_rule(request.connection, by, request.form.get("project", ""), int(days))
    return see(HERE)


def remove(request: TeamRequest) -> Response:
    """Remove a rule."""
    remove_rule(request.connection, request.administrator(), request.number("rule"))
    return see(HERE)
