"""`backscroll list`: the chats, newest first."""

import shutil
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library, write, write_json
from backscroll.errors import NothingFound
from backscroll.render.cells import cells, cut
from backscroll.render.projects import project_name
from backscroll.render.terminal import clean_line

if TYPE_CHECKING:
    from backscroll.library import StoredChat
    from backscroll.library.marks import Mark

HEADINGS = ("ID", "LAST ACTIVE", "PROJECT", "MESSAGES", "TITLE")


@click.command("list")
@click.argument("query", metavar="[QUERY]", default="")
@click.option("--project", metavar="TEXT", help="Only chats of projects whose path contains this.")
@click.option("--since", metavar="TIME", help="Only chats active since this time: 2026-02, mon, 3d, 3mo.")
@click.option("--until", metavar="TIME", help="Only chats that began by the end of this day, or by this time.")
@click.option("--branch", metavar="TEXT", help="Only chats on a git branch whose name contains this.")
@click.option("--model", metavar="TEXT", help="Only chats with a model whose name contains this.")
@click.option("--title", metavar="TEXT", help="Only chats whose title contains this.")
@click.option("--sort", type=click.Choice(["newest", "oldest"]), default="newest", help="The order of the list.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="NUMBER", help="Show at most this many chats.")
@global_options
def command(
    query: str,
    project: str | None,
    since: str | None,
    until: str | None,
    branch: str | None,
    model: str | None,
    title: str | None,
    sort: str,
    limit: int | None,
) -> None:
    """List your chats, most recently active first.

    A chat is the whole conversation, even if resumes, forks and rewinds spread it over several session files. QUERY
    takes the fields of `backscroll search`; its words are searched in the titles.

    \b
    Examples:
      backscroll list --since 3d
      backscroll list --project shop --title parser
      backscroll list 'is:pinned OR tag:review'
      backscroll list --json | jq -r '.chats[].id'
    """
    from backscroll.query.parse import parse
    from backscroll.query.times import parse_moment
    from backscroll.query.tree import All, Field, Query

    now = datetime.now().astimezone()
    fields = [
        Field(name, "=", value)
        for name, value in (("project", project), ("branch", branch), ("model", model), ("title", title))
        if value
    ]
    if since:
        fields.append(Field("after", ">=", parse_moment(since, now)))
    if until:
        fields.append(Field("before", "<", parse_moment(until, now, end=True)))
    request = current_request()
    wanted = Query(query, All((*fields, *parse(query, now).root.parts)))
    # The newest chats come first, and are read first: a person need not wait for the rest, but a program does.
    is_shown_soon = wanted.is_empty and sort == "newest" and not request.json and sys.stdout.isatty()
    library = open_library(request, soon=is_shown_soon)
    chats = library.chats(wanted, limit=limit, sort=sort)
    if not chats:
        raise NothingFound("no chats", "use fewer filters, or choose a home with --home")
    from backscroll.library.marked_chats import marked_chat

    marked = [(chat, marked_chat(library, chat).mark) for chat in chats]
    if request.json:
        from backscroll.render.chats import chat_as_json

        write_json({
            "chats": [
                chat_as_json(
                    chat.overview, archived=chat.archived, pinned=mark.pinned, tags=mark.tags, machines=chat.machines
                )
                for chat, mark in marked
            ]
        })  # fmt: skip
    else:
        for line in _table([(chat, mark, library.machines_of(chat)) for chat, mark in marked]):
            write(line)


def _table(chats: "list[tuple[StoredChat, Mark, tuple[str, ...]]]") -> list[str]:
    """Columns that fit the terminal; uncut when piped."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    rows = [_row(*chat) for chat in chats]
    project_width = min(max(cells(row[2]) for row in [HEADINGS, *rows]), max(10, width // 5))
    lines = [click.style(_line(HEADINGS, project_width, width), bold=True)]
    return lines + [_line(row, project_width, width) for row in rows]


def _row(stored: "StoredChat", mark: "Mark", machines: tuple[str, ...]) -> tuple[str, str, str, str, str]:
    chat = stored.overview
    when = f"{chat.last_active.astimezone():%Y-%m-%d %H:%M}" if chat.last_active else "-"
    counts = ((chat.branches, "branches"), (len(chat.leaves), "leaves"))
    marks = ["archived"] * stored.archived + [f"{count} {name}" for count, name in counts if count > 1]
    marks += [f"on {clean_line(machine)}" for machine in machines]
    marks += [f"tag:{clean_line(tag)}" for tag in mark.tags]
    title = "* " * mark.pinned + clean_line(chat.title) + (f" ({', '.join(marks)})" if marks else "")
    name = project_name(chat.project)
    return clean_line(chat.id[:8]), when, name, f"{chat.messages:,}", title


def _line(row: tuple[str, str, str, str, str], project_width: int, width: int) -> str:
    name, when, project, messages, title = row
    project = cut(project, project_width)
    start = f"{name:<8}  {when:<16}  {project}{' ' * (project_width - cells(project))}  {messages:>8}  "
    return start + cut(title, max(10, width - cells(start)))
