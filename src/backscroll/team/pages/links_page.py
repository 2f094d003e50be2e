"""Links for people outside: making and revoking them, and what they lead to."""

from starlette.responses import HTMLResponse, Response

from backscroll.errors import BackscrollError, NothingFound
from backscroll.library.sharing.selection import ShareSelection, selected
from backscroll.library.sharing.share import redactor, share
from backscroll.render.html.element import Html, el, join, trusted
from backscroll.render.html.export import page_of
from backscroll.team.context import TeamRequest, see
from backscroll.team.libraries import Libraries
from backscroll.team.pages.parts import button, moment_text, table
from backscroll.team.people import Person
from backscroll.team.share_links import LONGEST_DAYS, USUAL_DAYS, links_of, open_link, revoke_link
from backscroll.web.addresses import chat_address
from backscroll.web.export_assets import asset, export_assets
from backscroll.web.requests import status_of


def links_section(request: TeamRequest, person: Person, chat: str) -> Html:
    """The links to a chat, and a form for another one."""
    rows = (
        (moment_text(one.created), moment_text(one.expires), one.opened, moment_text(one.last_opened),
         button(f"/links/{one.id}/revoke", "Revoke", ask="Revoke this link? It stops working at once."))
        for one in links_of(request.connection, person, chat)
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
        table(("Created", "Expires", "Opened", "Last opened", ""), rows, "There are no links to this chat.",
              numbers=("Opened",)),
        form,
    )  # fmt: skip


def revoke(request: TeamRequest) -> Response:
    """Make a link stop working."""
    chat = revoke_link(request.connection, request.person, request.number("link"))
    return see(f"{chat_address(chat)}/audience")


def follow(request: TeamRequest) -> Response:
    """The chat that a link leads to, redacted, for anyone."""
    try:
        found = open_link(request.connection, str(request.http.path_params["secret"]))
        libraries: Libraries = request.http.app.state.viewers.libraries
        with libraries.to_read(found.owner) as library:
            shared = share(library, library.find(found.chat), redactor(emails=True))
            shared.tags, shared.is_pinned = (), False  # what its owner thinks of it
            chosen = selected(shared, ShareSelection(thinking=False))
            page = "".join(page_of(chosen, export_assets(), detail="everything", author=found.name))
    except NothingFound:
        told = "It was revoked, or it has expired. Ask the person who sent it for a new one."
        return HTMLResponse(_failure("This link does not work", told), 404, HEADERS)
    except BackscrollError as error:
        told = "Something is wrong with the server. Try again in a few minutes."
        return HTMLResponse(_failure("The chat cannot be shown now", told), status_of(error), HEADERS)
    return HTMLResponse(page.encode("utf-8", "replace"), headers=HEADERS)


def _failure(title: str, told: str) -> Html:
    """A page without a chat. At such an address nothing can be loaded, so its style stands in it."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", f"{title} · backscroll"),
        el("style", trusted(asset("base.css"))),
    )
    body = el("body", el("main", el("section", el("h1", title), el("p", told), class_="failure")))
    return join([trusted("<!doctype html>\n"), el("html", head, body, lang="en")])


HEADERS = {"x-robots-tag": "noindex, nofollow", "cache-control": "no-store"}
