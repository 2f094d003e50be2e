"""`backscroll open`: read in the browser."""

import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import Request, current_request, global_options
from backscroll.cli.output import ProgressLine, read_demo_first, write, write_json, write_no_history, write_note
from backscroll.cli.token_options import token_options
from backscroll.errors import NothingFound
from backscroll.system import return_freed_memory

if TYPE_CHECKING:
    from backscroll.library.library import Library
    from backscroll.web.state import ViewerState


@click.command("open")
@click.argument("name", metavar="[ID]", default="")
@click.option("--port", type=click.IntRange(1, 65535), metavar="NUMBER", help="Default: 8420, or the next free one.")
@click.option("--host", metavar="ADDRESS", help="The address to listen on. Default: 127.0.0.1, this machine only.")
@token_options
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@global_options()
def command(name: str, port: int | None, host: str | None, token: str | None, no_browser: bool) -> None:
    """Show your chats in the browser. Runs until you stop it; if the viewer is already running, opens that one.

    With ID, the browser opens that chat: the start of a chat, session, message or agent id is enough. The viewer brings
    the library up to date in the background and follows running sessions.

    Only this machine can reach it unless you choose another --host. With another host, or on a machine with other
    users, a key is required: the printed link contains one and works once; run `backscroll open` again for a new link.
    Programs send the token as `Authorization: Bearer TOKEN`: set BACKSCROLL_TOKEN or use --token-file to choose it.
    The connection is not encrypted.

    \b
    Examples:
      backscroll open
      backscroll open 4f8c
      backscroll open --host 0.0.0.0 --no-browser
      backscroll open --no-browser --json | jq -r .link
    """
    from backscroll.httpd.listening import LOOPBACK
    from backscroll.library.homes import open_homes
    from backscroll.web.running_server import find_running_server
    from backscroll.web.server import needs_key_on_loopback, serve
    from backscroll.web.state import ViewerState

    request = current_request()
    settings = request.settings()
    state = ViewerState(settings, open_homes(settings))
    write_no_history(request)
    read_demo_first(request)
    try:
        path = _address_of(state, name, quiet=request.quiet) if name else "/"
        running = find_running_server(state, host, port, token, needs_key=needs_key_on_loopback(settings))
        if running is not None:
            write_address(request, running.url, running.link(path), running.pid, None, browser=not no_browser)
            return
        return_freed_memory()
        serve(
            state,
            host=host or LOOPBACK,
            port=port,
            token=token,
            on_ready=lambda served: write_address(
                request,
                served.url,
                served.link(path),
                os.getpid(),
                served.access.keys.token if served.access.needs_key else None,
                browser=not no_browser,
            ),
        )
    finally:
        state.close()


def _address_of(state: "ViewerState", name: str, *, quiet: bool) -> str:
    """Return the page of a chat. An unknown id may belong to a session written since the last update."""
    from backscroll.web.addresses import chat_address

    with state.library() as library:
        try:
            return chat_address(library.find(name).overview.id)
        except NothingFound:
            _refresh(library, quiet=quiet)
            return chat_address(library.find(name).overview.id)


def _refresh(library: "Library", *, quiet: bool) -> None:
    with ProgressLine(quiet=quiet) as progress:
        library.refresh(with_text=False, progress=progress)


def write_address(
    request: Request,
    url: str,
    link: str,
    pid: int,
    token: str | None,
    *,
    browser: bool,
    another: str = "run backscroll open for a new one",
    notes: Sequence[str] = ("Press Ctrl-C to stop.",),
) -> None:
    """Print the address and open it. `another` says how to get a new link, `notes` are about a server we started."""
    is_own = pid == os.getpid()
    if request.json:
        write_json({"url": url, "link": link, "pid": pid, "token": token, "reused": not is_own})
    else:
        write(link)
    sys.stdout.flush()
    if not request.quiet:
        if token is not None:
            write_note(f"The link works once; {another}. The connection is not encrypted.")
        for note in notes if is_own else ("The viewer was already running.",):
            write_note(note)
    if browser and not _has_display():
        if not request.quiet:
            write_note("There is no display to open a browser on: open the address yourself.")
    elif browser:
        opening = threading.Thread(target=_open, args=(link,), daemon=True)
        opening.start()
        if not is_own:
            opening.join(PATIENCE)  # it would end with us


def _has_display() -> bool:
    """Whether there is a display; without one, the browser may be one for terminals, which would take over ours."""
    if sys.platform in ("darwin", "win32"):
        return True
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def _open(link: str) -> None:
    import webbrowser

    if not webbrowser.open(link):
        write_note("No browser was found: open the address yourself.")


PATIENCE = 10.0
"""Seconds to wait for a browser to take an address."""
