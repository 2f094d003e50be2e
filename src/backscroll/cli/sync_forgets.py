"""`backscroll sync forgets`: the chats that other machines ask to forget, and the answer."""

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import ProgressLine, heading, write, write_json, write_note
from backscroll.errors import Busy, UsageError
from backscroll.render.terminal import clean_line, minute, moment, plural, short_id, size

if TYPE_CHECKING:
    from backscroll.library.syncing.asked_about import ChatSubject
    from backscroll.library.syncing.forgets import AskedChat
    from backscroll.settings import Settings

SEE = "backscroll sync forgets"
LISTED = 50
"""Number of chats listed with their subjects; ids, --all and --json have no limit."""


@click.command("forgets", short_help="What other machines ask to forget; agree or refuse.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "is_all", is_flag=True, help="Every chat that waits for an answer.")
@click.option("--agree", "answer", flag_value="agree", help="Forget them here too, for good.")
@click.option("--refuse", "answer", flag_value="refuse", help="Keep them: they are shown and sent again.")
@global_options()
def sync_forgets(ids: tuple[str, ...], is_all: bool, answer: str | None) -> None:
    """List the chats that were forgotten on another machine, and answer whether they are forgotten here too.

    Until you answer, such a chat is neither shown nor sent again; it stays in the archive, and what a remote has of it
    stays there. Agreed: it is removed from the archive, and from what this machine sent to remotes. Refused: it stays,
    and the same is not asked again. Without --agree or --refuse the chats are listed, and on a terminal you are asked.
    `forget = "agree"` below `[sync]` in the settings agrees to everything.

    \b
    Examples:
      backscroll sync forgets
      backscroll sync forgets 4f8c --agree
      backscroll sync forgets --all --refuse
    """
    from backscroll.library.syncing.forgets import asked_chats, choose_asked

    request = current_request()
    settings = request.settings()
    if is_all and ids:
        raise UsageError("--all cannot be combined with IDs", "name some, or answer for all of them")
    if answer and not (ids or is_all):
        raise UsageError(f"--{answer} needs to know which chats", f"add their IDs, or --all; {SEE} lists them")
    chats = choose_asked(asked_chats(settings), ids)
    if not chats:
        if request.json:
            write_json({"chats": []})
        elif not (answer and request.quiet):
            write("No other machine asks to forget a chat that is here.")
        return
    if answer is None:
        is_asking = sys.stdin.isatty() and not request.json
        _write_chats(settings, chats, as_json=request.json, has_all=is_all or bool(ids))
        if not is_asking:
            return
        answer = _ask(len(chats))
        if answer is None:
            write("Nothing was answered: they stay hidden.")
            return
    done = _agree(settings, chats) if answer == "agree" else _refuse(settings, chats)
    if request.json:
        write_json({"answer": answer, "chats": [chat.id for chat in chats], "is_done": done})


def hidden_chats(settings: "Settings") -> "list[AskedChat]":
    """Return the chats that are hidden until the user has answered. Loads next to nothing if no one ever asked."""
    from backscroll.library.forget_requests import requests_stamp

    if not requests_stamp(settings):
        return []
    from backscroll.library.syncing.forgets import asked_chats

    return asked_chats(settings)


def hidden_line(chats: "list[AskedChat]") -> str:
    """Return how many chats are hidden and why, in a line; empty if none is."""
    from backscroll.library.syncing.forgets import count_by_asker

    if not chats:
        return ""
    by = ", ".join(f"{clean_line(name)} asks to forget {count:,}" for name, count in count_by_asker(chats).items())
    return f"{plural(len(chats), 'chat')} {'is' if len(chats) == 1 else 'are'} hidden: {by}. See {SEE}"


def asks_lines(chats: "list[AskedChat]") -> list[str]:
    """Return which machines ask to forget how many of these chats, each in a line."""
    from backscroll.library.syncing.forgets import count_by_asker

    return [
        f"{clean_line(name)} asks to forget {plural(count, 'chat')}, hidden until you answer: {SEE}"
        for name, count in count_by_asker(chats).items()
    ]


def _ask(count: int) -> str | None:
    them, they_stay = ("it", "it stays") if count == 1 else ("them", "they stay")
    write_note(f"agree: forget {them} here too, for good; refuse: keep {them}; later: {they_stay} hidden")
    choice = click.prompt("Your answer", type=click.Choice(["agree", "refuse", "later"]), default="later", err=True)
    return None if choice == "later" else str(choice)


def _agree(settings: "Settings", chats: "list[AskedChat]") -> bool:
    from backscroll.cli.forget_output import forget_there, write_there
    from backscroll.library.homes import open_homes
    from backscroll.library.local import local_library
    from backscroll.library.syncing.forgets import agree, forget_agreed

    request = current_request()
    agree(settings, chats)
    try:
        forget_agreed(settings)
        with (
            local_library(settings, open_homes(settings), keeps=False) as library,
            ProgressLine(quiet=request.quiet) as progress,
        ):
            library.update(progress)
    except Busy:
        if not request.json:
            write(f"Agreed to forget {plural(len(chats), 'chat')}.")
            write("Another process has the archive open: the next sync removes it.")
        return False
    if not (request.json or request.quiet):
        write(f"Forgot {plural(len(chats), 'chat')}.")
        _write_live(chats, settings)
    there = forget_there(settings, quiet=request.quiet)
    if request.quiet:
        there = [outcome for outcome in there if outcome.problem]
    if not request.json:
        write_there(there, plural(len(chats), "chat"), {asker for chat in chats for asker in chat.askers})
    return True


def _refuse(settings: "Settings", chats: "list[AskedChat]") -> bool:
    from backscroll.library.syncing.forgets import refuse

    refuse(settings, chats)
    if not (current_request().json or current_request().quiet):
        write(f"Kept {plural(len(chats), 'chat')}: shown and sent again.")
    return True


def _write_live(chats: "list[AskedChat]", settings: "Settings") -> None:
    from backscroll.library.machine import read_machine

    machine = read_machine(settings.library)
    paths = [file.source for chat in chats for file in chat.files if machine.is_own(file.machine)]
    if live := [path for path in paths if path.is_file()]:
        count = plural(len(live), "file")
        write(f"Not touched: {count} that Claude Code still has; backscroll no longer reads or archives them.")


def _write_chats(settings: "Settings", chats: "list[AskedChat]", *, as_json: bool, has_all: bool) -> None:
    from backscroll.library.syncing.asked_about import subjects_of

    if as_json:
        write_json({"chats": [_as_json(chat, subject) for chat, subject in subjects_of(settings, chats)]})
        return
    listed = chats if has_all else chats[:LISTED]
    for asker in dict.fromkeys(chat.askers[0] for chat in chats):
        theirs = [chat for chat in chats if chat.askers[0] == asker]
        arrived = _minute(theirs[0].requests[0].arrived)
        write(heading(f"{clean_line(asker)} asks to forget {plural(len(theirs), 'chat')} ({arrived}):"))
        for chat, subject in subjects_of(settings, [chat for chat in listed if chat.askers[0] == asker]):
            write(f"  {short_id(clean_line(chat.id))}  {clean_line(subject.title)}")
            where = clean_line(subject.project or "no project")
            from_ = ", ".join(map(clean_line, chat.machines))
            write(f"            {where}, from {from_}, {minute(subject.last_active)}, {size(chat.size)}")
    if len(listed) < len(chats):
        write(f"  … and {plural(len(chats) - len(listed), 'more chat')}: --all")


def _as_json(chat: "AskedChat", subject: "ChatSubject") -> dict[str, Any]:
    return {
        "id": chat.id, "is_session": chat.is_session, "title": subject.title, "project": subject.project,
        "machines": chat.machines, "last_active": moment(subject.last_active) if subject.last_active else None,
        "files": [file.path for file in chat.files], "bytes": chat.size,
        "requests": [
            {"device": request.device, "machine": request.machine, "at": request.at, "arrived": request.arrived}
            for request in chat.requests
        ],
    }  # fmt: skip


def _minute(text: str) -> str:
    try:
        return minute(datetime.fromisoformat(text))
    except ValueError:  # the file can be edited
        return clean_line(text)
