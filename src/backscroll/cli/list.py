"""`backscroll list`: the chats, newest first."""

import shutil
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import global_options, request
from backscroll.cli.output import open_shelf, write, write_json
from backscroll.errors import NothingFound
from backscroll.render.terminal import clean_line

if TYPE_CHECKING:
    from backscroll.library import Chat

HEADINGS = ("ID", "LAST ACTIVE", "PROJECT", "MESSAGES", "TITLE")


@click.command("list", short_help="Your chats, newest first.")
@click.option("--project", metavar="TEXT", help="Only chats of projects whose path has this in it.")
@click.option("--since", metavar="TIME", help="Only chats that were active since: 2026-01-05, yesterday, 3d, 2w.")
@click.option("--until", metavar="TIME", help="Only chats that began before the end of this day, or this time.")
@click.option("--branch", metavar="TEXT", help="Only chats on a branch of git whose name has this in it.")
@click.option("--model", metavar="TEXT", help="Only chats with a model whose name has this in it.")
@click.option("--title", metavar="TEXT", help="Only chats whose title has this in it.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="NUMBER", help="At most so many.")
@global_options
def command(
    project: str | None,
    since: str | None,
    until: str | None,
    branch: str | None,
    model: str | None,
    title: str | None,
    limit: int | None,
) -> None:
    """List your chats, the one that was last active first.

    A chat is the whole conversation, however many session files it is scattered over: resumed, forked and rewound.

    \b
    Examples:
      backscroll list --since 3d
      backscroll list --project shop --title parser
      backscroll list --json | jq -r '.chats[].id'
    """
    from backscroll.library import Filter
    from backscroll.query import parse_moment

    now = datetime.now().astimezone()
    wanted = Filter(
        project=project,
        since=parse_moment(since, now) if since else None,
        until=parse_moment(until, now, end=True) if until else None,
        branch=branch,
        model=model,
        title=title,
    )
    asked = request()
    shelf = open_shelf(asked)
    chats = shelf.chats(wanted)
    if not chats:
        raise NothingFound("no chats", "try fewer filters, or name a home with --home")
    chats = chats[:limit]
    if asked.json:
        from backscroll.render.chats import chat_as_json

        write_json({"chats": [chat_as_json(chat, archived=shelf.is_archived(chat)) for chat in chats]})
    else:
        for line in _table([(chat, shelf.is_archived(chat)) for chat in chats]):
            write(line)


def _table(chats: list[tuple["Chat", bool]]) -> list[str]:
    """Columns that fit the terminal; whole ones where the output goes elsewhere."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    rows = [_row(chat, archived) for chat, archived in chats]
    project_width = min(max(len(row[2]) for row in [HEADINGS, *rows]), max(10, width // 5))
    lines = [click.style(_line(HEADINGS, project_width, width), bold=True)]
    return lines + [_line(row, project_width, width) for row in rows]


def _row(chat: "Chat", archived: bool) -> tuple[str, str, str, str, str]:
    when = f"{chat.last_active.astimezone():%Y-%m-%d %H:%M}" if chat.last_active else "-"
    counts = ((len(chat.branches), "branches"), (len(chat.leaves), "leaves"))
    marks = ["archived"] * archived + [f"{count} {name}" for count, name in counts if count > 1]
    title = clean_line(chat.title) + (f" ({', '.join(marks)})" if marks else "")
    name = clean_line(chat.project or "-").replace("\\", "/").rstrip("/").split("/")[-1] or "/"
    return clean_line(chat.id[:8]), when, name, f"{chat.messages:,}", title


def _line(row: tuple[str, str, str, str, str], project_width: int, width: int) -> str:
    name, when, project, messages, title = row
    start = f"{name:<8}  {when:<16}  {_cut(project, project_width):<{project_width}}  {messages:>8}  "
    return start + _cut(title, max(10, width - len(start)))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
