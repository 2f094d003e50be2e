"""`backscroll install`: archive every conversation automatically, and let Claude Code recall them."""

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import Request, current_request, global_options
from backscroll.cli.output import warning, write, write_json, write_note
from backscroll.errors import BackscrollError, UsageError
from backscroll.render.terminal import clean, clean_line

if TYPE_CHECKING:
    from backscroll.library.setup.edits import InstallPlan, Words
    from backscroll.library.setup.timers import Kind

YES = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")


@click.command("install")
@click.argument("what", type=click.Choice(["hooks", "timer", "claude"]))
@YES
@click.option("--print", "only_print", is_flag=True, help="Only print what would be written; change nothing.")
@click.option(
    "--kind",
    type=click.Choice(["systemd", "launchd", "cron"]),
    help="For timer: what runs it. Default: whichever this system has.",
)
@click.option(
    "--hint/--no-hint",
    default=None,
    help="For claude: tell Claude Code at the start of each session that it can recall. Default: no hint.",
)
@global_options()
def command(what: str, yes: bool, only_print: bool, kind: "Kind | None", hint: bool | None) -> None:
    """Archive every conversation automatically before it is deleted, and let Claude Code recall them.

    hooks: Claude Code runs `backscroll keep` in the background whenever a session starts or ends. They are added to
    settings.json of the home; nothing else in it changes.

    timer: systemd or launchd runs `backscroll keep` every hour. On systems with neither, prints a line for cron.

    claude: a plugin for Claude Code, with tools, a skill and commands to recall earlier conversations, and a hook that
    archives each one when it ends. It is written into the library and added with `claude plugin`. Run this again after
    you move or update backscroll.

    Shows what would change and asks before changing it. With --json it never asks: without --yes it only shows the
    changes.

    \b
    Examples:
      backscroll install hooks
      backscroll install hooks --home ~/.claude --home ~/.claude-work --yes
      backscroll install timer
      backscroll install timer --kind systemd --print
      backscroll install claude
    """
    from backscroll.library.homes import open_homes
    from backscroll.library.setup.hooks import plan_hooks
    from backscroll.library.setup.program import keep_command
    from backscroll.library.setup.timers import plan_timer, timer_kind

    request = current_request()
    request.refuse_demo("install anything")
    settings = request.settings()
    if what != "timer" and kind:
        raise UsageError("--kind is only for a timer", "leave it out, or run backscroll install timer")
    if what != "claude" and hint is not None:
        raise UsageError("--hint is only for the plugin", "leave it out, or run backscroll install claude")
    if what == "claude":
        from backscroll.library.setup.plugin import plan_plugin

        plugin = plan_plugin(open_homes(settings, with_caches=False), settings, hint=hint)
        confirm_and_apply(request, [plugin], yes=yes, only_show=only_print, nothing="the plugin is already installed")
        return
    if what == "hooks":
        plans = [plan_hooks(home, settings) for home in open_homes(settings, with_caches=False)]
        confirm_and_apply(request, plans, yes=yes, only_show=only_print, nothing="the hooks are already installed")
        return
    words = keep_command(settings)
    if only_print and not request.json:
        _print_timer(kind or timer_kind(), words, quiet=request.quiet)
        return
    plan = plan_timer(kind or timer_kind(), words)
    confirm_and_apply(request, [plan], yes=yes, only_show=only_print, nothing="the timer is already installed")


def confirm_and_apply(
    request: Request, plans: "Sequence[InstallPlan]", *, yes: bool, only_show: bool = False, nothing: str
) -> None:
    """Show what each plan would change, ask, and carry it out."""
    changed = False
    left: list[Words] = []
    if yes and not only_show:
        _refuse_read_only(plans)
    for plan in plans:
        if not request.json:
            _show(plan, nothing, in_full=only_show)
        if not plan.is_empty and not only_show and (yes or (not request.json and _is_wanted(plan))):
            left += _carry_out(plan, request)
            changed = True
    if request.json:
        write_json(
            {
                "changed": changed,
                "files": [str(edit.path) for plan in plans for edit in plan.edits],
                "diff": "".join(plan.diff for plan in plans),
                "commands": [list(words) for plan in plans for words in plan.first + plan.then],
                "not_run": [list(words) for words in left],
                "cron": next((plan.cron for plan in plans if plan.cron), None),
            }
        )
    if left:
        raise _not_finished(left)


def _show(plan: "InstallPlan", nothing: str, *, in_full: bool) -> None:
    if plan.cron:
        write("This system has neither systemd nor launchd. Run `crontab -e` and add this line:")
        write(clean_line(plan.cron))
    elif plan.is_empty:
        write(f"Nothing to do: {nothing}.")
    else:
        if change := clean(plan.diff if in_full else plan.summary).rstrip("\n"):
            write(change)
        for words in plan.first + plan.then:
            write(f"run: {clean_line(shlex.join(words))}")
    if plan.note:
        write_note(warning(f"note: {clean_line(plan.note)}"))


def _is_wanted(plan: "InstallPlan") -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            "this asks for confirmation, but the input is not a terminal; nothing was changed", "add --yes"
        )
    files = ", ".join(clean_line(str(edit.path)) for edit in plan.edits)
    is_one_thing = files and plan.summary == plan.diff
    wanted = click.confirm(f"Change {files}?" if is_one_thing else "Do this?" if files else "Run this?", err=True)
    for path in plan.read_only if wanted else ():
        wanted = wanted and click.confirm(f"{clean_line(str(path))} is read-only. Change it anyway?", err=True)
    if not wanted:
        write("Nothing was changed.")
    return wanted


def _refuse_read_only(plans: "Sequence[InstallPlan]") -> None:
    """Raise an error for a read-only file: a program that writes it again may have made it so; the user decides."""
    for path in (path for plan in plans for path in plan.read_only):
        hint = (
            "run this on a terminal without --yes, make the file writable, or add what --print shows where it is made"
        )
        raise BackscrollError(f"{path} is read-only; nothing was changed", hint)


def _carry_out(plan: "InstallPlan", request: Request) -> "list[Words]":
    left = plan.carry_out()
    if not left and not request.json:
        write("Done.")
    return left


def _not_finished(left: "Sequence[Words]") -> BackscrollError:
    from backscroll.library.setup.edits import program_of

    programs = " and ".join(dict.fromkeys(program_of(words) for words in left))
    commands = "\n".join(f"  {shlex.join(words)}" for words in left)
    return BackscrollError(
        f"not finished: {programs} is not on the PATH, so this was not run:\n{commands}",
        f"install {programs} or add it to the PATH, then run the same command again",
    )


def _print_timer(kind: "Kind", words: Sequence[str], *, quiet: bool) -> None:
    from backscroll.library.setup.timers import cron_line, launchd_files, systemd_files

    if kind == "cron":
        write(clean_line(cron_line(words)))
        return
    files = systemd_files(words) if kind == "systemd" else launchd_files(words)
    for path, data in files.items():
        if not quiet:
            write_note(f"{clean_line(str(path))}:")
        write(clean(data.decode()))
