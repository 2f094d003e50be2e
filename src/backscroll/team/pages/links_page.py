"""Links for people outside: the section that makes and revokes them, and the page that they lead to."""

from starlette.responses import HTMLResponse, Response

from backscroll.errors import BackscrollError, NothingFound
from backscroll.library.sharing.selection import ShareSelection, selected
from backscroll.library.sharing.share import redactor, share
from backscroll.render.html.element import NOTHING, Html, el, join, trusted
from backscroll.render.html.export import page_of
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.pages.parts import button, moment_text, table
from backscroll.team.pages.requests import TeamRequest, see
from backscroll.team.people.accounts import Person
from backscroll.team.reading.share_links import LONGEST_DAYS, USUAL_DAYS, links_of, open_link, revoke_link
from backscroll.web.addresses import chat_address
from backscroll.web.export_assets import asset, export_assets
from backscroll.web.requests import status_of


def links_section(request: TeamRequest, person: Person, chat: str) -> Html:
    """Make the section with the links to a chat, and a form for another one."""
    rows = (
        (moment_text(link.created), moment_text(link.expires), link.opened, moment_text(link.last_opened),
         el("span", "paused: another chat became one with it; create a new link ", class_="muted") if link.is_held
         else NOTHING, button(f"/links/{link.id}/revoke", "Revoke", ask="Revoke this link? It stops working at once."))
        for link in links_of(request.connection, person, chat)
    )  # fmt: skip
    form = el(
        "form",
        el("label", el("span", "Days until it expires"),
           el("input", name="days", type="number", min=1, max=LONGEST_DAYS, value=USUAL_DAYS, required=True),
           class_="field"),
        el("button", "Create a link"),
        method="post", action=f"{chat_address(chat)}/links", class_="row-form",
    )  # fmt: skip
    return el(
        "section",
        el("h2", "Links for people without an account"),
        el("p", "Anyone with the link can read the chat as it is when they open it. Secrets and e-mail addresses are"
           " always masked.", class_="muted"),
        table(("Created", "Expires", "Opened", "Last opened", "", ""), rows, "There are no links to this chat.",
              numbers=("Opened",)),
        form,
    )  # fmt: skip


def revoke(request: TeamRequest) -> Response:
    """Make a link stop working."""
    chat = revoke_link(request.connection, request.person, request.number("link"))
    return see(f"{chat_address(chat)}/audience")


def follow(request: TeamRequest) -> Response:
    """Show the chat that a link leads to, redacted, to anyone."""
    try:
        linked = open_link(request.connection, str(request.http.path_params["secret"]))
        libraries: Libraries = request.http.app.state.viewers.libraries
        with libraries.to_read(linked.owner) as library:
            shared = share(library, library.find(linked.chat), redactor(emails=True))
            shared.tags, shared.is_pinned = (), False  # what its owner thinks of it
            chosen = selected(shared, ShareSelection(thinking=False))
            page = "".join(page_of(chosen, export_assets(), detail="everything", author=linked.name))
    except NothingFound:
        sentence = "It was revoked, or it has expired. Ask the person who sent it for a new one."
        return HTMLResponse(_failure("This link does not work", sentence), 404, HEADERS)
    except BackscrollError as error:
        sentence = "Something is wrong with the server. Try again in a few minutes."
        return HTMLResponse(_failure("The chat cannot be shown now", sentence), status_of(error), HEADERS)
    return HTMLResponse(page.encode("utf-8", "replace"), headers=HEADERS)


def _failure(title: str, sentence: str) -> Html:
    """Make a page without a chat. Such an address can load nothing, so the style is part of the page."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", f"{title} · backscroll"),
        el("style", trusted(asset("base.css"))),
    )
    body = el("body", el("main", el("section", el("h1", title), el("p", sentence), class_="failure")))
    return join([trusted("<!doctype html>\n"), el("html", head, body, lang="en")])


HEADERS = {"x-robots-tag": "noindex, nofollow", "cache-control": "no-store"}
