"""`backscroll list`: the chats, newest first."""

import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options, limit_option
from backscroll.cli.output import heading, open_library, warning, write_json, write_note
from backscroll.cli.paging import width, write_lines
from backscroll.errors import NothingFound
from backscroll.render.projects import project_name
from backscroll.render.reports import dollars, duration, short
from backscroll.render.terminal import clean_line, minute, plural, zone_of

if TYPE_CHECKING:
    from backscroll.library import StoredChat
    from backscroll.library.marks import Mark

TITLE = 28
"""Least width of a title: tokens and cost are left out before it becomes narrower."""
SORTS = ("newest", "oldest", "cost", "messages", "active")


@click.command("list")
@click.argument("query", metavar="[QUERY]", default="")
@click.option("--project", metavar="TEXT", help="Only chats of projects whose path contains this.")
@click.option("--since", metavar="TIME", help="Only chats active since this time: 2026-02, mon, 3d, 3mo.")
@click.option("--until", metavar="TIME", help="Only chats that began by the end of this day, or by this time.")
@click.option("--branch", metavar="TEXT", help="Only chats on a git branch whose name contains this.")
@click.option("--model", metavar="TEXT", help="Only chats with a model whose name contains this.")
@click.option("--title", metavar="TEXT", help="Only chats whose title contains this.")
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="newest",
    help="Newest or oldest first, or the highest cost, number of messages or active time first.",
)
@limit_option("chats")
@global_options()
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
      backscroll list --since 'last month' --sort cost
      backscroll list --project shop --title parser
      backscroll list 'is:pinned OR tag:review'
      backscroll list --json | jq -r '.chats[].id'
    """
    from backscroll.cli.sync_forgets import hidden_chats, hidden_line
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
    hidden = hidden_chats(request.settings())
    notice = hidden_line(hidden)
    if notice and not request.json and (not chats or not sys.stdout.isatty()):
        write_note(notice)
    if not chats:
        raise NothingFound("no chats", "use fewer filters, or choose a home with --home")
    from backscroll.library.marked_chats import marked_chat

    marked = [(chat, marked_chat(library, chat).mark) for chat in chats]
    total = library.count_chats(wanted) if limit is not None else len(chats)
    if request.json:
        from backscroll.render.chats import chat_as_json

        write_json({
            "chats": [
                {
                    **chat_as_json(
                        chat.overview,
                        archived=chat.archived,
                        pinned=mark.pinned,
                        tags=mark.tags,
                        machines=chat.machines,
                    ),
                    "tokens": chat.tokens,
                    "cost_microdollars": chat.cost_microdollars,
                    "unrecorded_tokens": chat.unrecorded_tokens,
                    "unrecorded_cost_microdollars": chat.unrecorded_microdollars,
                }
                for chat, mark in marked
            ],
            "total": total,
            **({"hidden": len(hidden)} if hidden else {}),
        })  # fmt: skip
        return
    first = [warning(notice)] if notice and sys.stdout.isatty() else []
    write_lines([*first, *_lines([(chat, mark, library.machines_of(chat)) for chat, mark in marked], sort)])
    if total > len(chats) and not request.quiet:
        write_note(f"{plural(total - len(chats), 'more chat')}: --limit")


def _lines(chats: "list[tuple[StoredChat, Mark, tuple[str, ...]]]", sort: str) -> list[str]:
    """Return columns that fit the terminal; uncut when piped. If there is room for them, also tokens and cost."""
    from backscroll.render.layout import Column
    from backscroll.render.tables import fit

    zone = zone_of(stored.overview.last_active for stored, _, _ in chats)
    columns = [
        Column("ID", shrinks="never"),
        Column(f"LAST ACTIVE {zone}".rstrip(), shrinks="never"),
        Column("PROJECT", least=16),
        Column("MESSAGES", right=True, shrinks="never", short="MSGS"),
        Column("ACTIVE", right=True, shrinks="never", extra=0 if sort == "active" else 3),
        Column("TOKENS", right=True, shrinks="never", extra=2),
        Column("COST", right=True, shrinks="never", extra=0 if sort == "cost" else 1),
        Column("TITLE", least=TITLE),
    ]
    rows, room = [_row(*chat) for chat in chats], width()
    if room is None:  # programs get the columns that they always got, and the one it is sorted by
        numbers = [number for number, column in enumerate(columns) if not column.extra]
        columns, rows = [columns[number] for number in numbers], [[row[number] for number in numbers] for row in rows]
    fitted = fit(columns, rows, room)
    return [heading(fitted.lines[0]), *fitted.lines[1:]]


def _row(stored: "StoredChat", mark: "Mark", machines: tuple[str, ...]) -> list[str]:
    chat = stored.overview
    counts = ((chat.branches, "branches"), (len(chat.leaves), "leaves"))
    marks = ["archived"] * stored.archived + [f"{count} {name}" for count, name in counts if count > 1]
    marks += [f"on {clean_line(machine)}" for machine in machines]
    marks += [f"tag:{clean_line(tag)}" for tag in mark.tags]
    title = "* " * mark.pinned + clean_line(chat.title) + (f" ({', '.join(marks)})" if marks else "")
    name = project_name(chat.project)
    cost = dollars(stored.cost_microdollars)
    return [
        clean_line(chat.id[:8]), minute(chat.last_active), name, f"{chat.messages:,}", duration(chat.active_seconds),
        short(stored.tokens), cost, title,
    ]  # fmt: skip
