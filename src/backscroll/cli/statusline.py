"""`backscroll statusline`: one line for the bottom of Claude Code."""

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import write, write_json
from backscroll.cli.statusline_text import answer_to, from_stdin, line


@click.command("statusline")
@global_options(unused=("home",), instead="its numbers come from the library")
def command() -> None:
    """Print the model, this chat's cost and tokens, today's cost, and the rate of the five-hour window.

    Reads the JSON that Claude Code sends to a status line on stdin. The numbers for chat, day and window come from the
    index as of the last update (`backscroll watch`, or the hooks of `backscroll install`, keep it current); without an
    index the line shows only what stdin has. Takes about 40 ms of CPU beyond the start of Python (with options, which
    need click, 54). In ~/.claude/settings.json: "statusLine": {"type": "command", "command": "backscroll statusline"}

    \b
    Examples:
      backscroll statusline < status.json
      echo '{"model": {"display_name": "Opus"}}' | backscroll statusline
    """
    answer = answer_to(from_stdin(), current_request().settings())
    if current_request().json:
        write_json(answer)
    else:
        write(line(answer))
