"""Pages about sharing: readers of a chat, shared chats, and who read them."""

import re

from starlette.responses import Response

from backscroll.conversation.overview import Overview
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.terminal import plural
from backscroll.team.pages.links_page import links_section
from backscroll.team.pages.parts import button, moment_text, secret_box, table, team_document
from backscroll.team.pages.requests import TeamRequest, not_found, see
from backscroll.team.people.accounts import Person
from backscroll.team.people.context import OWNER
from backscroll.team.people.teams import Team, teams
from backscroll.team.reading.share_links import new_link
from backscroll.team.reading.shares import (
    Share,
    include_joined,
    include_members,
    readers_of,
    revoke_share,
    share,
    shared_with,
    shares_of,
)
from backscroll.web.addresses import chat_address, search_address
from backscroll.web.pages.chat_rows import title_of
from backscroll.web.state import VIEWER, ViewerState

NAMED = 5
"""Members of a team that its option names at most."""


def audience(request: TeamRequest) -> Html | Response:
    """Show or change who can read a chat of the person; for a chat of another there is no such page."""
    person = request.person
    name = str(request.http.path_params["chat"])
    viewer: ViewerState | None = request.http.scope.get(VIEWER)
    if viewer is None or OWNER in request.http.scope:
        not_found()
    with viewer.library() as library:
        chat = library.find(name).overview
    mine = _own_teams(request)
    if request.http.method == "POST":
        choice = request.form.get("audience", "")
        team = next((each.id for each in mine if choice == f"team-{each.id}"), None)
        if choice != "org" and team is None:
            not_found()
        share(request.connection, person, chat.id, chat.title, team=team, days=_days(request))
        return see(f"{chat_address(chat.id)}/audience")
    return audience_page(request, chat)


def _days(request: TeamRequest) -> int | None:
    """Return the number of days in a form: None if the field is empty, and 0, which is refused, for anything else."""
    text = request.form.get("days", "")
    return (int(text) if re.fullmatch("[0-9]{1,5}", text) else 0) if text else None


def make_link(request: TeamRequest) -> Html:
    """Make a link for people outside to a chat of the person, and show it once."""
    viewer: ViewerState | None = request.http.scope.get(VIEWER)
    if viewer is None or OWNER in request.http.scope:
        not_found()
    with viewer.library() as library:
        chat = library.find(str(request.http.path_params["chat"])).overview
    days = _days(request) or 0
    link = (
        f"{request.context.url}/shared-link/{new_link(request.connection, request.person, chat.id, chat.title, days)}"
    )
    note = f"It works for {plural(days, 'day')} and will not be shown again. Anyone who has it can read the chat."
    return audience_page(request, chat, secret_box("Send this link:", link, note))


def _own_teams(request: TeamRequest) -> list[Team]:
    return [team for team in teams(request.connection, request.person.org) if team.id in request.person.teams]


def audience_page(request: TeamRequest, chat: Overview, notice: Html = NOTHING) -> Html:
    """Show who can read a chat, in the organisation and outside."""
    person, mine = request.person, _own_teams(request)
    shares = shares_of(request.connection, person, chat.id)
    choices = [
        *(el("option", _team_choice(person, each), value=f"team-{each.id}") for each in mine),
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
        if shares else NOTHING,
        method="post", class_="row-form",
    )  # fmt: skip
    rows = ((_shared_with(each), moment_text(each.created), _until(each), _end(each)) for each in shares)
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
        " your machine: with secrets masked, unless you chose otherwise. If another chat becomes one with it, no one"
        " else reads it until you agree.",
    )


def include(request: TeamRequest) -> Response:
    """Share a chat also with those who have joined its team since."""
    chat = include_members(request.connection, request.person, request.number("share"))
    return see(f"{chat_address(chat)}/audience")


def include_all(request: TeamRequest) -> Response:
    """Share all of a chat that became one with another since."""
    chat = include_joined(request.connection, request.person, request.number("share"))
    return see(f"{chat_address(chat)}/audience")


def revoke(request: TeamRequest) -> Response:
    """Stop sharing a chat."""
    chat = revoke_share(request.connection, request.person, request.number("share"))
    return see(f"{chat_address(chat)}/audience")


def shared(request: TeamRequest) -> Html | Response:
    """Show the chats that others share with the person. A search here leaves out their own chats."""
    if text := request.get("q").strip():
        return see(search_address(f"{text} -owner:me"))
    person = request.person
    shares = shared_with(request.connection, person)
    mine = shares_of(request.connection, person)
    listed = ((_link(each), each.owner, _whom(each), moment_text(each.created)) for each in shares)
    own = ((_link(each), _shared_with(each), _until(each), _end(each)) for each in mine)
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
    """Show who read the chats of the person."""
    rows = (
        (el("a", read.title or read.chat, href=chat_address(read.chat)), read.reader, moment_text(read.first),
         moment_text(read.last), read.requests)
        for read in readers_of(request.connection, request.person)
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


def _link(shared: Share) -> Html:
    return el("a", shared.title or shared.chat, href=chat_address(shared.chat))


def _team_choice(person: Person, team: Team) -> str:
    others = [handle for handle in team.members if handle != person.handle]
    names = ", ".join(others) if len(others) <= NAMED else f"{len(others)} others"
    return f"the team {team.name} ({names or 'only you'})"


def _shared_with(shared: Share) -> Html:
    """Show the readers of a share, who has joined the team since, and whether it waits for the owner's consent."""
    about = f"{shared.title or shared.chat}, {_whom(shared)}"
    parts = [el("span", _whom(shared))]
    if shared.is_held:
        ask = f"Share all of it with {_whom(shared)}? They will read the chats, too, that became one with it."
        parts.append(el("span", ", paused: another chat became one with it ", class_="muted"))
        parts.append(button(f"/shares/{shared.id}/include-joined", "Share all of it", ask=ask, about=about))
    if shared.without:
        parts.append(el("span", f", without {', '.join(shared.without)} ", class_="muted"))
        parts.append(button(f"/shares/{shared.id}/include", "Include them", about=about))
    return el("span", parts)


def _whom(shared: Share) -> str:
    return "everyone" if shared.team is None else f"team {shared.team}"


def _until(shared: Share) -> Html:
    return moment_text(shared.expires) if shared.expires else el("span", "no end", class_="muted")


def _end(shared: Share) -> Html:
    ask = f"Stop sharing “{shared.title or shared.chat}” with {_whom(shared)}? They can no longer read it."
    return button(
        f"/shares/{shared.id}/revoke", "Revoke", ask=ask, about=f"{shared.title or shared.chat}, {_whom(shared)}"
    )
