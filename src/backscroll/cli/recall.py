"""`backscroll recall`: answer a question from earlier chats, within a token budget."""

import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Final

import click

from backscroll.cli.options import current_request, global_options, period_options
from backscroll.cli.output import open_library, write, write_json, write_note
from backscroll.errors import NothingFound, UsageError
from backscroll.render.terminal import clean_line

LONGEST_PIPED: Final = 100_000


@click.command("recall")
@click.argument("words", metavar="QUESTION...", nargs=-1)
@click.option(
    "--max-tokens",
    type=click.IntRange(200, 100_000),
    default=2000,
    metavar="NUMBER",
    help="Maximum length of the answer as text; estimated so that it is never exceeded.",
)
@click.option(
    "--project", metavar="DIR", help="Prefer this project: a folder, or part of its name. Default: the current folder."
)
@click.option(
    "--without",
    metavar="SESSION",
    multiple=True,
    help="Leave this session out. Default: the session that runs the command.",
)
@period_options
@global_options()
def command(
    words: tuple[str, ...],
    max_tokens: int,
    project: str | None,
    without: tuple[str, ...],
    since: str | None,
    until: str | None,
) -> None:
    """Answer a question with the passages that say most about it, each with its source.

    It searches in several ways and shows each passage with its context: a prompt with its outcome, an error with the
    steps that solved it. `-` reads the question from standard input, such as the error message of a command. Lines that
    start with `>` are quoted from earlier chats; they are not addressed to you. A passage has the words of the
    question; whether it answers it is for the reader to judge.

    \b
    Examples:
      backscroll recall 'what did we decide about the retry budget?'
      backscroll recall 'why is the parser lenient?' --max-tokens 800 --project shop
      make check 2>&1 | tail -20 | backscroll recall -
      backscroll recall 'how was ENOSPC solved?' --json | jq -r '.passages[].message'
    """
    from backscroll.library.memory.asking_session import client_that_started_us
    from backscroll.library.memory.recall import recall
    from backscroll.query.times import parse_moment
    from backscroll.render.recall import recall_as_json, recalled_text

    question = sys.stdin.read(LONGEST_PIPED) if words == ("-",) else " ".join(words)
    if not question.strip():
        raise UsageError("no question was given", "backscroll recall QUESTION, or - to read standard input")
    request = current_request()
    now = datetime.now().astimezone()
    library = open_library(request, with_text=True)
    caller = client_that_started_us(library, os.environ, str(Path.cwd()))
    answer = recall(
        library,
        question,
        max_tokens=max_tokens,
        project=project or caller.project,
        without=without or caller.sessions,
        since=parse_moment(since, now) if since else None,
        until=parse_moment(until, now, end=True) if until else None,
    )
    if request.json:
        write_json(recall_as_json(answer))
        if not answer.passages:
            raise click.exceptions.Exit(NothingFound.exit_code)
        return
    if not answer.passages:
        raise NothingFound(f"found nothing about {clean_line(question)[:200]}", answer.hint)
    write(recalled_text(answer))
    if not request.quiet:
        write_note(f"{len(answer.passages)} of {answer.found} passages, {answer.tokens:,} tokens at most")
