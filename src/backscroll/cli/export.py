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
@click.option("--redact/--no-redact", default=None, help="Mask secrets. Default: html and md yes, json and jsonl no.")
@click.option("--emails", is_flag=True, help="Mask e-mail addresses too.")
@click.option("--query", metavar="QUERY", help="Export all chats that `backscroll list QUERY` finds.")
@click.option("--project", metavar="TEXT", help="Export all chats of projects whose path contains this.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@global_options
def command(
    names: tuple[str, ...],
    form: Form,
    out: Path | None,
    detail: "Detail | None",
    redact: bool | None,
    emails: bool,
    query: str | None,
    project: str | None,
    force: bool,
) -> None:
    """Write chats into files that others can read.

    html is one self-contained page that looks like the viewer, with all branches and agents. md is for people and
    models, json is what `show --json` prints, jsonl has the rows as Claude Code wrote them. Several chats become a
    folder with an index page.

    Recognised secrets, such as keys, tokens and passwords, are masked in html and md unless you use --no-redact. Still
    read what you share: no rule knows every secret.

    \b
    Examples:
      backscroll export 4f8c
      backscroll export 4f8c --format md --detail talk --out - | pbcopy
      backscroll export --project shop --out shop-chats
      backscroll export 4f8c --format jsonl --redact --out shared.jsonl
    """
    from backscroll.library.sharing.share import redaction_summary, redactor

    if emails and redact is False:
        raise UsageError("--emails masks addresses, but --no-redact turns masking off", "use only one of them")
    if detail and form in ("json", "jsonl"):
        raise UsageError(f"--detail is for html and md: {form} always includes everything", "leave --detail out")
    request = current_request()
    masks = redact if redact is not None else form in ("html", "md") or emails
    library = open_library(request)
    chats = _chosen(library, names, query, project)
    hiding = redactor(emails=emails) if masks else None
    options = ExportOptions(form, detail, hiding, out, force, request.quiet)
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
    """How chats are written, and where to."""

    form: Form
    detail: "Detail | None"
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

    form, out = options.form, options.out
    if str(out) == "-" or (out is None and not sys.stdout.isatty()):
        for piece in _pieces(library, stored, options):
            click.echo(_shown(piece, form) if sys.stdout.isatty() else piece, nl=False)
        return
    name = f"{_file_name(stored)}.{form}"
    path = Path(name) if out is None else out / name if out.is_dir() else out
    write_new(path, _pieces(library, stored, options), force=options.force, private=options.is_private)
    if not options.quiet:
        write_note(f"wrote {clean_line(str(path))}")


def _export_all(library: "Library", chats: "list[StoredChat]", options: ExportOptions) -> None:
    from backscroll.cli.writing import make_folder, write_new
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
            name = _free_name(_file_name(stored), form, taken)
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
    """A piece made safe for a terminal; JSON keeps its values."""
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
    from backscroll.library.sharing.share import rows_of, share
    from backscroll.render.html.export import exported
    from backscroll.render.html.export_site import exported_chat
    from backscroll.web.export_assets import export_assets

    form, hiding = options.form, options.hiding
    if form == "jsonl":
        yield from rows_of(library, stored, hiding)
        return
    shared = share(library, stored, hiding)
    if entries is not None and form == "html":
        entries.append(exported_chat(name, shared, shared.overview))
    back = "index.html" if entries is not None else None
    yield from exported(shared, form, export_assets(), detail=options.detail, back=back)


def _free_name(name: str, form: Form, taken: set[str]) -> str:
    """A name that no other chat of this export has, even on file systems that ignore case."""
    found = next(
        free for number in count(1) if (free := f"{name}{f'-{number}' if number > 1 else ''}").lower() not in taken
    )
    taken.add(found.lower())
    return f"{found}.{form}"


def _file_name(stored: "StoredChat") -> str:
    """A file name from start time and id: words of the chat may be secret, or not valid in a name."""
    started = stored.overview.started
    kept = "".join(letter for letter in stored.overview.id if letter.isalnum() or letter == "-")
    return f"{started:%Y-%m-%d}-{kept[:36]}" if started else kept[:36] or "chat"
