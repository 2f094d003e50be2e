"""`backscroll export`: write chats to files for sharing."""

import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from backscroll.cli.options import PATH, current_request, global_options
from backscroll.cli.output import ProgressLine, open_library, write_note
from backscroll.errors import NothingFound, UsageError
from backscroll.render.terminal import clean, clean_line, escaped, plural

if TYPE_CHECKING:
    from backscroll.library import StoredChat
    from backscroll.library.library import Library
    from backscroll.library.sharing.selection import ShareSelection
    from backscroll.library.sharing.share import Redactor
    from backscroll.render.html.export_site import ExportedChat
    from backscroll.render.html.page_data import Detail

Form = Literal["html", "md", "json", "jsonl"]
FORMS = ("html", "md", "json", "jsonl")


@click.command("export")
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--format", "form", type=click.Choice(FORMS), default="html", help="The file format.")
@click.option("--out", type=PATH, metavar="FILE|DIR", help="Where to write it; - is standard output.")
@click.option("--detail", type=click.Choice(["everything", "normal", "talk"]), help="How much html and md include.")
@click.option("--branch", type=click.IntRange(min=1), metavar="N", help="Only this branch; see backscroll tree.")
@click.option("--no-tools", is_flag=True, help="Leave out tool calls, their results, and agents.")
@click.option("--no-thinking", is_flag=True, help="Leave out thinking.")
@click.option("--redact/--no-redact", default=True, show_default=True, help="Mask recognised secrets.")
@click.option("--emails", is_flag=True, help="Mask e-mail addresses too.")
@click.option("--query", metavar="QUERY", help="Export all chats that `backscroll list QUERY` finds.")
@click.option("--project", metavar="TEXT", help="Export all chats of projects whose path contains this.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@global_options()
def command(
    names: tuple[str, ...],
    form: Form,
    out: Path | None,
    detail: "Detail | None",
    branch: int | None,
    no_tools: bool,
    no_thinking: bool,
    redact: bool,
    emails: bool,
    query: str | None,
    project: str | None,
    force: bool,
) -> None:
    """Write chats into files that others can read.

    html is one self-contained page that looks like the viewer, with all branches and agents. md is for people and
    models, json is what `show --json` prints, jsonl has the rows as Claude Code wrote them. Several chats become a
    folder with an index page.

    Recognised secrets, such as keys, tokens and passwords, are masked in every format unless you use --no-redact. Still
    read what you share: no rule knows every secret. A file is named after its day and title, unless you name it.

    \b
    Examples:
      backscroll export 4f8c
      backscroll export 4f8c --format md --detail talk --out - | pbcopy
      backscroll export 4f8c --branch 2 --no-thinking
      backscroll export --project shop --out shop-chats
      backscroll export 4f8c --format jsonl --no-redact --out exact-copy.jsonl
    """
    from backscroll.library.sharing.selection import ShareSelection
    from backscroll.library.sharing.share import redaction_summary, redactor

    if emails and not redact:
        raise UsageError("--emails masks addresses, but --no-redact turns masking off", "use only one of them")
    if detail and form in ("json", "jsonl"):
        raise UsageError(f"--detail is for html and md: {form} always includes everything", "leave --detail out")
    selection = ShareSelection(branch, tools=not no_tools, thinking=not no_thinking)
    if form == "jsonl" and not selection.is_everything:
        raise UsageError("jsonl has the files as they are", "leave --branch, --no-tools and --no-thinking out")
    request = current_request()
    library = open_library(request)
    chats = _chosen(library, names, query, project)
    hiding = redactor(emails=emails) if redact else None
    options = ExportOptions(form, detail, selection, hiding, out, force, request.quiet)
    if names and len(chats) == 1 and query is None and project is None:
        _export_one(library, chats[0], options)
    else:
        _export_all(library, chats, options)
    if hiding is not None and not request.quiet:
        write_note(redaction_summary(hiding))


def _chosen(library: "Library", names: tuple[str, ...], query: str | None, project: str | None) -> "list[StoredChat]":
    from backscroll.query.tree import All, Field, Query

    if names and (query is not None or project is not None):
        raise UsageError("ids cannot be combined with --query or --project", "use only one of them")
    if names:
        return list({chat.key: chat for chat in map(library.find, names)}.values())
    if query is None and project is None:
        raise UsageError("no chats were chosen", "give an id from backscroll list, or --project, or --query")
    wanted = library.parse(query or "")
    fields = [Field("project", "=", project)] if project else []
    chats = library.chats(Query(wanted.text, All((*fields, *wanted.root.parts))))
    if not chats:
        raise NothingFound("no chats", "see backscroll list for what there is")
    return chats


class ExportOptions(NamedTuple):
    """The format and contents of the exported files, and their folder."""

    form: Form
    detail: "Detail | None"
    selection: "ShareSelection"
    hiding: "Redactor | None"
    out: Path | None
    force: bool
    quiet: bool

    @property
    def is_private(self) -> bool:
        """Whether the files may hold secrets."""
        return self.hiding is None


def _export_one(library: "Library", stored: "StoredChat", options: ExportOptions) -> None:
    from backscroll.cli.writing import write_new
    from backscroll.library.sharing.file_names import file_name

    form, out = options.form, options.out
    if str(out) == "-" or (out is None and not sys.stdout.isatty()):
        for piece in _pieces(library, stored, options):
            click.echo(_shown(piece, form) if sys.stdout.isatty() else piece, nl=False)
        return
    name = file_name(stored.overview, form)
    path = Path(name) if out is None else out / name if out.is_dir() else out
    write_new(path, _pieces(library, stored, options), force=options.force, private=options.is_private)
    if not options.quiet:
        write_note(f"wrote {clean_line(str(path))}")


def _export_all(library: "Library", chats: "list[StoredChat]", options: ExportOptions) -> None:
    from backscroll.cli.writing import make_folder, write_new
    from backscroll.library.sharing.file_names import file_name
    from backscroll.render.html.export_site import index_page
    from backscroll.web.export_assets import export_assets

    form, out = options.form, options.out
    if out is None or str(out) == "-":
        raise UsageError(f"{plural(len(chats), 'chat')} need a folder", "name one: --out FOLDER")
    make_folder(out, force=options.force, private=options.is_private)
    entries: list[ExportedChat] = []
    with ProgressLine("exporting", quiet=options.quiet) as progress:
        progress.begin("exporting", sum(chat.overview.messages for chat in chats), "messages")
        taken: set[str] = set()
        for stored in chats:
            name = _free_name(file_name(stored.overview), form, taken)
            pieces = _pieces(library, stored, options, entries=entries, name=name)
            write_new(out / name, pieces, force=options.force, private=options.is_private)
            progress.add(stored.overview.messages)
    if form == "html":
        projects = {stored.overview.project for stored in chats}
        title = (
            f"Chats of {entries[0].overview.project}" if len(projects) == 1 and entries[0].overview.project else "Chats"
        )
        pieces = index_page(entries, export_assets(), title=title, is_redacted=not options.is_private)
        write_new(out / "index.html", pieces, force=options.force, private=options.is_private)
    if not options.quiet:
        write_note(
            f"wrote {plural(len(chats), 'chat')} to {clean_line(str(out / 'index.html' if form == 'html' else out))}"
        )


def _shown(piece: str | bytes, form: Form) -> str:
    """Return a piece made safe for a terminal; JSON keeps its values."""
    text = piece if isinstance(piece, str) else piece.decode("utf-8", "replace")
    return escaped(text) if form in ("json", "jsonl") else clean(text)


def _pieces(
    library: "Library",
    stored: "StoredChat",
    options: ExportOptions,
    *,
    entries: "list[ExportedChat] | None" = None,
    name: str = "",
) -> Iterator[str | bytes]:
    """Write the file, and add it to the list if there is one."""
    from backscroll.library.sharing.selection import selected
    from backscroll.library.sharing.share import rows_of, share
    from backscroll.render.html.export import exported
    from backscroll.render.html.export_site import exported_chat
    from backscroll.web.export_assets import export_assets

    form, hiding = options.form, options.hiding
    if form == "jsonl":
        yield from rows_of(library, stored, hiding)
        return
    shared = selected(share(library, stored, hiding), options.selection)
    if entries is not None and form == "html":
        entries.append(exported_chat(name, shared, shared.overview))
    back = "index.html" if entries is not None else None
    yield from exported(shared, form, export_assets(), detail=options.detail, back=back)


def _free_name(name: str, form: Form, taken: set[str]) -> str:
    """Return a name that no other chat of this export has, even on file systems that ignore case."""
    unused = next(
        free for number in count(1) if (free := f"{name}{f'-{number}' if number > 1 else ''}").lower() not in taken
    )
    taken.add(unused.lower())
    return f"{unused}.{form}"
