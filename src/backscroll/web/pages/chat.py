"""A chat: its page, and the pieces of it that are asked for as one reads on."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import msgspec
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse

from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.library import CHUNK, Marks, Message, StoredChat, bytes_of, change_marks, pictures_of
from backscroll.library.chats.find_in_chat import find_in
from backscroll.library.marked_chats import sessions_of
from backscroll.render.documents import markdown_of
from backscroll.render.html.chat import agent_page, beside, chat_page
from backscroll.render.html.element import Html
from backscroll.render.html.images import sniffed
from backscroll.render.html.messages import call_html, message_html, messages_html
from backscroll.render.markdown import markdown
from backscroll.render.parts import Choice, parts_of
from backscroll.web.addresses import chat_address
from backscroll.web.asking import Asked
from backscroll.web.desk import Desk
from backscroll.web.layout import around, document, error_told
from backscroll.web.viewing import MOST_AT_ONCE, Viewing

STYLES: Final = ("code.css", "messages.css", "chat.css")
SCRIPTS: Final = ("chat.js",)


def show(asked: Asked) -> Html | Response:
    """The page. With `at`, the part of it where a message stands, on the branch that has it."""
    at, branch = asked.get("at"), asked.number("branch", 1, least=1)
    stored = asked.library.find(asked.path("chat"))
    is_long = stored.overview.messages > MOST_AT_ONCE and branch <= stored.overview.branches
    if is_long and not at and not asked.desk.open_chats.has(stored):
        return StreamingResponse(_piece_by_piece(asked.desk, stored, branch), media_type="text/html")
    viewing = _viewing(asked)
    if at and at not in viewing.branch_messages.at:
        return _lead_to(asked, viewing, at)
    shown = viewing.shown(at or None)
    return document(
        shown.title, chat_page(shown), here="/chats", styles=STYLES, scripts=SCRIPTS, body_class="chat-room"
    )


def _piece_by_piece(desk: Desk, stored: StoredChat, branch: int) -> Iterator[str]:
    """The page of a long chat that has to be opened first: the browser fetches what it needs for it meanwhile."""
    begin, end = around(stored.overview.title, here="/chats", styles=STYLES, scripts=SCRIPTS, body_class="chat-room")
    yield begin
    try:
        with desk.library() as library:
            reader = desk.open_chats.open(library, stored.overview.id)
            shown = chat_page(Viewing(library, reader, branch).shown())
    except BackscrollError as error:  # too late for another status
        shown = error_told(error)
    yield shown
    yield end


def warm(asked: Asked) -> Response:
    """Open a chat that somebody is about to read: the pointer rests on a link to it."""
    _viewing(asked)
    return Response(status_code=204)


def side(asked: Asked) -> Html:
    """What stands beside the messages: the outline, the context, what it cost so far."""
    return beside(_viewing(asked).shown(is_whole=True))


def chunk(asked: Asked) -> Html:
    """The messages of a chunk."""
    number = asked.path("number")
    viewing = _viewing(asked)
    if not number.isdecimal() or int(number[:9]) * CHUNK >= max(1, len(viewing.branch_messages.entries)):
        raise NothingFound(f"there is no chunk {number}", "load the page again")
    return viewing.chunk(int(number))


def changes(asked: Asked) -> Response:
    """What is new or another since a cursor."""
    viewing = _viewing(asked)
    is_live = viewing.is_live
    found = viewing.reader.changes(asked.library, viewing.branch, asked.get("since"), is_live=is_live)
    messages = [message for message, _ in found.messages]
    view = viewing.view(messages)
    known = {message.key: message for message in messages}
    missing = [after for _, after in found.messages if after is not None and after not in known]
    known |= {message.key: message for message in viewing.messages(missing)}
    return _json({
        "cursor": found.cursor,
        "reset": found.is_reset,
        "messages": [
            {"id": message.key, "after": after, "html": str(message_html(message, view, known.get(after or "")))}
            for message, after in found.messages
        ],
        "removed": [],
        "chunks": -(-len(viewing.branch_messages.entries) // CHUNK),
        "total": len(viewing.branch_messages.entries),
        "live": is_live,
        "state": viewing.state,
        "title": viewing.reader.stored.overview.title,
    })  # fmt: skip


def find(asked: Asked) -> Response:
    """The messages of a branch that answer a query, in the order of reading."""
    viewing = _viewing(asked)
    keys = find_in(asked.library, viewing.reader, viewing.branch_messages, asked.get("q"))
    matches = [{"message": key, "chunk": viewing.branch_messages.at[key] // CHUNK} for key in keys]
    return _json({"matches": matches, "total": len(matches)})


def agent(asked: Asked) -> Html:
    """A sub-agent's page."""
    viewing = _viewing(asked)
    found = viewing.reader.agent(asked.path("agent"))
    back = viewing.links.message(found.call.id) if found.call else f"/chats/{asked.path('chat')}"
    shown = agent_page(found, _agent_messages(viewing, asked.path("agent")), viewing.reader.stored.overview.title, back)
    return document(
        found.description or found.id, shown, here="/chats", styles=STYLES, scripts=SCRIPTS, body_class="chat-room"
    )


def agent_messages(asked: Asked) -> Html:
    """What a sub-agent said, to be put into the page."""
    return _agent_messages(_viewing(asked), asked.path("agent"))


def whole(asked: Asked) -> Html:
    """All of a tool call and its result."""
    viewing, name = _viewing(asked), asked.path("call")
    message = _message_with(viewing, name)
    if name not in message.calls:
        raise NothingFound(f"there is no call {name}", "load the page again")
    return call_html(message.calls[name], message, viewing.view([message], whole=True))


def row(asked: Asked) -> Response:
    """A row as it was written."""
    raw = _viewing(asked).record(asked.path("row")).raw.strip(b"\0 \r\n")
    return PlainTextResponse(raw.decode("utf-8", "replace"))


def shown_picture(asked: Asked) -> Response:
    """A picture, if its bytes are those of one."""
    viewing = _viewing(asked)
    found = pictures_of(viewing.record(asked.path("row")))
    number = asked.path("number")
    at = int(number) if number.isdecimal() and len(number) < 5 else len(found)
    data = bytes_of(found[at]) if at < len(found) else None
    kind = sniffed(data) if data else None
    if data is None or kind is None:
        raise NothingFound("there is no such picture, or it is none that is shown", "see the raw row")
    return Response(data, media_type=kind, headers={"Cache-Control": "private, max-age=3600"})


def as_markdown(asked: Asked) -> Response:
    """The branch as Markdown."""
    viewing = _viewing(asked)
    opened = asked.library.open(viewing.reader.stored)
    branches = [one for one in opened.chat.branches if one.number == viewing.branch]
    text = "".join(markdown_of(opened, branches, Choice(tools="short"), agents=False))
    return PlainTextResponse(text, media_type="text/markdown")


def message_as_markdown(asked: Asked) -> Response:
    """One message as Markdown."""
    viewing = _viewing(asked)
    message = _message_with(viewing, asked.path("message"))
    text = "".join(markdown(parts_of([message], Choice(tools="full", thinking=True, everything=True))))
    return PlainTextResponse(text, media_type="text/markdown")


def marks(asked: Asked) -> Response:
    """Pin, tag, or note something."""
    stored = asked.library.find(asked.path("chat"))
    sessions = sessions_of(stored)
    form = asked.form
    if not form.keys() & {"pin", "tag", "untag", "note"}:
        raise UsageError("nothing is said of the chat", "send pin, tag, untag or note")

    def change(known: Marks) -> None:
        if "pin" in form:
            known.pin(sessions, undo=form["pin"] not in ("1", "true", "on"))
        if form.get("tag"):
            known.tag(sessions, [form["tag"]])
        if form.get("untag"):
            known.untag(sessions, [form["untag"]])
        if form.get("note"):
            known.note(sessions, form["note"])

    change_marks(asked.library.settings.library, change)
    if "text/html" in asked.request.headers.get("accept", ""):
        return RedirectResponse(_came_from(asked) or chat_address(stored.overview.id), status_code=303)
    return Response(status_code=204)


def _came_from(asked: Asked) -> str | None:
    """The page of ours that a form was sent from."""
    said = urlsplit(asked.request.headers.get("referer", ""))
    is_ours = said.netloc == asked.request.headers.get("host") and said.path.startswith("/")
    return f"/{said.path.lstrip('/')}{f'?{said.query}' if said.query else ''}" if is_ours else None


def _viewing(asked: Asked) -> Viewing:
    reader = asked.desk.open_chats.open(asked.library, asked.path("chat"))
    return Viewing(asked.library, reader, asked.number("branch", 1, least=1))


def _message_with(viewing: Viewing, name: str) -> Message:
    found = viewing.message(name)
    if found is None:
        raise NothingFound(f"there is no message or call {name}", "load the page again")
    return found


def _agent_messages(viewing: Viewing, name: str) -> Html:
    messages = viewing.agent_messages(name)
    return messages_html(messages, viewing.view(messages))


def _lead_to(asked: Asked, viewing: Viewing, name: str) -> Response:
    """To where a message stands, by any of its names."""
    found = viewing.reader.locate(name)
    if found is not None:
        branch, key = found
        links = Viewing(asked.library, viewing.reader, branch).links
        return RedirectResponse(links.message(key), status_code=302)
    owner = viewing.reader.agent_with(name)
    if owner is not None and (address := viewing.links.agent(owner.id)):
        inside = viewing.reader.agent_branch(owner).message_with(name)
        return RedirectResponse(f"{address}#m-{inside}" if inside else address, status_code=302)
    raise NothingFound(f"there is no message {name} in this chat", "search for it")


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
