"""`backscroll sync …`: one history on several machines, through a folder or a bucket."""

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.groups import CommandGroup
from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import ProgressLine, write, write_json, write_note
from backscroll.cli.sync_output import (
    preview_as_json,
    status_as_json,
    synced_as_json,
    verified_as_json,
    write_preview,
    write_status,
    write_synced,
    write_verified,
)
from backscroll.errors import BackscrollError, Busy, UsageError

if TYPE_CHECKING:
    from backscroll.library.syncing.preview import ProjectPreview
    from backscroll.library.syncing.remote_settings import RemoteSettings
    from backscroll.library.syncing.sync import Synced
    from backscroll.settings import Settings
    from backscroll.sync.policy import EffectivePolicy, Policy

MODES = ("full", "redacted", "metrics", "off")
MODE = click.Choice(MODES)
RULE = "PATTERN MODE"
PATHS = click.option(
    "--path", "paths", nargs=2, multiple=True, metavar=RULE, help="A different mode for folders that match."
)
GITS = click.option(
    "--git", "gits", nargs=2, multiple=True, metavar=RULE, help="A different mode for git remotes that match."
)


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
@click.option("--encrypt", is_flag=True, help="Encrypt everything; asks for a passphrase, the same on every machine.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@global_options()
def sync_add(
    name: str, url: str, mode: str, paths: tuple[Any, ...], gits: tuple[Any, ...], encrypt: bool, yes: bool
) -> None:
    """Add a remote. Shows what would leave, project by project, and asks.

    A mode says what leaves of a project: `full`, `redacted` (secrets are masked), `metrics` (usage, tools and times,
    without any text) or `off`. Rules with --path and --git come before --mode; the first that matches decides.

    \b
    Examples:
      backscroll sync add nas /mnt/nas/backscroll
      backscroll sync add cloud s3://my-bucket/backscroll --path '/home/ada/clients/*' off
      backscroll sync add team /srv/shared --mode metrics --git 'github.com/acme/*' redacted --yes
      backscroll sync add bucket s3://not-mine/backscroll --encrypt

    The passphrase is asked for, or taken from BACKSCROLL_PASSPHRASE. The remote cannot be read without it.
    """
    from backscroll.library.syncing.remote_settings import RemoteSettings, read_remotes, write_key, write_remote
    from backscroll.sync.policy import EffectivePolicy
    from backscroll.sync.remotes import open_remote
    from backscroll.sync.sealing import key_of

    request = current_request()
    settings = request.settings()
    policy = policy_from(mode, paths, gits)
    if url.startswith(("https://", "http://")):
        raise UsageError("a team server has to let this machine in", f"run backscroll connect {url}")
    if name in read_remotes(settings):
        raise UsageError(f"there is already a remote {name}", f"run backscroll sync remove {name} first")
    key = key_of(open_remote(url), _passphrase() if encrypt else None)  # tells an address that cannot be used, too
    if not yes:
        if request.json or not sys.stdin.isatty():
            raise UsageError("nothing is sent until you agree", "see backscroll sync preview, then add --yes")
        write_preview(preview_for(settings, EffectivePolicy(policy)))
        if not click.confirm(f"Send this to {url}?"):
            write("Nothing was sent.")
            return
    remote = RemoteSettings(name=name, url=url, policy=policy, is_encrypted=key is not None)
    write_remote(settings, remote)
    if key is not None:
        write_key(settings, name, key)
    sync_all(settings, [remote])


@command.command("preview", short_help="What would leave, project by project.")
@click.argument("name", required=False)
@click.option(
    "--mode", type=click.Choice(MODES), default="redacted", show_default=True, help="Without NAME: what leaves."
)
@global_options()
def sync_preview(name: str | None, mode: str) -> None:
    """Show what would leave for a remote, by project: sessions, size, and the secrets that are masked. Sends nothing.

    \b
    Examples:
      backscroll sync preview
      backscroll sync preview nas --json
    """
    from backscroll.library.syncing.org_rules import fetch_rules
    from backscroll.library.syncing.remote_settings import find_remote
    from backscroll.sync.policy import EffectivePolicy

    request = current_request()
    settings = request.settings()
    policy = EffectivePolicy(policy_from(mode, (), ()))
    if name:
        remote = find_remote(settings, name)
        if remote.device:  # a team server; while it is away, the rules that were fetched last are shown
            with contextlib.suppress(BackscrollError):
                remote = fetch_rules(settings, remote, tries=1)
        policy = remote.effective
    rows = preview_for(settings, policy)
    if request.json:
        write_json({"projects": [preview_as_json(row) for row in rows]})
    else:
        write_preview(rows)


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
    found = [status(settings, remote) for remote in _remotes(settings)]
    if request.json:
        write_json({"remotes": [status_as_json(one) for one in found]})
        return
    for one in found:
        write_status(one)


@command.command("verify", short_help="Prove that a remote has everything.")
@click.argument("name", required=False)
@click.option("--deep", is_flag=True, help="Read every object of the remote again.")
@global_options(unused=("home",), instead="it compares the archive")
def sync_verify(name: str | None, deep: bool) -> None:
    """Compute what every remote, or the one named, should have from the archive, and compare.

    \b
    Examples:
      backscroll sync verify
      backscroll sync verify nas --deep
    """
    from backscroll.library.syncing.remote_settings import find_remote
    from backscroll.library.syncing.sync import verify_remote

    request = current_request()
    settings = request.settings()
    remotes = [find_remote(settings, name)] if name else _remotes(settings)
    found = {remote.name: verify_remote(settings, remote, deep=deep) for remote in remotes}
    if request.json:
        write_json({"remotes": {name: verified_as_json(one) for name, one in found.items()}})
    else:
        for name_of, one in found.items():
            write_verified(name_of, one)
    if not all(one.is_whole for one in found.values()):
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
    else:
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
        return
    write(f"This machine is {device.name} from now on. Run backscroll sync to send everything under this name.")


def _remotes(settings: "Settings") -> list["RemoteSettings"]:
    from backscroll.library.syncing.remote_settings import read_remotes

    remotes = list(read_remotes(settings).values())
    if not remotes:
        hint = "add one with backscroll sync add NAME URL, or connect to a team server with backscroll connect URL"
        raise UsageError("there is no remote yet", hint)
    return remotes


def _passphrase() -> str:
    given = os.environ.get("BACKSCROLL_PASSPHRASE")
    if given:
        return given
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask for the passphrase", "set BACKSCROLL_PASSPHRASE")
    return str(click.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True))


def policy_from(mode: str, paths: tuple[Any, ...], gits: tuple[Any, ...]) -> "Policy":
    """The policy that options say."""
    from backscroll.sync.policy import Policy, PolicyRule, SyncMode

    rules = []
    for by, given in (("path", paths), ("remote", gits)):
        for pattern, chosen in given:
            if chosen not in MODES:
                raise UsageError(f"{chosen} is not a mode", f"the modes are: {', '.join(MODES)}")
            rules.append(PolicyRule(by, pattern, SyncMode(chosen)))  # type: ignore[arg-type]
    return Policy(SyncMode(mode), tuple(rules))


def preview_for(settings: "Settings", policy: "EffectivePolicy") -> list["ProjectPreview"]:
    """What would leave under a policy."""
    from backscroll.library.homes import open_homes
    from backscroll.library.keeping.keep import keep
    from backscroll.library.syncing.preview import preview

    request = current_request()
    with contextlib.suppress(Busy):
        keep(settings, open_homes(settings))
    with ProgressLine("looking for secrets", quiet=request.quiet) as progress:
        return preview(settings, policy, progress.set_total, progress.add)


def sync_all(settings: "Settings", remotes: list["RemoteSettings"]) -> None:
    """Sync with these remotes, and say what was done."""
    from backscroll.library.homes import open_homes
    from backscroll.library.keeping.keep import keep
    from backscroll.library.syncing.automatic import syncs_by_itself
    from backscroll.library.syncing.sync import BUSY, sync

    request = current_request()
    homes = open_homes(settings)
    with contextlib.suppress(Busy):  # then another process keeps what is written
        keep(settings, homes)
    done = []
    for remote in remotes:
        with ProgressLine(f"syncing {remote.name}", quiet=request.quiet) as progress:
            done.append(sync(settings, remote, progress.set_total, progress.add))
    if any(one.has_taken for one in done):
        from backscroll.library.local import local_library  # most syncs take nothing, and need no index

        with local_library(settings, homes) as library:
            if any(one.must_rebuild for one in done):
                library.rebuild()
            else:
                library.update()
    if request.json:
        write_json({"remotes": [synced_as_json(one) for one in done]})
    else:
        for one in done:
            write_synced(one)
    problems = [problem for one in done for problem in one.pulled.problems]
    if problems and all(problem == BUSY for problem in problems) and syncs_by_itself(settings):
        write_note("a backscroll that runs (open, watch or sync --watch) takes it within a minute")
        return
    if problems:
        raise BackscrollError(
            "not everything could be taken from other machines", "run backscroll sync on them, then here"
        )


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
        else:
            write_synced(done)

    library = local_library(settings, open_homes(settings))
    if not request.quiet:
        write_note("syncing whenever something changes; Ctrl-C to stop")
    try:
        for _ in follow(library, companion=AutomaticSync(settings, show)):
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
    else:
        write(f"{name} is paused." if is_paused else f"{name} syncs again.")
