"""`backscroll connect`: send this machine's history to a team server."""

import sys
from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import heading, write, write_note
from backscroll.cli.sync_each import sync_all
from backscroll.cli.sync_preview import GITS, MODES, PATHS, policy_from, preview_for, write_preview
from backscroll.cli.sync_rules import note_unmatched
from backscroll.errors import UsageError

if TYPE_CHECKING:
    from backscroll.settings import Settings


@click.command("connect")
@click.argument("url")
@click.option("--name", default="team", show_default=True, help="The name of this remote on this machine.")
@click.option(
    "--mode", type=click.Choice(MODES), default="redacted", show_default=True, help="What is sent of each project."
)
@PATHS
@GITS
@click.option("--confirm", metavar="CODE", help="Confirm that a new sign-in to your account on this server is yours.")
@click.option("--yes", is_flag=True, help="Send, or confirm, without asking.")
@global_options(unused=("json",))
def command(
    url: str, name: str, mode: str, paths: tuple[Any, ...], gits: tuple[Any, ...], confirm: str | None, yes: bool
) -> None:
    """Connect this machine to a team server.

    Shows what would be sent, project by project, and asks. Then it prints an address and a code: open the address,
    sign in, compare the code and approve the machine. Nothing is sent before that. Afterwards, `backscroll sync` sends
    what is new. What you send is private until you share it.

    With --confirm, a machine that is connected already tells the server that you opened a link for your own account:
    until then, such a link shows nothing in it. The page behind the link has the code.

    \b
    Examples:
      backscroll connect https://team.example.org
      backscroll connect https://team.example.org --confirm BCDF-GHJK
      backscroll connect https://team.example.org --mode metrics --git 'github.com/acme/*' redacted
    """
    from backscroll.library.machine import ensure_machine
    from backscroll.library.syncing.remote_settings import RemoteSettings, read_remotes, write_credential, write_remote
    from backscroll.sync.connecting import ask_to_connect, wait_to_connect
    from backscroll.sync.http_remote import check_address
    from backscroll.sync.policy import EffectivePolicy

    request = current_request()
    settings = request.settings()
    url = url.rstrip("/")
    check_address(url)
    if confirm is not None:
        _confirm(settings, url, confirm, is_sure=yes)
        return
    policy = policy_from(mode, paths, gits)
    if name in read_remotes(settings):
        raise UsageError(
            f"there is already a remote {name}",
            f"to connect again, run backscroll sync remove {name} first; for another server, give --name",
        )
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("nothing is sent until you agree", "see backscroll sync preview, then add --yes")
        write_preview(preview_for(settings, EffectivePolicy(policy)))
        note_unmatched(settings, policy)
        if not click.confirm(f"Send this to {url}?"):
            write("Nothing was sent.")
            return
    else:
        note_unmatched(settings, policy)
    pending = ask_to_connect(url, ensure_machine(settings.library).name)
    write(f"Open {pending.address}")
    write(heading(f"and approve this machine if the page shows the code {pending.code}"))
    if not request.quiet:
        write_note("waiting for approval; Ctrl-C to stop")
    sys.stdout.flush()
    let_in = wait_to_connect(url, pending)
    remote = RemoteSettings(name=name, url=url, policy=policy, device=let_in.device)
    write_credential(settings, name, let_in.credential)
    write_remote(settings, remote)
    write(f"Connected as {let_in.device}.")
    sync_all(settings, [remote])


def _confirm(settings: "Settings", url: str, code: str, *, is_sure: bool) -> None:
    """Tell the server whether the person of this machine opened the link with this code."""
    from backscroll.library.syncing.remote_settings import read_credential, read_remotes
    from backscroll.sync.connecting import answer_recovery, waiting_recovery

    remote = next((other for other in read_remotes(settings).values() if other.url.rstrip("/") == url), None)
    credential = read_credential(settings, remote.name) if remote else None
    if credential is None:
        raise UsageError(f"this machine is not connected to {url}", "confirm it on a machine that is, or on Account")
    waiting = waiting_recovery(url, credential, code)
    if not is_sure:
        if not sys.stdin.isatty():
            raise UsageError("nothing is confirmed until you agree", "add --yes to confirm it without being asked")
        write(f"{waiting.made_by} made a link for the account {waiting.person}, which was opened at {waiting.opened}.")
        is_sure = click.confirm(f"Did you open it yourself? If so, it will show everything in {waiting.person}")
    answer_recovery(url, credential, code, is_mine=is_sure)
    write(f"Confirmed: it opens the account {waiting.person}." if is_sure else "Refused: the link opens nothing.")
