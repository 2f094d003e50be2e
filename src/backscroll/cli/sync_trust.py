"""`backscroll sync trust`: by which keys other machines are known, and how a new one is accepted."""

import sys
from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import heading, warning, write, write_json
from backscroll.errors import UsageError
from backscroll.render.terminal import clean_line

if TYPE_CHECKING:
    from backscroll.library.syncing.trusted_keys import KnownMachine


@click.command("trust", short_help="The keys of your machines; accept a new one.")
@click.argument("name", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@global_options(unused=("home",), instead="keys belong to the library")
def sync_trust(name: str | None, yes: bool) -> None:
    """List the keys by which your other machines are known, or accept what was refused of one.

    A machine signs what it sends. The first key that is seen of it is trusted, on all remotes; what comes under its
    name later with another key, or without a signature, is refused, and `sync` says so. That is as it should be if
    anyone else can write to the remote. It also happens if you set up the machine anew. To be sure, run
    `sync trust` on that machine: the key that it lists as its own must be the one that you accept here.

    \b
    Examples:
      backscroll sync trust
      backscroll sync trust laptop-1a2b3c4d
    """
    from backscroll.library.syncing.remote_settings import device_of
    from backscroll.library.syncing.trusted_keys import TrustedKeys

    request = current_request()
    settings = request.settings()
    keys = TrustedKeys(settings)
    if name is None:
        device = device_of(settings)
        own = device.signer.public
        if request.json:
            machines = [machine_as_json(machine) for machine in keys.machines.values()]
            write_json({"own": {"machine": device.name, "key": own}, "machines": machines})
            return
        from backscroll.sync.signing import fingerprint

        write(f"{clean_line(device.name)} (this machine): {fingerprint(own)}")
        for machine in keys.machines.values():
            _write_machine(machine)
        return
    known = keys.machines.get(name)
    if known is not None and known.refused is not None and not yes:
        if request.json or not sys.stdin.isatty():
            raise UsageError("nothing is trusted until you agree", f"run backscroll sync trust {name} --yes")
        _write_machine(known)
        if not click.confirm(f"Trust what comes {_how(known.refused_fingerprint)} as {clean_line(name)} from now on?"):
            write("Nothing was changed.")
            return
    accepted = keys.accept(name)
    if request.json:
        write_json(machine_as_json(accepted))
    elif not request.quiet:
        write(f"{clean_line(name)} is known {_how(accepted.fingerprint)} from now on. Run backscroll sync.")


def machine_as_json(one: "KnownMachine") -> dict[str, Any]:
    """Return a machine and its key; `refused` is the key of refused data, empty if that was not signed."""
    return {"machine": one.machine, "key": one.key, "since": one.since, "refused": one.refused}


def _write_machine(one: "KnownMachine") -> None:
    write(f"{heading(clean_line(one.machine))}: {one.fingerprint or 'does not sign, as you accepted'}")
    if one.refused is not None:
        what = f"signed with {one.refused_fingerprint}" if one.refused else "not signed"
        write(warning(f"  refused: what is {what}"))


def _how(fingerprint: str) -> str:
    return f"by the key {fingerprint}" if fingerprint else "without a signature"
