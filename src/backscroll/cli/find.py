"""`backscroll find`: pick a chat while typing."""

import os
import sys
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library, write
from backscroll.errors import INTERRUPTED, BackscrollError

if TYPE_CHECKING:
    from backscroll.library import StoredChat
    from backscroll.library.library import Library

AROUND = 20
"""Number of messages shown before and after a match."""


@click.command("find")
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@click.option(
    "--sort",
    type=click.Choice(["relevance", "newest", "oldest"]),
    default="relevance",
    help="The order of the results.",
)
@global_options()
def command(words: tuple[str, ...], sort: str) -> None:
    """Search as you type, with a preview of the selected chat.

    QUERY is what `backscroll search` takes; the word you are typing matches any ending. Enter opens the chat at the
    match and returns to the list, Ctrl-R resumes it in Claude Code, Ctrl-Y copies the resume command, Tab pins it,
    Ctrl-T changes the order, Esc quits; `?` shows all keys. Without a terminal, it prints what `search` or `list`
    would.

    \b
    Examples:
      backscroll find
      backscroll find flaky test
      backscroll find 'project:shop is:error' --sort newest
    """
    request = current_request()
    query = " ".join(words)
    context = click.get_current_context()
    if request.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _list(context, query, sort)
        return
    _check_terminal()
    library = open_library(request, with_text=True)
    _pick(context, library, query, sort)


def _list(context: click.Context, query: str, sort: str) -> None:
    from backscroll.cli import list as listing
    from backscroll.cli import search

    if query.strip():
        context.invoke(search.command, words=(query,), sort=sort)
    else:
        context.invoke(listing.command, query="", sort="oldest" if sort == "oldest" else "newest")


def _check_terminal() -> None:
    """Raise an error that names the missing part, before the screen changes."""
    hint = "use backscroll search"
    try:
        import curses
    except ImportError as error:
        raise BackscrollError("this Python has no curses module, which the picker needs", hint) from error
    name = os.environ.get("TERM", "")
    try:
        curses.setupterm()
        is_able = bool(curses.tigetstr("cup"))
    except curses.error:
        is_able = False
    if not is_able:
        what = f"the terminal “{name}” is unknown or cannot position the cursor" if name else "TERM is not set"
        raise BackscrollError(what, f"set TERM to match your terminal, such as xterm-256color, or {hint}")


def _pick(context: click.Context, library: "Library", query: str, sort: str) -> None:
    from backscroll.cli import resume, show
    from backscroll.cli.marks import mark_chat
    from backscroll.cli.picker import ChatActions, pick
    from backscroll.library.chats.resume import resume_of
    from backscroll.library.marked_chats import sessions_of
    from backscroll.library.marks import read_marks

    def pin(stored: "StoredChat") -> bool:
        is_pinned = read_marks(library.settings.library).of(sessions_of(stored)).pinned
        mark_chat(library, stored, lambda marks, sessions: marks.pin(sessions, undo=is_pinned))
        return not is_pinned

    def read(stored: "StoredChat", message: str) -> None:
        if message:
            # The matches are at the top of the screen: the text before them may fill many screens.
            context.invoke(show.command, name=message, around=AROUND, is_first=True)
        else:
            context.invoke(show.command, name=stored.overview.id)

    actions = ChatActions(
        show=read,
        resume_line=lambda stored: resume.as_line(resume_of(library, stored)),
        check_resume=lambda stored: resume.check(resume_of(library, stored)),
        pin=pin,
    )
    result = pick(
        query,
        sort,
        lambda: library.clone(),
        actions,
        color=context.find_root().color is not False,
    )
    if result.copied:
        write(result.copied)
    if result.resume is not None:
        resume.start(resume_of(library, result.resume))
    if result.is_interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
