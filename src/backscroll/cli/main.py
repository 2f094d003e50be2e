"""The entry point of the command line: runs the command, and turns every error into one format and one exit code."""

import gc
import importlib
import os
import sys

import click

from backscroll import __version__
from backscroll.cli.groups import LazyGroup
from backscroll.cli.options import Request, global_options
from backscroll.cli.output import no_history_for, with_other_homes, write_error, write_no_history
from backscroll.errors import (
    INTERRUPTED,
    BackscrollError,
    NothingFound,
    StorageError,
    UsageError,
    not_installed,
    storage_error,
)

COMMANDS = {
    "open": "Read your chats in the browser, live.",
    "search": "Search everything in your chats.",
    "find": "Search as you type, and pick a chat.",
    "recall": "Answer a question from earlier chats.",
    "recalls": "List, save and delete saved answers.",
    "list": "List your chats, newest first.",
    "show": "Read a chat.",
    "follow": "Show a session as it is written.",
    "tree": "Show the sessions, branches, compactions and agents of a chat.",
    "export": "Write chats to files for sharing.",
    "resume": "Resume a chat in Claude Code.",
    "pin": "Pin a chat, or list pinned chats.",
    "tag": "Tag a chat, or list tags.",
    "note": "Add a note to a chat, or list notes.",
    "saved": "List or delete saved searches.",
    "prompts": "Keep prompts as templates, and install them as slash commands.",
    "sql": "Query the index with SQL, read-only.",
    "prices": "The prices of models, and their source.",
    "stats": "Tokens, costs, tools, errors and time.",
    "statusline": "One line for Claude Code's status line.",
    "blame": "Which chats changed a file, when, and with which prompt.",
    "file": "What a file looked like at a message or a time.",
    "update": "Bring the library up to date.",
    "watch": "Keep the library up to date while you work.",
    "keep": "Archive everything before Claude Code deletes it.",
    "archive": "Check, back up and restore the verbatim copies.",
    "sync": "One history on several machines, through a folder or a bucket.",
    "connect": "Send your history to a team server.",
    "server": "Run a server that a team shares.",
    "mcp": "Let agents recall earlier chats: an MCP server.",
    "install": "Archive automatically, and let Claude Code recall.",
    "uninstall": "Remove the hooks, the timer or the plugin.",
    "status": "What runs now, today's cost, what will be deleted soon.",
    "doctor": "Check your homes and the library; list what will be deleted soon.",
    "inspect": "Show what session files contain.",
    "completion": "Completion for bash, zsh and fish; the man page.",
    "demo": "Try it on sample conversations, in the browser.",
}
"""Each command with its summary. The module of the same name has it as `command`."""


@click.command(
    cls=LazyGroup,
    package="backscroll.cli",
    summaries=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="backscroll", message="%(prog)s %(version)s")
@global_options()
@click.pass_context
def backscroll(context: click.Context) -> None:
    """Keep, find, read and count every conversation you had with Claude Code.

    \b
    Examples:
      backscroll search 'flaky test'        find what was said, thought, run or returned
      backscroll list --since 3d            your conversations, newest first
      backscroll show 4f8c                  read one
      backscroll keep                       keep everything, before Claude Code deletes it
      backscroll doctor                     what is there, and what will be deleted when
      backscroll demo                       try it on sample conversations, in the browser
    """
    if os.environ.get("NO_COLOR"):
        context.color = False
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if "_BACKSCROLL_COMPLETE" in os.environ:
        importlib.import_module("backscroll.cli.completion_values")  # tells click how bash asks
    # A command keeps most of what it allocates: collecting garbage as often as usual would cost a fifth of its time.
    gc.set_threshold(100_000, 20, 20)
    for stream in (sys.stdout, sys.stderr):
        # A file name that is not UTF-8 must not crash the program; as `\udcff` it is even valid JSON.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(run(arguments))


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code: the one place where errors become exit codes."""
    request = Request()
    with request.closing:
        return _run(arguments, request)


def _run(arguments: list[str], request: Request) -> int:
    as_json = "--json" in arguments
    output = sys.stdout
    try:
        result = backscroll.main(args=arguments, prog_name="backscroll", standalone_mode=False, obj=request)
        sys.stdout.flush()
        code = result if isinstance(result, int) else 0
        if request.reads_history:
            write_no_history(request, as_json=as_json and code != 0)
    except BackscrollError as error:
        if isinstance(error, NothingFound):
            error = no_history_for(request) or with_other_homes(request, error)
        write_error(error, as_json=as_json)
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())  # a group without a command, such as `backscroll archive`
        return 0
    except click.ClickException as error:
        from backscroll.cli.mistakes import usage_error

        write_error(usage_error(error), as_json=as_json)
        return UsageError.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _stop_writing()
    except SystemExit:
        if sys.stdout is output:
            raise
        sys.stdout = output  # click has replaced it, as it does after a broken pipe, and would have the exit code be 1
        return _stop_writing()
    except ImportError as error:
        missing = not_installed(error)
        if missing is None:
            raise
        write_error(missing, as_json=as_json)
        return missing.exit_code
    except OSError as error:
        write_error(storage_error(error), as_json=as_json)
        return StorageError.exit_code
    return code


def _stop_writing() -> int:
    """Stop quietly when the reader of our output stopped early, as `head` does. Python would complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
