"""Questions of `backscroll sync add` before anything is sent, and the recovery sheet of `backscroll sync recovery`."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import write_json, write_note
from backscroll.errors import StorageError, UsageError

if TYPE_CHECKING:
    from backscroll.library.syncing.encryption import Chosen
    from backscroll.sync.remotes import Remote

PASSPHRASE = "BACKSCROLL_PASSPHRASE"  # noqa: S105 - the name of a variable


def folder_to_create(url: str, *, creates: bool, asks: bool) -> Path | None:
    """Return the folder at an address if it is to be created; raise an error if it is missing otherwise."""
    from backscroll.library.syncing.places import absent_folder

    folder = absent_folder(url)
    if folder is None or creates:
        return folder
    hint = "mount the disk it is on; or add --create, if it is a new folder"
    if asks and sys.stdin.isatty() and not current_request().json:
        write_note(f"{folder} does not exist. If it is on a disk that is not mounted, mount it first.")
        if click.confirm("Create the folder?", err=True):
            return folder
    raise StorageError(f"{folder} does not exist", hint)


def choose_key(store: "Remote", *, encrypts: bool | None, sheet: str | None) -> "Chosen | None":
    """Return how a remote that is being added is encrypted; None if it is not."""
    from backscroll.library.syncing.encryption import choose

    passphrase = os.environ.get(PASSPHRASE)
    text = None
    if sheet is not None:
        if encrypts is False:
            raise UsageError("--recovery cannot be combined with --no-encrypt", "leave one of them out")
        if sheet == "-" and sys.stdin.isatty():
            write_note("Type the numbered lines of the sheet, then Ctrl-D:")
        text = sys.stdin.read() if sheet == "-" else Path(sheet).read_text(encoding="utf-8", errors="replace")
    chosen = choose(store, passphrase, ask_passphrase, encrypts=encrypts, sheet=text)
    if current_request().quiet:
        return chosen
    if chosen is None and passphrase and encrypts is None:
        write_note(f"{PASSPHRASE} is not used: this remote is not encrypted.")
    if chosen is not None and chosen.is_new and encrypts is None:
        write_note(f"This remote is encrypted, with the passphrase in {PASSPHRASE}.")
    if chosen is not None and chosen.plan.note and not chosen.is_new:
        write_note(f"{chosen.plan.note}; it is written again")
    return chosen


def ask_passphrase(is_new: bool = False) -> str:
    """Ask on the terminal; a new passphrase twice."""
    if not sys.stdin.isatty():
        raise UsageError("this remote is encrypted, and there is no terminal to ask on", f"set {PASSPHRASE}")
    return str(click.prompt("Passphrase", hide_input=True, confirmation_prompt=is_new, err=True))


@click.command("recovery", short_help="Print what opens an encrypted remote if all machines are lost.")
@click.argument("name")
@global_options(unused=("home",), instead="remotes belong to the library")
def sync_recovery(name: str) -> None:
    """Print a recovery sheet: a few lines that open an encrypted remote together with its passphrase.

    Keep it on paper, apart from the passphrase. If all your machines are lost, and the file key.json on the remote with
    them, `sync add --recovery` opens the remote on a new machine. Neither the passphrase nor the key is on the sheet.

    \b
    Examples:
      backscroll sync recovery cloud
      backscroll sync recovery cloud | lp
      backscroll sync add cloud s3://my-bucket/backscroll --recovery sheet.txt
    """
    from backscroll.library.syncing.encryption import recovery_facts
    from backscroll.library.syncing.remote_settings import find_remote
    from backscroll.library.syncing.sync import open_remote_of
    from backscroll.sync.recovery_sheet import sheet_lines, sheet_text

    request = current_request()
    settings = request.settings()
    remote = find_remote(settings, name)
    facts = recovery_facts(
        settings,
        remote,
        lambda: open_remote_of(settings, remote),
        lambda: os.environ.get(PASSPHRASE) or ask_passphrase(),
    )
    on = datetime.now(UTC).astimezone().date().isoformat()
    if request.json:
        write_json({"remote": name, "url": remote.url, "lines": sheet_lines(facts)})
    else:
        click.echo(sheet_text(facts, name, remote.url, on), nl=False)
