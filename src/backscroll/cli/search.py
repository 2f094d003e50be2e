"""`backscroll search`: search everything in the chats."""

import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import no_history_for, open_library, warning, write, write_json, write_note
from backscroll.cli.paging import pages, width, write_lines
from backscroll.errors import NothingFound, UsageError
from backscroll.render.terminal import clean, clean_line, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from backscroll.cli.options import Request
    from backscroll.library import Hit
    from backscroll.library.library import Library
    from backscroll.library.searching.search import SearchResults

FIELDS = ("project", "branch", "model", "title", "tool", "file", "role", "since", "before")
SHOWN = 20
QUERY_MARK = "\N{NULL}"
"""Mark that keeps an argument with spaces from being read as an option; no argument can contain it."""


class QueryCommand(click.Command):
    """A command whose words may begin with dashes: `search '--force flag'` has no option of this name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments. No option has a space in its name, so such an argument is a query."""
        is_query = [" " in argument.split("=", 1)[0] for argument in args]
        marked = [
            f"{QUERY_MARK}{argument}" if is_text else argument for argument, is_text in zip(args, is_query, strict=True)
        ]
        rest = super().parse_args(ctx, marked)
        for name, value in ctx.params.items():
            if isinstance(value, str):
                ctx.params[name] = value.removeprefix(QUERY_MARK)
        ctx.params["words"] = tuple(word.removeprefix(QUERY_MARK) for word in ctx.params.get("words", ()))
        return rest


@click.command("search", cls=QueryCommand)
@click.argument("words", metavar="QUERY...", nargs=-1)
@click.option("--project", metavar="TEXT", help="The same as project:TEXT.")
@click.option("--branch", metavar="TEXT", help="The same as branch:TEXT.")
@click.option("--model", metavar="TEXT", help="The same as model:TEXT.")
@click.option("--title", metavar="TEXT", help="The same as title:TEXT.")
@click.option("--tool", metavar="NAME", help="The same as tool:NAME.")
@click.option("--file", metavar="PATH", help="The same as file:PATH.")
@click.option("--role", metavar="ROLE", help="The same as role:ROLE.")
@click.option("--since", metavar="TIME", help="The same as since:TIME.")
@click.option("--before", metavar="TIME", help="The same as before:TIME.")
@click.option(
    "--sort",
    type=click.Choice(["relevance", "newest", "oldest"]),
    default="relevance",
    help="The order of the results.",
)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1000), default=SHOWN, metavar="NUMBER", help="Show at most this many chats."
)
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="NUMBER", help="Skip this many chats.")
@click.option("--cursor", default="", metavar="CURSOR", help="Continue after a page: the cursor in its JSON.")
@click.option(
    "--hits", type=click.IntRange(1, 100), default=3, metavar="NUMBER", help="Show this many passages per chat."
)
@click.option(
    "-C", "--context", type=click.IntRange(0, 100), metavar="LINES", help="Show this many lines around a match."
)
@click.option("--save", metavar="NAME", help="Save this search under a name.")
@click.option("--saved", metavar="NAME", help="Run a saved search; QUERY is added to it.")
@click.option("--fields", "tell_fields", is_flag=True, help="List the fields of the query language, and nothing else.")
@global_options()
def command(
    words: tuple[str, ...],
    sort: str,
    limit: int,
    offset: int,
    cursor: str,
    hits: int,
    context: int | None,
    save: str | None,
    saved: str | None,
    tell_fields: bool,
    **fields: str | None,
) -> None:
    """Search everything that was said, thought, run and returned, including chats that Claude Code has deleted.

    Words match whole words and parts of names (user in getUserName, snake_case, paths). Chats with more of them, and
    with the rarer ones, come first. Use "quotes" for a phrase, pre* for a prefix, OR, -not, parentheses, /regex/, and
    fields such as project:shop, tool:Bash, role:prompt, is:error, since:7d; `--fields` lists them all.

    On a terminal, all results are shown through a pager; otherwise --limit and --offset choose a page.

    If there is no history yet, it searches sample conversations and says so on stderr, but not with --json, --quiet or
    --home.

    \b
    Examples:
      backscroll search flaky test
      backscroll search '"connection reset" tool:Bash since:30d'
      backscroll search 'ENOSPC -role:output' --json | jq -r '.hits[].chat'
      backscroll search --save broken 'is:error since:7d'
    """
    from backscroll.query.fields import help_lines
    from backscroll.query.write import with_field

    if tell_fields:
        for line in help_lines():
            write(line)
        return
    request = current_request()
    is_limited = click.get_current_context().get_parameter_source("limit") is not ParameterSource.DEFAULT
    library = open_library(request, with_text=True)
    query = " ".join(words)
    missing = no_history_for(request)
    if saved is not None:
        query = f"{_saved_search(library, saved)} {query}".strip()
    for name in reversed(FIELDS):
        if value := fields[name]:
            query = with_field(query, name, value)
    if not query.strip():
        raise UsageError("nothing to search for", "backscroll search WORDS; see --help for the query language")
    results = library.search(query, limit=limit, offset=offset, sort=sort, hits=hits, cursor=cursor)
    if save is not None:
        _remember(library, save, query)
    if request.json:
        _write_json(library, results, context)
        if not results.chats:
            raise click.exceptions.Exit(NothingFound.exit_code)
        return
    if missing and _may_answer_from_sample(request, remembers=bool(save or saved)):
        request.answer_from_sample()
        library = open_library(request, with_text=True)
        results = library.search(query, limit=limit, offset=offset, sort=sort, hits=hits, cursor=cursor)
        if not results.chats:
            raise missing
        write_note(f"{clean_line(missing.message)}: showing sample conversations (use --home DIR for another folder)")
    _write_missing(results, quiet=request.quiet)
    if not results.chats and results.total_chats:
        raise NothingFound(
            f"no chats after the first {offset:,}", f"{plural(results.total_chats, 'chat')} found in all"
        )
    if not results.chats:
        raise NothingFound(f"nothing found for {clean_line(query)}", _suggestion(library, results))
    if results.left and pages() and not (offset or is_limited):

        def next_page(cursor: str) -> "SearchResults":
            return library.search(query, limit=limit, sort=sort, hits=hits, cursor=cursor)

        write_lines(_all_lines(library, results, context, next_page))
        return
    write_lines(list(_lines(library, results, context))[:-1])
    if results.left and not request.quiet:
        least = "" if results.is_whole else "at least "
        write_note(f"{least}{plural(results.left, 'more chat')}: --offset {results.total_chats - results.left}")


def _may_answer_from_sample(request: "Request", *, remembers: bool) -> bool:
    """Whether a search without any history is answered from the sample; docs/why/demo.md has the reasons."""
    is_for_a_program = request.json or request.quiet
    names_a_home = bool(request.settings().homes)
    return not (is_for_a_program or names_a_home or remembers)


def _lines(library: "Library", found: "SearchResults", context: int | None) -> "Iterator[str]":
    from backscroll.render.search_results import StyledLine, heading_of, passage_line, wrapped

    now, room = datetime.now().astimezone(), width()
    looks = _looks()
    is_first = True  # the time zone is named once

    def styled(line: StyledLine, path: str) -> str:
        return "".join(looks(kind, text, path) for kind, text in line.pieces)

    for chat in found.chats:
        heading = heading_of(
            chat.chat.overview,
            chat.found,
            archived=chat.chat.archived,
            now=now,
            machines=library.machines_of(chat.chat),
            width=room,
        )
        path = chat.passages[0].hit.path if chat.passages else ""
        yield styled(heading, path)
        for passage in chat.passages:
            line = passage_line(
                passage.hit, passage.snippet, names_message=True, zone=room is not None and is_first,
                machines=chat.chat.machines,
            )  # fmt: skip
            is_first = False
            if room is None:
                yield "  " + styled(line, path)
            else:
                for part in wrapped(line, room, "  ", "    "):
                    yield styled(part, path)
            if context is not None:
                for text in library.context(passage.hit, found.marked, context).splitlines():
                    yield f"  │ {clean(text).expandtabs()}"
        yield ""


def _all_lines(
    library: "Library", found: "SearchResults", context: int | None, next_page: "Callable[[str], SearchResults]"
) -> "Iterator[str]":
    """Yield all results, page after page, as the pager asks for them."""
    while True:
        yield from _lines(library, found, context)
        if not found.left or not (cursor := found.cursor()):
            return
        found = next_page(cursor)


def _looks() -> "LineStyle":
    return LineStyle(links=sys.stdout.isatty() and click.get_current_context().find_root().color is not False)


class LineStyle:
    """Colours for the pieces of a line; ids link to their session if the terminal supports links."""

    def __init__(self, *, links: bool) -> None:
        self._links = links

    def __call__(self, kind: str, text: str, path: str) -> str:
        if kind == "id":
            text = click.style(text, fg="cyan")
            return f"\x1b]8;;file://{_quote_path(path)}\x1b\\{text}\x1b]8;;\x1b\\" if self._links and path else text
        if kind == "match":
            return click.style(text, fg="yellow", bold=True)
        if kind == "title":
            return click.style(text, bold=True)
        return click.style(text, dim=True) if kind in ("dim", "label") else text


def _quote_path(path: str) -> str:
    from urllib.parse import quote

    return quote(path, errors="surrogateescape")


def _write_json(library: "Library", found: "SearchResults", context: int | None) -> None:
    from backscroll.library.marked_chats import marked_chat
    from backscroll.render.search_results import found_as_json

    marks = [marked_chat(library, chat.chat).mark for chat in found.chats]

    def context_of(hit: "Hit") -> str:
        return library.context(hit, found.marked, context or 0)

    write_json(found_as_json(found, marks, context_of if context is not None else None))


def _write_missing(found: "SearchResults", *, quiet: bool) -> None:
    if not quiet:
        for note in found.notes:
            write_note(clean_line(note))
    if found.pending and not quiet:
        what = ", ".join(found.pending_roles)
        write_note(warning(f"{plural(found.pending, 'passage')} not yet indexed ({what}): run backscroll update"))
    if not found.is_whole and not quiet:
        write_note(
            warning("the regular expression was not tried on everything: narrow the search with words or fields")
        )


def _suggestion(library: "Library", found: "SearchResults") -> str:
    from backscroll.query.tree import All, Field, Query

    for part in found.query.root.parts:
        if isinstance(part, Field) and part.name == "project" and not library.count_chats(Query("", All((part,)))):
            return (
                f"no project has {clean_line(part.typed)} in its path; backscroll stats usage --by project lists them"
            )
    similar = library.similar(found.query)
    if similar:
        return f"did you mean {', '.join(similar)}?"
    return "try fewer or other words, or part of one with a *"


def _saved_search(library: "Library", name: str) -> str:
    searches = library.marks.searches
    if name not in searches:
        known = ", ".join(sorted(searches)) or "none yet"
        raise NothingFound(f"there is no saved search {name}", f"the saved searches are: {known}")
    return searches[name]


def _remember(library: "Library", name: str, query: str) -> None:
    from backscroll.library.marks import Marks, change_marks

    def change(marks: Marks) -> None:
        marks.searches[name] = query

    change_marks(library.settings.library, change)
