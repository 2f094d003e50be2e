"""`backscroll resume`: continue a chat in Claude Code, wherever its files and its folder are now."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from backscroll.cli.options import FOLDER, current_request, global_options
from backscroll.cli.output import open_library, warning, write, write_json, write_note
from backscroll.errors import BackscrollError, Busy, NothingFound, UsageError
from backscroll.render.terminal import clean_line, plural, short_id

if TYPE_CHECKING:
    from backscroll.library.chats.resume import Resume
    from backscroll.library.library import Library
    from backscroll.library.resuming.plan import ResumePlan


@click.command("resume")
@click.argument("name", metavar="[ID]", default="")
@click.option("--branch", type=click.IntRange(min=1), metavar="N", help="Resume this branch; see backscroll tree.")
@click.option("--in", "folder", type=FOLDER, metavar="DIR", help="Resume in this folder.")
@click.option("--fork", is_flag=True, help="Continue in a new session, and leave this one as it is.")
@click.option("--run", is_flag=True, help="Do not ask.")
@global_options()
def command(name: str, branch: int | None, folder: Path | None, fork: bool, run: bool) -> None:
    """Resume a chat in Claude Code: restore what is deleted, find the folder of the project, and start the client.

    ID is the start of a chat, session, message or agent id; without one, the newest chat of the current folder is
    meant. If a chat has several branch ends, the most recently active one is resumed, or the one that ID or --branch
    names. Claude Code cannot resume a branch that you rewound.

    Shows what will be done and asks. With --run it does not ask, and stops where it would have to guess; without a
    terminal, it prints the commands. Files that are there are never overwritten.

    If the folder of the project is gone, it is looked for: a repository with the same git remote, the repository of a
    worktree that was removed, the same place in your home folder, or the nearest folder above that is left. Name
    another one with --in. A session that is open in another terminal is better forked: --fork.

    \b
    Examples:
      backscroll resume
      backscroll resume 4f8c
      backscroll resume 4f8c --run
      backscroll resume 4f8c --in ~/work/shop
      backscroll resume 4f8c --fork
    """
    from backscroll.library.resuming.plan import newest_here, plan_resume

    request = current_request()
    library = open_library(request)
    stored = library.find(name) if name else newest_here(library, Path.cwd())
    plan = plan_resume(library, stored, "" if branch else name, branch, chosen=folder, fork=fork)
    if branch is not None and plan.resume.branch != branch:
        raise NothingFound(f"branch {branch} was rewound, or does not exist", "see backscroll tree; resume another one")
    if request.json:
        write_json(plan_as_json(plan))
    elif run:
        request.refuse_demo("start Claude Code")
        carry_out(library, _without_questions(plan))
    elif sys.stdin.isatty() and sys.stdout.isatty():
        _write_plan(plan)
        request.refuse_demo("start Claude Code")
        carry_out(library, _ask(plan))
    else:
        _write_commands(plan)


def carry_out(library: "Library", plan: "ResumePlan") -> NoReturn:
    """Restore what must be restored, and replace this process by Claude Code."""
    from backscroll.library.resuming import plan as planning

    check(plan.resume)
    done = planning.carry_out(library, plan)
    if done and not current_request().quiet:
        restored = [item for item in done if item.outcome == "restored"]
        write_note(f"restored {plural(len(restored), 'file')} into {clean_line(str(plan.home))}")
    start(plan.resume)


def as_line(resume: "Resume") -> str:
    """Return the command for a shell, safe to print."""
    return resume._replace(folder=clean_line(resume.folder) if resume.folder else None).line


def check(resume: "Resume") -> None:
    """Raise an error if Claude Code cannot be started, before we give up the terminal."""
    from backscroll.library.chats.resume import obstacle

    current_request().refuse_demo("start Claude Code")
    if (missing := obstacle(resume)) is not None:
        raise BackscrollError(missing, "see backscroll resume without --run")


def start(resume: "Resume") -> NoReturn:
    """Replace this process by Claude Code."""
    from backscroll.library.chats.resume import CONFIG

    if resume.folder:
        os.chdir(resume.folder)
    if resume.config:
        os.environ[CONFIG] = resume.config
    elif resume.config == "":
        os.environ.pop(CONFIG, None)
    os.execvp(resume.command[0], resume.command)  # noqa: S606 - what the user asked for


def plan_as_json(plan: "ResumePlan") -> dict[str, object]:
    """Return the plan, as JSON."""
    running = plan.running
    return {
        "session": plan.resume.session,
        "folder": plan.resume.folder,
        "command": plan.resume.command,
        "environment": {} if plan.resume.config is None else {"CLAUDE_CONFIG_DIR": plan.resume.config or None},
        "first": plan.commands,
        "project": plan.project,
        "folder_is_sure": plan.folder.is_sure,
        "folder_because": plan.folder.how,
        "other_folders": list(plan.folder.others),
        "restored_because": plan.restores,
        "running": {"pid": running.pid, "folder": running.cwd} if running else None,
    }


def _without_questions(plan: "ResumePlan") -> "ResumePlan":
    """Return the plan, if it needs no answer; raise an error that names the option otherwise."""
    from backscroll.library.resuming.plan import CHOOSE

    if plan.running is not None and not plan.resume.is_fork:
        raise Busy(f"this session is open in another terminal: {_running_words(plan)}", "add --fork, or close it there")
    if not plan.folder.is_sure:
        places = ", ".join(path for path in (plan.folder.path, *plan.folder.others) if path)
        raise BackscrollError(
            f"the folder {plan.project} is gone", f"{CHOOSE}; it may be {places}" if places else CHOOSE
        )
    return plan


def _write_plan(plan: "ResumePlan") -> None:
    """Print the steps of the plan."""
    write(f"{short_id(clean_line(plan.chat))}  {clean_line(plan.title)}")
    if plan.running is not None:
        write(warning(f"  open     {_running_words(plan)}"))
    elif plan.is_growing:
        write(warning("  open     perhaps: it was written a moment ago"))
    if plan.restores:
        write(f"  restore  into {clean_line(str(plan.home))}: {clean_line(plan.restores)}")
    if plan.into is not None:
        write("  copy     into the project of this folder, where your version of Claude Code looks for it")
    if not plan.folder.is_sure:
        write(warning(f"  folder   {clean_line(plan.project or '')} is gone"))
    elif plan.resume.folder:
        write(f"  folder   {clean_line(plan.resume.folder)}{_because(plan)}")
    write(f"  run      {clean_line(shlex.join(plan.resume.command))}")


def _because(plan: "ResumePlan") -> str:
    folder = plan.folder
    if folder.path is None and plan.project:
        return ", which is gone"
    if not folder.how or plan.project == folder.path:
        return ""
    if folder.how == "you chose it":
        return ""
    return f" ({clean_line(plan.project or '')} is gone; {folder.how})"


def _running_words(plan: "ResumePlan") -> str:
    running = plan.running
    where = f" in {clean_line(running.cwd)}" if running and running.cwd else ""
    return f"process {running.pid}{where}" if running else ""


def _ask(plan: "ResumePlan") -> "ResumePlan":
    """Ask the open questions: the folder, whether to fork, and whether to begin."""
    if not plan.folder.is_sure:
        plan = _ask_for_folder(plan)
    if plan.running is not None and not plan.resume.is_fork:
        choice = click.prompt(
            "It is open in another terminal. [f]ork it, [r]esume it all the same, or [n]othing?",
            type=click.Choice(["f", "r", "n"]), default="f", show_choices=False, err=True,
        )  # fmt: skip
        if choice == "n":
            raise click.Abort
        return plan._replace(resume=plan.resume._replace(is_fork=choice == "f"))
    click.confirm("Resume it?", default=True, abort=True, err=True)
    return plan


def _ask_for_folder(plan: "ResumePlan") -> "ResumePlan":
    from backscroll.library.resuming.plan import in_folder

    places = [path for path in (plan.folder.path, *plan.folder.others) if path]
    for number, path in enumerate(places, 1):
        write_note(f"  {number}  {clean_line(path)}")
    answer: str = click.prompt(
        "In which folder? A number, or a path" if places else "In which folder?",
        default="1" if places else None, err=True,
    )  # fmt: skip
    is_number = answer.isdecimal() and 0 < int(answer) <= len(places)
    try:
        return in_folder(plan, Path(places[int(answer) - 1] if is_number else answer))
    except UsageError as error:
        write_note(error.message)
        return _ask_for_folder(plan)


def _write_commands(plan: "ResumePlan") -> None:
    """Print the commands that carry out the plan, and on stderr their side conditions."""
    from backscroll.library.resuming.plan import CHOOSE

    folder = plan.folder
    if not folder.is_sure:
        places = "".join(f"\n  perhaps {clean_line(path)}" for path in (folder.path, *folder.others) if path)
        write_note(f"the folder {clean_line(plan.project or '')} is gone: {CHOOSE}{places}")
        plan = plan._replace(resume=plan.resume._replace(folder=plan.project), into=None)
    elif because := _because(plan):
        write_note(f"in {clean_line(folder.path or '')}{because}")
    if plan.running is not None and not plan.resume.is_fork:
        write_note(f"it is open in another terminal ({_running_words(plan)}): fork it with --fork")
    for words in plan.commands:
        write(clean_line(shlex.join(words)))
    write(as_line(plan.resume))
