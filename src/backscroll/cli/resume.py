"""`backscroll resume`: resume a chat in Claude Code."""

import os
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library, write, write_json
from backscroll.errors import BackscrollError
from backscroll.render.terminal import clean_line

if TYPE_CHECKING:
    from backscroll.library.chats.resume import Resume


@click.command("resume")
@click.argument("name", metavar="ID")
@click.option("--run", is_flag=True, help="Run the command instead of printing it.")
@global_options
def command(name: str, run: bool) -> None:
    """Print the command that resumes a chat in Claude Code, in its folder and with the right session.

    ID is the start of a chat, session, message or agent id. If a chat has several branch ends, the most recently active
    one is resumed, or the one that ID names.

    \b
    Examples:
      backscroll resume 4f8c
      backscroll resume 4f8c --run
    """
    from backscroll.library.chats.resume import resume_of

    request = current_request()
    library = open_library(request)
    resume = resume_of(library, library.find(name), name)
    if request.json:
        write_json({"session": resume.session, "folder": resume.folder, "command": resume.command})
    elif run:
        check(resume)
        start(resume)
    else:
        write(as_line(resume))


def as_line(resume: "Resume") -> str:
    """The command for a shell."""
    folder = f"cd {shlex.quote(clean_line(resume.folder))} && " if resume.folder else ""
    return folder + shlex.join(resume.command)


def check(resume: "Resume") -> None:
    """Raise an error if Claude Code cannot be started, before we give up the terminal."""
    current_request().refuse_demo("start Claude Code")
    missing = None
    if resume.folder and not Path(resume.folder).is_dir():
        missing = f"the folder {resume.folder} is gone"
    elif shutil.which(resume.command[0]) is None:
        missing = f"{resume.command[0]} is not on the PATH"
    if missing:
        raise BackscrollError(missing, "see backscroll resume without --run")


def start(resume: "Resume") -> NoReturn:
    """Replace this process by Claude Code."""
    if resume.folder:
        os.chdir(resume.folder)
    os.execvp(resume.command[0], resume.command)  # noqa: S606 - what the user asked for
