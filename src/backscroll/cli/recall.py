"""`backscroll recall`: a question in plain words, answered with what was said, inside a budget of tokens."""

import json
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library, write, write_json, write_note
from backscroll.errors import NothingFound, UsageError
from backscroll.render.terminal import clean_line

LONGEST_PIPED: Final = 100_000


@click.command("recall", short_help="Answer a question with what was said, for people and agents.")
@click.argument("words", metavar="QUESTION...", nargs=-1)
@click.option(
    "--max-tokens",
    type=click.IntRange(200, 100_000),
    default=2000,
    metavar="NUMBER",
    help="How long the answer may be; counted so that it is never longer.",
)
@click.option("--project", metavar="DIR", help="Prefer this project: a folder, or a part of its name. Default: here.")
@click.option("--without", metavar="SESSION", multiple=True, help="Leave this session out. Default: the one that asks.")
@click.option("--since", metavar="TIME", help="From then on: 2026-01-05, yesterday, 7d.")
@click.option("--until", metavar="TIME", help="Up to the end of that day, or that time.")
@global_options
def command(
    words: tuple[str, ...],
    max_tokens: int,
    project: str | None,
    without: tuple[str, ...],
    since: str | None,
    until: str | None,
) -> None:
    """Answer a question in plain words with the passages that say most about it, each with where it stands.

    The question is asked in several ways, and what is found is told with what makes it an answer: a prompt with what
    came of it, an error with what was done until it was gone. `-` reads the question from standard input, as an error
    that a command wrote. What stands behind `>` is quoted: it was said then, to somebody else.

    \b
    Examples:
      backscroll recall 'what did we decide about the retry budget?'
      backscroll recall 'why is the parser lenient?' --max-tokens 800 --project shop
      make check 2>&1 | tail -20 | backscroll recall -
      backscroll recall 'how was ENOSPC solved?' --json | jq -r '.passages[].message'
    """
    from backscroll.library.memory.asking_session import client_that_started_us
    from backscroll.library.memory.recall import recall
    from backscroll.query import parse_moment
    from backscroll.render.recall import recall_as_json, recalled_text

    question = sys.stdin.read(LONGEST_PIPED) if words == ("-",) else " ".join(words)
    if not question.strip():
        raise UsageError("nothing to recall", "backscroll recall QUESTION, or - for what is piped in")
    request = current_request()
    now = datetime.now().astimezone()
    library = open_library(request, with_text=True)
    caller = client_that_started_us(library, os.environ, str(Path.cwd()))
    found = recall(
        library,
        question,
        max_tokens=max_tokens,
        project=project or caller.project,
        without=without or caller.sessions,
        since=parse_moment(since, now) if since else None,
        until=parse_moment(until, now, end=True) if until else None,
    )
    if request.json:
        write_json(_fitting(recall_as_json(found), max_tokens))
        if not found.passages:
            raise click.exceptions.Exit(NothingFound.exit_code)
        return
    if not found.passages:
        raise NothingFound(f"nothing is remembered of {clean_line(question)[:200]}", found.hint)
    write(recalled_text(found))
    if not request.quiet:
        write_note(f"{len(found.passages)} of {found.found} passages, {found.tokens:,} tokens at most")


def _fitting(answer: dict[str, Any], tokens: int) -> dict[str, Any]:
    """The same without its last passages, until it keeps to the budget with the marks of JSON and whole ids too."""
    from backscroll.library.memory.budget import tokens_of

    while answer["passages"] and tokens_of(json.dumps(answer, ensure_ascii=False, indent=2)) > tokens:
        answer["passages"].pop()
        answer |= {"is_cut": True, "hint": "ask for more tokens"}
    return answer
