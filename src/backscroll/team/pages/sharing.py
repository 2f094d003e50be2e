"""Sharing: who can read a chat, what others share, and who read mine."""

import re

from starlette.responses import Response

from backscroll.conversation.overview import Overview
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.terminal import plural
from backscroll.team.context import OWNER, TeamRequest, not_found, see
from backscroll.team.pages.links_page import links_section
from backscroll.team.pages.parts import button, moment_text, secret_box, table, team_document
from backscroll.team.people import Person, Team, teams
from backscroll.team.share_links import new_link
from backscroll.team.shares import Share, include_members, readers_of, revoke_share, share, shared_with, shares_of
from backscroll.web.addresses import chat_address, search_address
from backscroll.web.pages.chat_rows import title_of
from backscroll.web.state import VIEWER, ViewerState

NAMED = 5
"""So many members of a team are named where one chooses it."""


def audience(request: TeamRequest) -> Html | Response:
    """Who can read a chat of the person who asks; for a chat of another there is no such page."""
    person = request.person
    name = str(request.http.path_params["chat"])
    viewer: ViewerState | None = request.http.scope.get(VIEWER)
    if viewer is None or OWNER in request.http.scope:
        not_found()
    with viewer.library() as library:
        chat = library.find(name).overview
    mine = _own_teams(request)
    if request.http.method == "POST":
        wanted = request.form.get("audience", "")
        team = next((one.id for one in mine if wanted == f"team-{one.id}"), None)
        if wanted != "org" and team is None:
            not_found()
        share(request.connection, person, chat.id, chat.title, team=team, days=_days(request))
        return see(f"{chat_address(chat.id)}/audience")
    return audience_page(request, chat)


def _days(request: TeamRequest) -> int | None:
    """The number of days in a form; None if the field is empty, and 0, which is refused, if it holds no such number."""
    text = request.form.get("days", "")
    return (int(text) if re.fullmatch("[0-9]{1,5}", text) else 0) if text else None


def make_link(request: TeamRequest) -> Html:
    """Make a link for people outside to a chat of the person who asks; shows it, once."""
    viewer: ViewerState | None = request.http.scope.get(VIEWER)
    if viewer is None or OWNER in request.http.scope:
        not_found()
    with viewer.library() as library:
        chat = library.find(str(request.http.path_params["chat"])).overview
    days = _days(request) or 0
    link = (
        f"{request.context.url}/shared-link/{new_link(request.connection, request.person, chat.id, chat.title, days)}"
    )
    told = f"It works for {plural(days, 'day')} and will not be shown again. Anyone who has it can read the chat."
    return audience_page(request, chat, secret_box("Send this link:", link, told))


def _own_teams(request: TeamRequest) -> list[Team]:
    return [one for one in teams(request.connection, request.person.org) if one.id in request.person.teams]


def audience_page(request: TeamRequest, chat: Overview, notice: Html = NOTHING) -> Html:
    """Who can read a chat, in the organisation and outside."""
    person, mine = request.person, _own_teams(request)
    found = shares_of(request.connection, person, chat.id)
    choices = [
        *(el("option", _team_choice(person, one), value=f"team-{one.id}") for one in mine),
        el("option", "everyone", value="org"),
    ]
    form = el(
        "form",
        el("label", el("span", "Share with"), el("select", choices, name="audience"), class_="field"),
        el("label", el("span", "Days (empty: until you revoke it)"),
           el("input", name="days", type="number", min=1, max=3650), class_="field"),
        el("button", "Share", class_="primary"),
        el("p", "A team reads it as the team is now: those who join later do not, until you include them.",
           class_="muted") if mine else NOTHING,
        el("p", "To change until when it is shared, share it with the same people again.", class_="muted")
        if found else NOTHING,
        method="post", class_="row-form",
    )  # fmt: skip
    rows = ((_shared_with(one), moment_text(one.created), _until(one), _end(one)) for one in found)
    return team_document(
        "Who can read this chat",
        person,
        "/shared",
        el("p", el("a", title_of(chat), href=chat_address(chat.id))),
        notice,
        table(("Shared with", "Since", "Until", ""), rows, "Only you can read it."),
        form,
        links_section(request, person, chat.id),
        lead="A chat is private until you share it. Readers see all of it, including what is added later, as it left"
        " your machine: with secrets masked, unless you chose otherwise.",
    )


def include(request: TeamRequest) -> Response:
    """Share a chat with those, too, who have joined its team since."""
    chat = include_members(request.connection, request.person, request.number("share"))
    return see(f"{chat_address(chat)}/audience")


def revoke(request: TeamRequest) -> Response:
    """Share a chat no more."""
    chat = revoke_share(request.connection, request.person, request.number("share"))
    return see(f"{chat_address(chat)}/audience")


def shared(request: TeamRequest) -> Html | Response:
    """What others share with the person who asks; a search in it is one without their own chats."""
    if text := request.get("q").strip():
        return see(search_address(f"{text} -owner:me"))
    person = request.person
    found = shared_with(request.connection, person)
    mine = shares_of(request.connection, person)
    listed = ((_link(one), one.owner, _whom(one), moment_text(one.created)) for one in found)
    own = ((_link(one), _shared_with(one), _until(one), _end(one)) for one in mine)
    return team_document(
        "Shared chats",
        person,
        "/shared",
        _box(),
        el("h2", "Shared with you"),
        table(
            ("Chat", "Owner", "Shared with", "Since"),
            listed,
            "No chats are shared with you yet. Once one is, it is listed here, and searches find it.",
            "titled",
        ),
        el("h2", "Shared by you"),
        table(
            ("Chat", "Shared with", "Until", ""),
            own,
            "You share no chats. To share one, open it and choose Who can read it.",
            "titled",
        ),
    )


def _box() -> Html:
    field = el("input", type="search", name="q", placeholder="Search what others share",
               aria_label="Search what others share", autocomplete="off")  # fmt: skip
    return el("form", field, el("button", "Search"), action="/shared", role="search", class_="big-search")


def readers(request: TeamRequest) -> Html:
    """Who read the chats of the person who asks."""
    rows = (
        (el("a", one.title or one.chat, href=chat_address(one.chat)), one.reader, moment_text(one.first),
         moment_text(one.last), one.requests)
        for one in readers_of(request.connection, request.person)
    )  # fmt: skip
    return team_document(
        "Who read my chats",
        request.person,
        "/readers",
        table(
            ("Chat", "Reader", "First opened", "Last opened", "Requests"),
            rows,
            "No one else has opened your chats. This page lists who reads what you share.",
            "titled",
            numbers=("Requests",),
        ),
        lead="One row for each day on which another person, or their agent, read a chat that you share.",
    )


def _link(one: Share) -> Html:
    return el("a", one.title or one.chat, href=chat_address(one.chat))


def _team_choice(person: Person, one: Team) -> str:
    others = [handle for handle in one.members if handle != person.handle]
    named = ", ".join(others) if len(others) <= NAMED else f"{len(others)} others"
    return f"the team {one.name} ({named or 'only you'})"


def _shared_with(one: Share) -> Html:
    """With whom, and who has joined the team since."""
    if not one.without:
        return el("span", _whom(one))
    include = button(f"/shares/{one.id}/include", "Include them", about=f"{one.title or one.chat}, {_whom(one)}")
    return el("span", _whom(one), el("span", f", without {', '.join(one.without)} ", class_="muted"), include)


def _whom(one: Share) -> str:
    return "everyone" if one.team is None else f"team {one.team}"


def _until(one: Share) -> Html:
    return moment_text(one.expires) if one.expires else el("span", "no end", class_="muted")


def _end(one: Share) -> Html:
    ask = f"Stop sharing “{one.title or one.chat}” with {_whom(one)}? They can no longer read it."
    return button(f"/shares/{one.id}/revoke", "Revoke", ask=ask, about=f"{one.title or one.chat}, {_whom(one)}")
