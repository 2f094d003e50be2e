"""Resume a chat in Claude Code: the command, its folder, and a terminal that runs it.

The page works by itself; on a chat's page its contents open as a dialog.
"""

from ipaddress import ip_address
from typing import Final

from starlette.responses import RedirectResponse, Response

from backscroll.errors import NothingFound, UsageError
from backscroll.httpd.users import is_other_user
from backscroll.library.chats.resume import Resume, obstacle, resume_in
from backscroll.library.chats.terminal import find_terminal, open_terminal
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.icons import icon
from backscroll.web.addresses import chat_address
from backscroll.web.layout import error_html
from backscroll.web.pages.dialog_page import dialog_page
from backscroll.web.requests import PageRequest

TITLE: Final = "Resume in Claude Code"


def show(request: PageRequest) -> Html:
    """Return the page, or with `fragment` the contents of the dialog."""
    reader = request.state.open_chats.open(request.library, request.path("chat"))
    branch = request.number("branch", 1, least=1)
    try:
        resume = resume_in(reader.chat, reader.stored, request.library.machine, branch=branch)
    except NothingFound as error:
        content = error_html(error)
    else:
        can_open = find_terminal(request.library.settings) is not None and _is_from_here(request)
        content = _resume(reader.stored.overview.id, resume, branch, can_open=can_open)
    return dialog_page(request, reader.stored, TITLE, content)


def terminal(request: PageRequest) -> Response:
    """Open a terminal on the desktop of this machine. The guard has checked that our own page asks for it."""
    if not _is_from_here(request):
        raise UsageError("a terminal opens only for a browser on this machine", "copy the command instead")
    reader = request.state.open_chats.open(request.library, request.path("chat"))
    branch = request.form.get("branch", "1")
    number = int(branch) if branch.isascii() and branch.isdecimal() and len(branch) < 7 else 1
    resume = resume_in(reader.chat, reader.stored, request.library.machine, branch=number)
    open_terminal(resume, request.library.settings, [home.path for home in request.library.homes])
    if "text/html" in request.http.headers.get("accept", ""):
        return RedirectResponse(chat_address(reader.stored.overview.id), status_code=303)
    return Response(status_code=204)


def _is_from_here(request: PageRequest) -> bool:
    """Whether the request comes from the user of this machine, on this machine."""
    client, server = request.http.client, request.http.scope.get("server") or ("", None)
    if client is None:
        return False
    try:
        is_near = ip_address(client.host).is_loopback
    except ValueError:
        return False
    return is_near and not is_other_user((client.host, client.port), server)


def _resume(chat: str, resume: Resume, branch: int, *, can_open: bool) -> Html:
    missing = obstacle(resume)
    address = chat_address(chat)
    run = el(
        "form",
        el("input", type="hidden", name="branch", value=branch),
        el("button", icon("terminal"), "Open a terminal", class_="primary", data_autofocus=True),
        method="post", action=f"{address}/terminal", id="open-terminal",
    )  # fmt: skip
    return el(
        "div",
        _other_branch(resume, branch),
        el("p", icon("warning"), el("span", f"On this machine, {missing}."), class_="dialog-note warn")
        if missing
        else NOTHING,
        _copied("Command", resume.line, "resume command", "Copy command"),
        _copied("Folder", resume.folder, "path", "Copy path") if resume.folder else NOTHING,
        el("div", run if can_open and not missing else NOTHING, class_="dialog-actions"),
        class_="resume-dialog",
    )


def _other_branch(resume: Resume, branch: int) -> Html:
    if resume.branch in (None, branch):
        return NOTHING
    text = f"Branch {branch} was rewound. Claude Code resumes this session on branch {resume.branch}, where it went on."
    return el("p", icon("branch"), el("span", text), class_="dialog-note")


def _copied(label: str, text: str, what: str, name: str) -> Html:
    button = el("button", icon("copy"), name, type="button", data_action="copy", data_copy=text, data_what=what,
                hidden=True)  # fmt: skip
    return el(
        "div",
        el("span", label, class_="field-name"),
        el("code", text, class_="copied-text", tabindex=0),
        button,
        class_="copied",
    )
