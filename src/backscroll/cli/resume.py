"""`backscroll resume`: resume a chat in Claude Code."""

import os
from typing import TYPE_CHECKING, NoReturn

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library, write, write_json
from backscroll.errors import BackscrollError, NothingFound
from backscroll.render.terminal import clean_line

if TYPE_CHECKING:
    from backscroll.library.chats.resume import Resume


@click.command("resume")
@click.argument("name", metavar="ID")
@click.option("--branch", type=click.IntRange(min=1), metavar="N", help="Resume this branch; see backscroll tree.")
@click.option("--run", is_flag=True, help="Run the command instead of printing it.")
@global_options()
def command(name: str, branch: int | None, run: bool) -> None:
    """Print the command that resumes a chat in Claude Code, in its folder and with the right session.

    ID is the start of a chat, session, message or agent id. If a chat has several branch ends, the most recently active
    one is resumed, or the one that ID or --branch names. Claude Code cannot resume a branch that you rewound.

    \b
    Examples:
      backscroll resume 4f8c
      backscroll resume 4f8c --run
    """
    from backscroll.library.chats.resume import resume_of

    request = current_request()
    library = open_library(request)
    resume = resume_of(library, library.find(name), "" if branch else name, branch)
    if branch is not None and resume.branch != branch:
        raise NothingFound(f"branch {branch} was rewound, or does not exist", "see backscroll tree; resume another one")
    if request.json:
        write_json({"session": resume.session, "folder": resume.folder, "command": resume.command})
    elif run:
        check(resume)
        start(resume)
    else:
        write(as_line(resume))


def as_line(resume: "Resume") -> str:
    """The command for a shell, safe to print."""
    return resume._replace(folder=clean_line(resume.folder) if resume.folder else None).line


def check(resume: "Resume") -> None:
    """Raise an error if Claude Code cannot be started, before we give up the terminal."""
    from backscroll.library.chats.resume import obstacle

    current_request().refuse_demo("start Claude Code")
    if (missing := obstacle(resume)) is not None:
        raise BackscrollError(missing, "see backscroll resume without --run")


def start(resume: "Resume") -> NoReturn:
    """Replace this process by Claude Code."""
    if resume.folder:
        os.chdir(resume.folder)
    os.execvp(resume.command[0], resume.command)  # noqa: S606 - what the user asked for
