"""Export a chat as a file, or copy it as Markdown: secrets are masked unless the request says otherwise."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, get_args
from urllib.parse import quote

from starlette.responses import PlainTextResponse, Response

from backscroll.errors import NothingFound, UsageError
from backscroll.library import StoredChat
from backscroll.library.library import Library
from backscroll.library.sharing.file_names import file_name
from backscroll.library.sharing.masked import masked_message
from backscroll.library.sharing.selection import ShareSelection, selected
from backscroll.library.sharing.share import Redactor, redactor, rows_of, share
from backscroll.render.documents import markdown_of
from backscroll.render.html.export import Format, exported
from backscroll.render.markdown import markdown
from backscroll.render.parts import PartFilter, parts_of
from backscroll.web.chat_view import ChatView
from backscroll.web.export_assets import export_assets
from backscroll.web.requests import PageRequest

KINDS: Final = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
}
MASKED: Final = "backscroll-masked"
"""Name of the header with the number of masked secrets in a copied text."""


@dataclass(frozen=True)
class ExportRequest:
    """The format and contents of the exported file."""

    form: str
    selection: ShareSelection
    is_masked: bool
    emails: bool

    def redactor(self) -> Redactor | None:
        """Return the redactor that masks secrets; None if the user asked for an unmasked file."""
        return redactor(emails=self.emails) if self.is_masked else None


def export_request(request: PageRequest) -> ExportRequest:
    """Read the choices in an address. Those of original rows are fixed: all branches, with tools and thinking."""
    form = request.get("format", "html")
    if form not in KINDS:
        raise UsageError(f"unknown format {form}", f"use one of {', '.join(KINDS)}")
    branch = None if request.get("branch") in ("", "all") else request.number("branch", 1, least=1)
    selection = ShareSelection(branch, tools=request.get("no_tools") != "1", thinking=request.get("no_thinking") != "1")
    return ExportRequest(
        form,
        ShareSelection() if form == "jsonl" else selection,
        is_masked=request.get("unmasked") != "1",
        emails=request.get("emails") == "1",
    )


def show(request: PageRequest) -> Response:
    """Return the file, as a download."""
    choices = export_request(request)
    stored = request.library.find(request.path("chat"))
    content = b"".join(_pieces(request.library, stored, choices))
    name = file_name(stored.overview, choices.form)
    plain = "".join(letter if letter.isascii() and letter not in '"\\' else "_" for letter in name)
    headers = {"Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(content, media_type=KINDS[choices.form], headers=headers)


def as_markdown(request: PageRequest) -> Response:
    """Return a branch as Markdown, to be copied."""
    stored = request.library.find(request.path("chat"))
    hiding = redactor()
    branch = request.number("branch", 1, least=1)
    shared = selected(share(request.library, stored, hiding), ShareSelection(branch=branch))
    text = "".join(markdown_of(shared, shared.chat.branches, PartFilter(tools="short"), agents=False))
    return _markdown_response(text, hiding)


def message_as_markdown(request: PageRequest) -> Response:
    """Return a message as Markdown, to be copied."""
    reader = request.state.open_chats.open(request.library, request.path("chat"))
    name = request.path("message")
    message = ChatView(request.library, reader, request.number("branch", 1, least=1)).message(name)
    if message is None:
        raise NothingFound(f"there is no message {name}", "reload the page")
    hiding = redactor()
    masked = masked_message(message, hiding)
    text = "".join(markdown(parts_of([masked], PartFilter(tools="full", thinking=True, everything=True))))
    return _markdown_response(text, hiding)


def _pieces(library: Library, stored: StoredChat, asked: ExportRequest) -> Iterator[bytes]:
    hiding = asked.redactor()
    if asked.form == "jsonl":
        yield from rows_of(library, stored, hiding)
        return
    selection = asked.selection
    shared = selected(share(library, stored, hiding), selection)
    kind = next(form for form in get_args(Format) if form == asked.form)
    choice = PartFilter(tools="full" if selection.tools else "none", thinking=selection.thinking)
    for piece in exported(shared, kind, export_assets(), branch=None, choice=choice):
        yield piece.encode("utf-8", "replace")


def _markdown_response(text: str, hiding: Redactor) -> Response:
    masked = sum(1 for _, _, mask in hiding.masks() if mask in text)
    return PlainTextResponse(text, media_type="text/markdown", headers={MASKED: str(masked)})
