"""`backscroll resume`: go on with a chat in Claude Code."""

import os
import shlex

import click

from backscroll.cli.options import global_options, request
from backscroll.cli.output import open_library, write, write_json
from backscroll.errors import BackscrollError, NothingFound
from backscroll.render.terminal import clean_line


@click.command("resume", short_help="The command that goes on with a chat in Claude Code.")
@click.argument("name", metavar="ID")
@click.option("--run", is_flag=True, help="Run the command instead of printing it.")
@global_options
def command(name: str, run: bool) -> None:
    """Print the command that resumes a chat in Claude Code, in its folder and with the right session.

    ID is the beginning of the id of a chat, session, message or agent. Of a chat with several leaves, the one that was
    last active is resumed, or the one that ID names.

    \b
    Examples:
      backscroll resume 4f8c
      backscroll resume 4f8c --run
    """
    asked = request()
    library = open_library(asked)
    stored = library.find(name)
    chat = library.open(stored, with_records=False).chat
    leaf = next((leaf for leaf in chat.leaves if (leaf.session_id or "").startswith(name.lower())), None)
    leaf = leaf or (chat.leaves[0] if chat.leaves else None)
    if leaf is None or not leaf.session_id:
        raise NothingFound("the session of this agent is gone", "resume needs the session's own file")
    if stored.archived:
        hint = f"put it back first: backscroll archive restore {leaf.session_id[:8]} --in-place"
        raise NothingFound("Claude Code has deleted this session; it is only in the archive", hint)
    folder = leaf.project
    if asked.json:
        write_json({"session": leaf.session_id, "folder": folder, "command": ["claude", "--resume", leaf.session_id]})
        return
    if not run:
        start = f"cd {shlex.quote(clean_line(folder))} && " if folder else ""
        write(f"{start}claude --resume {shlex.quote(leaf.session_id)}")
        return
    try:
        if folder:
            os.chdir(folder)
        os.execvp("claude", ["claude", "--resume", leaf.session_id])  # noqa: S606, S607 - what the user asked for
    except FileNotFoundError as error:
        missing = f"the folder {folder} is gone" if error.filename == folder else "claude is not on the PATH"
        raise BackscrollError(missing, "see backscroll resume without --run") from error
