"""`backscroll sync …`: one history on several machines, through a folder or a bucket."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.groups import CommandGroup
from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import write, write_json, write_note
from backscroll.cli.sync_adding import choose_key, folder_to_create, sync_recovery
from backscroll.cli.sync_consent import sync_withdraw
from backscroll.cli.sync_each import sync_all
from backscroll.cli.sync_forgets import hidden_chats, sync_forgets
from backscroll.cli.sync_output import (
    status_as_json,
    synced_as_json,
    verified_as_json,
    write_asked,
    write_status,
    write_synced,
    write_verified,
)
from backscroll.cli.sync_preview import GITS, MODES, PATHS, policy_from, preview_for, sync_preview, write_preview
from backscroll.cli.sync_rules import note_unmatched, sync_rules
from backscroll.cli.sync_trust import sync_trust
from backscroll.errors import BackscrollError, Busy, UsageError

if TYPE_CHECKING:
    from backscroll.library.syncing.remote_settings import RemoteSettings
    from backscroll.library.syncing.sync import Synced
    from backscroll.settings import Settings


@click.group("sync", cls=CommandGroup, invoke_without_command=True)
@click.option("--watch", is_flag=True, help="Keep running, and sync whenever something changes, until Ctrl-C.")
@global_options()
@click.pass_context
def command(context: click.Context, watch: bool) -> None:
    """Send what is new on this machine to every remote, and take what your other machines sent.

    A remote is a folder (on a NAS, or one that Syncthing or another program carries to your other machines), a bucket
    (s3://, gs://, az://) or a team server. Each machine writes only below its own name. Add one with `sync add`, a team
    server with `connect`: both show what would leave this machine, and send nothing until you agree. Secrets are masked
    unless you choose otherwise.

    \b
    Examples:
      backscroll sync add nas /mnt/nas/backscroll
      backscroll sync
      backscroll sync --watch
      backscroll sync status
    """
    if context.invoked_subcommand is not None:
        if watch:
            raise UsageError("--watch cannot be combined with a subcommand", "run backscroll sync --watch")
        return
    settings = current_request().settings()
    remotes = [remote for remote in _remotes(settings) if not remote.is_paused]
    if not remotes:
        raise UsageError("every remote is paused", "run backscroll sync resume NAME")
    sync_all(settings, remotes)
    if watch:
        _watch(settings)


@command.command("add", short_help="Add a remote, after a look at what would leave.")
@click.argument("name")
@click.argument("url")
@click.option(
    "--mode", type=click.Choice(MODES), default="redacted", show_default=True, help="What leaves of a project."
)
@PATHS
@GITS
@click.option(
    "--encrypt/--no-encrypt",
    default=None,
    help="Encrypt a new remote, or not; asks for a passphrase, the same on every machine.",
)
@click.option(
    "--recovery",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Open an encrypted remote with its recovery sheet (- for stdin) and its passphrase.",
)
@click.option("--create", is_flag=True, help="Create the folder if it does not exist.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@global_options()
def sync_add(
    name: str, url: str, mode: str, paths: tuple[Any, ...], gits: tuple[Any, ...], encrypt: bool | None,
    recovery: str | None, create: bool, yes: bool,
) -> None:  # fmt: skip
    """Add a remote. Shows what would leave, project by project, and asks.

    A mode says what leaves of a project: `full`, `redacted` (secrets are masked), `metrics` (usage, tools and times,
    without any text) or `off`. Rules with --path and --git come before --mode; the first that matches decides.

    \b
    Examples:
      backscroll sync add nas /mnt/nas/backscroll
      backscroll sync add cloud s3://my-bucket/backscroll --path '/home/ada/clients/*' off
      backscroll sync add team /srv/shared --mode metrics --git 'github.com/acme/*' redacted --yes
      backscroll sync add bucket s3://not-mine/backscroll --encrypt
      backscroll sync add bucket s3://not-mine/backscroll --recovery sheet.txt

    A folder has to be there already, so that a disk that is not mounted is not filled: --create makes one.

    The passphrase is asked for, or taken from BACKSCROLL_PASSPHRASE. If that is set, a new remote is encrypted; an
    encrypted one needs no option. It cannot be read without the passphrase. Keep a recovery sheet, too: see
    `sync recovery`.
    """
    from backscroll.library.syncing.encryption import keep_chosen
    from backscroll.library.syncing.places import address_of
    from backscroll.library.syncing.remote_settings import (
        RemoteSettings,
        check_name,
        read_remotes,
        write_key,
        write_remote,
    )
    from backscroll.sync.policy import EffectivePolicy
    from backscroll.sync.remotes import LARGEST_OBJECT, open_remote

    request = current_request()
    settings = request.settings()
    policy = policy_from(mode, paths, gits)
    if url.startswith(("https://", "http://")):
        raise UsageError("a team server has to let this machine in", f"run backscroll connect {url}")
    check_name(name)
    if name in read_remotes(settings):
        raise UsageError(f"there is already a remote {name}", f"run backscroll sync remove {name} first")
    if not yes and (request.json or not sys.stdin.isatty()):
        raise UsageError("nothing is sent until you agree", "see backscroll sync preview, then add --yes")
    url = address_of(url)
    store = open_remote(url, largest=LARGEST_OBJECT)  # tells an address that cannot be used, too
    folder = folder_to_create(url, creates=create, asks=not yes)
    key = choose_key(store, encrypts=encrypt, sheet=recovery)
    if not yes:
        write_preview(preview_for(settings, EffectivePolicy(policy)))
        note_unmatched(settings, policy)
        if not click.confirm(f"Send this to {url}?"):
            write("Nothing was sent.")
            return
    else:
        note_unmatched(settings, policy)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    remote = RemoteSettings(name=name, url=url, policy=policy, is_encrypted=key is not None)
    if key is not None:
        keep_chosen(settings, name, store, key)
        write_key(settings, name, key.key)
    write_remote(settings, remote)
    sync_all(settings, [remote])


@command.command("status", short_help="How far each machine is.")
@global_options(unused=("home",), instead="it shows what the archive has")
def sync_status() -> None:
    """Show every remote: how far each machine is, what waits to be sent, and when it was last verified.

    \b
    Examples:
      backscroll sync status
      backscroll sync status --json
    """
    from backscroll.library.syncing.status import status

    request = current_request()
    settings = request.settings()
    states = [status(settings, remote) for remote in _remotes(settings)]
    if request.json:
        write_json({"remotes": [status_as_json(state) for state in states]})
        return
    for state in states:
        write_status(state)
    write_asked(hidden_chats(settings))


@command.command("verify", short_help="Prove that a remote has everything.")
@click.argument("name", required=False)
@click.option("--deep", is_flag=True, help="Read every object of the remote again.")
@click.option("--repair", is_flag=True, help="Mend what is wrong at once; the next sync does it, too.")
@global_options(unused=("home",), instead="it compares the archive")
def sync_verify(name: str | None, deep: bool, repair: bool) -> None:
    """Compute what every remote, or the one named, should have from the archive, and compare.

    Objects are compared by names and sizes, with --deep in every byte. What is lost or damaged is written again, and
    what this machine did not write is removed from its folder, by the next sync or with --repair. Damage that changes
    no size is found and mended with --deep only.

    \b
    Examples:
      backscroll sync verify
      backscroll sync verify nas --deep
      backscroll sync verify nas --deep --repair
    """
    from backscroll.library.syncing.remote_settings import find_remote
    from backscroll.library.syncing.sync import verify_remote

    request = current_request()
    settings = request.settings()
    remotes = [find_remote(settings, name)] if name else _remotes(settings)
    results = {remote.name: verify_remote(settings, remote, deep=deep, repair=repair) for remote in remotes}
    if request.json:
        write_json({"remotes": {name: verified_as_json(result) for name, result in results.items()}})
    else:
        for name_of, result in results.items():
            if not request.quiet or not result.is_whole:
                write_verified(name_of, result)
    if not all(result.is_whole for result in results.values()):
        raise BackscrollError("a remote does not have everything", "run backscroll sync, then verify again")


@command.command("pause", short_help="Send and take nothing until resumed.")
@click.argument("name")
@global_options(unused=("home",), instead="remotes belong to the library")
def sync_pause(name: str) -> None:
    """Send and take nothing until `sync resume`.

    \b
    Example:
      backscroll sync pause nas
    """
    _set_paused(name, is_paused=True)


@command.command("resume", short_help="Continue with a paused remote.")
@click.argument("name")
@global_options(unused=("home",), instead="remotes belong to the library")
def sync_resume(name: str) -> None:
    """Continue with a paused remote.

    \b
    Example:
      backscroll sync resume nas
    """
    _set_paused(name, is_paused=False)


@command.command("remove", short_help="Forget a remote; what is on it stays.")
@click.argument("name")
@global_options(unused=("home",), instead="remotes belong to the library")
def sync_remove(name: str) -> None:
    """Forget a remote. What is on it stays there, and what was taken from it stays in the archive.

    \b
    Example:
      backscroll sync remove nas
    """
    from backscroll.library.syncing.remote_settings import remove_remote

    request = current_request()
    remove_remote(request.settings(), name)
    if request.json:
        write_json({"removed": name})
    elif not request.quiet:
        write(f"Removed {name}. What is on the remote stays there.")


@command.command("enroll", short_help="Give a copied library a name of its own.")
@global_options(unused=("home",), instead="remotes belong to the library")
def sync_enroll() -> None:
    """Give this machine a new name on its remotes. Needed if the library was copied from another machine.

    \b
    Example:
      backscroll sync enroll
    """
    from backscroll.library.syncing.remote_settings import device_of

    request = current_request()
    device = device_of(request.settings(), is_new=True)
    if request.json:
        write_json({"device": device.name})
    elif not request.quiet:
        write(f"This machine is {device.name} from now on. Run backscroll sync to send everything under this name.")


command.add_command(sync_forgets)


def _remotes(settings: "Settings") -> list["RemoteSettings"]:
    from backscroll.library.syncing.remote_settings import read_remotes

    remotes = list(read_remotes(settings).values())
    if not remotes:
        hint = "add one with backscroll sync add NAME URL, or connect to a team server with backscroll connect URL"
        raise UsageError("there is no remote yet", hint)
    return remotes


def _watch(settings: "Settings") -> None:
    from backscroll.library.homes import open_homes
    from backscroll.library.indexing.follow import follow
    from backscroll.library.local import local_library
    from backscroll.library.syncing.automatic import AutomaticSync, syncs_by_itself

    request = current_request()

    def show(done: "Synced") -> None:
        if done.is_nothing:
            return
        if request.json:
            write(json.dumps(synced_as_json(done)))  # one object per line: it is a stream
        elif not request.quiet or done.pulled.problems:
            write_synced(done)
            write_asked(done.asked)

    library = local_library(settings, open_homes(settings))
    if not request.quiet:
        write_note("syncing whenever something changes; Ctrl-C to stop")
    try:
        for _ in follow(library, companion=AutomaticSync(settings, show), command="backscroll sync --watch"):
            pass
    except Busy as busy:
        if syncs_by_itself(settings):
            raise Busy("a running backscroll (open or watch) syncs already", "there is nothing to do") from busy
        raise


def _set_paused(name: str, *, is_paused: bool) -> None:
    from backscroll.library.syncing.remote_settings import find_remote, note_remote

    settings = (request := current_request()).settings()
    find_remote(settings, name)
    note_remote(settings, name, is_paused=is_paused)
    if request.json:
        write_json({"remote": name, "is_paused": is_paused})
    elif not request.quiet:
        write(f"{name} is paused." if is_paused else f"{name} syncs again.")


for one in (sync_preview, sync_recovery, sync_rules, sync_trust, sync_withdraw):
    command.add_command(one)
