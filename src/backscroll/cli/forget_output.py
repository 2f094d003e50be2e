"""What `archive forget` says: what it removes, and what stays where."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from backscroll.cli.output import warning, write, write_note
from backscroll.errors import UsageError
from backscroll.render.reports import short_id
from backscroll.render.terminal import clean_line, plural, size

if TYPE_CHECKING:
    from collections.abc import Callable

    from backscroll.library.keeping.forget import SavedFromChat
    from backscroll.library.keeping.kept_versions import KeptChat
    from backscroll.library.library import Library

SHOWN = 5


def ask_before_forgetting(library: "Library", chat: "KeptChat") -> None:
    """Say what will be removed and what will stay, and ask; raises Abort without a yes."""
    from backscroll.library.keeping.forget import files_that_stay, saved_from

    if not sys.stdin.isatty():
        raise UsageError("forget asks for confirmation, but the input is not a terminal", "add --yes if you are sure")
    bytes_ = sum(version.size for file in chat.files for version in file.versions)
    write_note(f"{short_id(clean_line(chat.id))}  {clean_line(chat.title)}")
    write_note(f"removed for good: {plural(len(chat.files), 'file')} in the archive, {size(bytes_)}, in all versions;")
    write_note("  what the index has of it; its pins, tags and notes")
    saved = saved_from(library, chat)
    for recall in saved.recalls:
        write_note(f"  the saved recall {clean_line(recall)}, which cites it")
    for prompt in saved.prompts:
        write_note(f"  the saved prompt {clean_line(prompt)}, which is from it")
    _write_stays(files_that_stay(library, chat), write_note)
    write_note("not touched: backups, until the next backscroll archive backup, and files that you exported")
    click.confirm("Permanently remove it from the archive?", abort=True, err=True)


def write_forgotten(count: int, saved: "SavedFromChat", stays: Sequence[Path]) -> None:
    """Say what was removed, and where the chat still is."""
    write(f"forgot {plural(count, 'file')}")
    for recall in saved.recalls:
        write(f"removed the saved recall {clean_line(recall)}, which cites it")
    for prompt in saved.prompts:
        write(f"removed the saved prompt {clean_line(prompt)}, which is from it")
    _write_stays(stays, write)


def _write_stays(stays: Sequence[Path], tell: "Callable[[str], None]") -> None:
    if not stays:
        return
    are = "is" if len(stays) == 1 else "are"
    count = plural(len(stays), "file")
    tell(warning(f"not touched: {count} that {are} still in your home; backscroll no longer reads or archives them:"))
    for path in stays[:SHOWN]:
        tell(f"  {clean_line(str(path))}")
    if len(stays) > SHOWN:
        tell(f"  … and {len(stays) - SHOWN:,} more")
