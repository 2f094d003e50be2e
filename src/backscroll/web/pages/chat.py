"""A chat: its page, and the fragments that the page loads as the user reads on."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import msgspec
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse

from backscroll.conversation.branch_paths import branch_of_session
from backscroll.conversation.messages import Message
from backscroll.conversation.pictures import bytes_of, pictures_of
from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.library import StoredChat
from backscroll.library.chats.branch_comparison import landing
from backscroll.library.chats.chat_reader import CHUNK
from backscroll.library.chats.find_in_chat import find_in
from backscroll.library.marked_chats import sessions_of
from backscroll.library.marks import Marks, change_marks
from backscroll.render.html.chat import agent_page, beside, chat_page
from backscroll.render.html.element import Html, join
from backscroll.render.html.images import detect_media_type
from backscroll.render.html.messages import call_html, message_html, messages_html
from backscroll.web.addresses import chat_address, with_find
from backscroll.web.chat_view import MAX_AT_ONCE, ChatView
from backscroll.web.layout import document, error_html, page_frame
from backscroll.web.pages.pane import pane
from backscroll.web.requests import PageRequest
from backscroll.web.state import ViewerState

STYLES: Final = ("code.css", "messages.css", "chat.css", "branches.css", "dialogs.css", "pane.css")
SCRIPTS: Final = ("chat.js",)


def show(request: PageRequest) -> Html | Response:
    """Return the page of a chat. `at` names a message: the page starts there, on the branch that has it."""
    at, branch = request.get("at"), request.number("branch", 1, least=1)
    if request.get("from"):
        return _at_fork(request)
    name = request.path("chat")
    stored = request.library.find(name)
    if not at and not request.get("branch") and not stored.overview.id.startswith(name.lower()):
        reader = request.state.open_chats.open(request.library, stored)
        number = branch_of_session(reader.chat, name)
        if number != 1:
            return RedirectResponse(ChatView(request.library, reader, number).links.branch_page, status_code=302)
    is_long = stored.overview.messages > MAX_AT_ONCE and branch <= stored.overview.branches
    if is_long and not at and not request.state.open_chats.has(stored):
        return StreamingResponse(_piece_by_piece(request.state, stored, branch), media_type="text/html")
    chat_view = _chat_view(request, stored)
    if at and at not in chat_view.branch_messages.at:
        return _lead_to(request, chat_view, at)
    page_data = chat_view.shown(at or None)
    main = join([pane(request.library, stored), chat_page(page_data)])
    return document(page_data.title, main, here="/chats", styles=STYLES, scripts=SCRIPTS, body_class="chat-room")


def _piece_by_piece(state: ViewerState, stored: StoredChat, branch: int) -> Iterator[str]:
    """Yield the page of a long chat that is not open yet. The browser gets the head, and loads scripts meanwhile."""
    begin, end = page_frame(
        stored.overview.title, here="/chats", styles=STYLES, scripts=SCRIPTS, body_class="chat-room"
    )
    with state.library() as library:
        chats = pane(library, stored)
    yield begin
    yield chats
    try:
        with state.library() as library:
            reader = state.open_chats.open(library, stored.overview.id)
            body = chat_page(ChatView(library, reader, branch).shown())
    except BackscrollError as error:  # too late for another status
        body = error_html(error)
    yield body
    yield end


def warm(request: PageRequest) -> Response:
    """Open a chat ahead of reading: the pointer rests on a link to it."""
    _chat_view(request)
    return Response(status_code=204)


def side(request: PageRequest) -> Html:
    """Return the side column: outline, context and cost so far."""
    return beside(_chat_view(request).shown(is_whole=True))


def chunk(request: PageRequest) -> Html:
    """Return the messages of a chunk."""
    number = request.path("number")
    chat_view = _chat_view(request)
    if not number.isdecimal() or int(number[:9]) * CHUNK >= max(1, len(chat_view.branch_messages.entries)):
        raise NothingFound(f"chunk {number} does not exist", "reload the page")
    return chat_view.chunk(int(number))


def changes(request: PageRequest) -> Response:
    """Return what was added or changed since a cursor, as JSON."""
    chat_view = _chat_view(request)
    is_live = chat_view.is_live
    update = chat_view.reader.changes(request.library, chat_view.branch, request.get("since"), is_live=is_live)
    messages = [message for message, _ in update.messages]
    view = chat_view.view(messages)
    known = {message.key: message for message in messages}
    missing = [after for _, after in update.messages if after is not None and after not in known]
    known |= {message.key: message for message in chat_view.messages(missing)}
    return _json({
        "cursor": update.cursor,
        "reset": update.is_reset,
        "messages": [
            {"id": message.key, "after": after, "html": str(message_html(message, view, known.get(after or "")))}
            for message, after in update.messages
        ],
        "removed": [],
        "chunks": -(-len(chat_view.branch_messages.entries) // CHUNK),
        "total": len(chat_view.branch_messages.entries),
        "live": is_live,
        "state": chat_view.state,
        "tool": chat_view.asked_tool,
        "title": chat_view.reader.stored.overview.title,
    })  # fmt: skip


def find(request: PageRequest) -> Response:
    """Return the messages of a branch that match a query, as JSON in reading order."""
    chat_view = _chat_view(request)
    matching = find_in(request.library, chat_view.reader, chat_view.branch_messages, request.get("q"))
    matches = [{"message": key, "chunk": chat_view.branch_messages.at[key] // CHUNK} for key in matching.messages]
    return _json({"matches": matches, "total": len(matches), "texts": matching.texts})


def agent(request: PageRequest) -> Html:
    """Return a sub-agent's page."""
    chat_view = _chat_view(request)
    sub_agent = chat_view.reader.agent(request.path("agent"))
    back = chat_view.links.message(sub_agent.call.id) if sub_agent.call else f"/chats/{request.path('chat')}"
    content = agent_page(
        sub_agent, _agent_messages(chat_view, request.path("agent")), chat_view.reader.stored.overview.title, back
    )
    return document(
        sub_agent.description or sub_agent.id,
        join([pane(request.library, chat_view.reader.stored), content]),
        here="/chats",
        styles=STYLES,
        scripts=SCRIPTS,
        body_class="chat-room",
    )


def agent_messages(request: PageRequest) -> Html:
    """Return a sub-agent's messages, as a fragment."""
    return _agent_messages(_chat_view(request), request.path("agent"))


def whole(request: PageRequest) -> Html:
    """Return a whole tool call with its result."""
    chat_view, name = _chat_view(request), request.path("call")
    message = _message_with(chat_view, name)
    if name not in message.calls:
        raise NothingFound(f"there is no tool call {name}", "reload the page")
    return call_html(message.calls[name], message, chat_view.view([message], whole=True))


def row(request: PageRequest) -> Response:
    """Return a row as it was written."""
    raw = _chat_view(request).record(request.path("row")).raw.strip(b"\0 \r\n")
    return PlainTextResponse(raw.decode("utf-8", "replace"))


def shown_picture(request: PageRequest) -> Response:
    """Return an image, if its bytes are one."""
    chat_view = _chat_view(request)
    images = pictures_of(chat_view.record(request.path("row")))
    number = request.path("number")
    at = int(number) if number.isdecimal() and len(number) < 5 else len(images)
    data = bytes_of(images[at]) if at < len(images) else None
    kind = detect_media_type(data) if data else None
    if data is None or kind is None:
        raise NothingFound("this image does not exist, or its format is not supported", "see the raw row")
    return Response(data, media_type=kind, headers={"Cache-Control": "private, max-age=3600"})


def marks(request: PageRequest) -> Response:
    """Change the pin, the tags or the note of a chat."""
    stored = request.library.find(request.path("chat"))
    sessions = sessions_of(stored)
    form = request.form
    if not form.keys() & {"pin", "tag", "untag", "note"}:
        raise UsageError("nothing to change", "send pin, tag, untag or note")

    def change(known: Marks) -> None:
        if "pin" in form:
            known.pin(sessions, undo=form["pin"] not in ("1", "true", "on"))
        if form.get("tag"):
            known.tag(sessions, [form["tag"]])
        if form.get("untag"):
            known.untag(sessions, [form["untag"]])
        if form.get("note"):
            known.note(sessions, form["note"])

    change_marks(request.library.settings.library, change)
    if "text/html" in request.http.headers.get("accept", ""):
        return RedirectResponse(_came_from(request) or chat_address(stored.overview.id), status_code=303)
    return Response(status_code=204)


def _came_from(request: PageRequest) -> str | None:
    """Return the page of ours that a form was sent from."""
    referrer = urlsplit(request.http.headers.get("referer", ""))
    is_ours = referrer.netloc == request.http.headers.get("host") and referrer.path.startswith("/")
    return f"/{referrer.path.lstrip('/')}{f'?{referrer.query}' if referrer.query else ''}" if is_ours else None


def _chat_view(request: PageRequest, chat: StoredChat | None = None) -> ChatView:
    reader = request.state.open_chats.open(request.library, chat or request.path("chat"))
    return ChatView(request.library, reader, request.number("branch", 1, least=1))


def _message_with(chat_view: ChatView, name: str) -> Message:
    message = chat_view.message(name)
    if message is None:
        raise NothingFound(f"there is no message or tool call {name}", "reload the page")
    return message


def _agent_messages(chat_view: ChatView, name: str) -> Html:
    messages = chat_view.agent_messages(name)
    return messages_html(messages, chat_view.view(messages))


def _lead_to(request: PageRequest, chat_view: ChatView, name: str) -> Response:
    """Redirect to a message, by any of its ids."""
    location = chat_view.reader.locate(name)
    if location is not None:
        branch, key = location
        links = ChatView(request.library, chat_view.reader, branch).links
        return RedirectResponse(with_find(links.message(key), request.get("find")), status_code=302)
    owner = chat_view.reader.agent_with(name)
    if owner is not None and (address := chat_view.links.agent(owner.id)):
        inside = chat_view.reader.agent_branch(owner).message_with(name)
        return RedirectResponse(f"{address}#m-{inside}" if inside else address, status_code=302)
    raise NothingFound(f"there is no message {name} in this chat", "search for it")


def _at_fork(request: PageRequest) -> Response:
    """Redirect a reader who comes from another branch to the message where this one leaves it."""
    chat_view = _chat_view(request)
    message = landing(chat_view.reader, request.number("from", 1, least=1), chat_view.branch)
    links = chat_view.links
    return RedirectResponse(links.message(message) if message else links.branch_page, status_code=302)


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
