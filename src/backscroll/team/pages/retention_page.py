"""Retention rules and expiring chats: a part of the page about retention and erasures."""

from contextlib import suppress

from starlette.responses import Response

from backscroll.errors import NothingFound, UsageError
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.terminal import plural
from backscroll.team.keeping.retention import (
    ExpiringChat,
    RetentionRule,
    expiring_in,
    expiring_of,
    remove_rule,
    rules_of,
    set_rule,
)
from backscroll.team.pages.parts import button, field, moment_text, table
from backscroll.team.pages.requests import TeamRequest, see
from backscroll.team.people.accounts import Person
from backscroll.web.addresses import chat_address
from backscroll.web.pages.chat_rows import title_of
from backscroll.web.state import VIEWER, ViewerState

HERE = "/retention"
DAYS_AHEAD = 30


def retention_html(request: TeamRequest) -> Html:
    """Show the rules, and the chats that expire next: by person for administrators, and own chats for everyone."""
    person, connection = request.person, request.connection
    rules = rules_of(connection, person.org)
    own = expiring_of(connection, person)
    parts = [
        el("h2", "How long chats are kept"),
        table(
            ("Project", "Kept for", "Set by", "Since", ""),
            (_rule_row(person, each) for each in rules),
            "There are no rules: chats are kept until their owner removes them.",
        ),
        _form() if person.is_administrator else NOTHING,
    ]
    if person.is_administrator:
        rows = ((el("strong", each.handle), each.chats, moment_text(each.first))
                for each in expiring_in(connection, person.org, DAYS_AHEAD))  # fmt: skip
        parts += [
            el("h2", f"Expiring within {DAYS_AHEAD} days"),
            table(("Person", "Chats", "First"), rows, f"No chat expires within {DAYS_AHEAD} days.",
                  numbers=("Chats",)),
        ]  # fmt: skip
    if own:
        titles = _titles(request, own)
        rows_of_own = ((_chat_link(each, titles.get(each.chat, "")), _end(each)) for each in own)
        parts += [el("h2", "Your chats that expire next"), table(("Chat", "Expires"), rows_of_own, "")]
    return join(parts)


def _rule_row(person: Person, rule: RetentionRule) -> tuple[object, ...]:
    what = el("code", rule.project) if rule.project else el("strong", "all others")
    ask = "Remove this rule? The chats that it covers are then kept, unless another rule matches."
    end = NOTHING
    if person.is_administrator:
        end = button(f"/retention/{rule.id}/remove", "Remove", ask=ask, about=rule.project or "all others")
    return what, plural(rule.days, "day"), rule.made_by, moment_text(rule.made), end


def _form() -> Html:
    return el(
        "form",
        field("Project (empty: all others)", "project", placeholder="shop, or /home/dev/shop"),
        field("Days after the last activity", "days", type="number", min=1, max=36500, required=True),
        el("button", "Save the rule"),
        el("p", "Expired chats are removed from the server for good, within a day. Machines keep their copies.",
           class_="muted"),
        method="post", action="/retention", class_="row-form",
        data_ask="Save this rule? Chats that it makes expire are removed from the server for good, within a day.",
    )  # fmt: skip


def _titles(request: TeamRequest, own: list[ExpiringChat]) -> dict[str, str]:
    viewer: ViewerState | None = request.http.scope.get(VIEWER)
    if viewer is None:
        return {}
    titles = {}
    with viewer.library() as library:
        for chat in own:
            with suppress(NothingFound):  # its job is not done yet
                titles[chat.chat] = title_of(library.find(chat.chat).overview)
    return titles


def _chat_link(chat: ExpiringChat, title: str) -> Html:
    return el("a", title or chat.chat, href=chat_address(chat.chat))


def _end(chat: ExpiringChat) -> Html:
    return el("span", moment_text(chat.at), " (under a legal hold)") if chat.is_held else moment_text(chat.at)


def set_days(request: TeamRequest) -> Response:
    """Make or change a rule."""
    by = request.administrator()
    days = request.form.get("days", "").strip()
    if not days.isdecimal() or len(days) > 6:
        raise UsageError(f"{days or 'nothing'} is not a number of days", "give a whole number, such as 90")
    set_rule(request.connection, by, request.form.get("project", ""), int(days))
    return see(HERE)


def remove(request: TeamRequest) -> Response:
    """Remove a retention rule."""
    remove_rule(request.connection, request.administrator(), request.number("rule"))
    return see(HERE)
