"""Output of `archive forget`: what it removes, and what stays where."""

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.output import warning, write, write_note
from backscroll.errors import UsageError
from backscroll.render.terminal import clean_line, plural, short_id, size

if TYPE_CHECKING:
    from collections.abc import Callable

    from backscroll.library.keeping.client_files import ClientFiles, Remainder
    from backscroll.library.keeping.forget import ForgetOutcome
    from backscroll.library.keeping.kept_versions import KeptChat
    from backscroll.library.library import Library
    from backscroll.library.syncing.forget_remotely import ForgottenThere
    from backscroll.settings import Settings


def ask_before_forgetting(
    library: "Library", chat: "KeptChat", client: "ClientFiles", elsewhere: Sequence[str], *, deletes: bool, shown: int
) -> bool:
    """Print what will be removed and what will stay, and ask; raise Abort without a yes.

    Return whether to delete the files of Claude Code, too: that is a question of its own, unless an option answers it.
    """
    from backscroll.library.keeping.forget import saved_from

    if not sys.stdin.isatty():
        hint = "add --yes if you are sure; it leaves the files of Claude Code, unless you add --delete-files"
        raise UsageError("forget asks for confirmation, but the input is not a terminal", hint)
    bytes_ = sum(version.size for file in chat.files for version in file.versions)
    write_note(f"{short_id(clean_line(chat.id))}  {clean_line(chat.title)}")
    write_note(f"removed for good: {plural(len(chat.files), 'file')} in the archive, {size(bytes_)}, in all versions;")
    write_note("  what the index has of it; its pins, tags and notes")
    saved = saved_from(library, chat)
    for recall in saved.recalls:
        write_note(f"  the saved recall {clean_line(recall)}, which cites it")
    for prompt in saved.prompts:
        write_note(f"  the saved prompt {clean_line(prompt)}, which is from it")
    for line in elsewhere:
        write_note(line)
    if client.files:
        what = "deleted, too" if deletes else "and you are asked whether to delete them, too"
        count = f"{plural(len(client.files), 'file')}, {size(client.size)}"
        write_note(warning(f"Claude Code still has {count}: backscroll no longer reads or archives them, {what}:"))
        _write_paths(client.files, write_note, shown)
    _write_remains(client.remains, write_note)
    write_note("not touched: backups, until the next backscroll archive backup, and files that you exported")
    both = " and from Claude Code" if deletes and client.files else ""
    click.confirm(f"Permanently remove it from the archive{both}?", abort=True, err=True)
    if deletes or not client.files:
        return deletes
    return click.confirm(f"Also delete {_these(client.files)} of Claude Code? It cannot be undone.", err=True)


def elsewhere_lines(settings: "Settings", chat: "KeptChat") -> list[str]:
    """Return what will happen to a forgotten chat on remotes, on other machines and on team servers."""
    from backscroll.library.machine import read_machine
    from backscroll.library.syncing.remote_settings import read_remotes

    remotes = read_remotes(settings).values()
    servers = [remote.name for remote in remotes if remote.device]
    others = [remote.name for remote in remotes if not remote.device]
    machine = read_machine(settings.library)
    senders = sorted({file.machine for file in chat.files if not machine.is_own(file.machine)})
    lines = []
    if others:
        lines.append(f"removed from what this machine sent to {', '.join(others)}, too, at once if it can be reached;")
        lines.append("  your other machines hide it when they sync, and ask you before they forget it")
    if others and senders:
        lines.append(f"  what {_names(senders)} sent stays there until you agree on that machine")
    if servers:
        lines.append(f"forgotten on the team server {', '.join(servers)}, too")
    return lines


def forget_there(settings: "Settings", *, quiet: bool) -> "list[ForgottenThere]":
    """Remove forgotten chats from all remotes, and print the result for each."""
    from backscroll.cli.output import ProgressLine
    from backscroll.library.syncing.forget_remotely import forget_on_remotes

    with ProgressLine("removing it from remotes", quiet=quiet):
        return list(forget_on_remotes(settings))


def write_there(
    found: "Sequence[ForgottenThere]", what: str, askers: Collection[str] = (), client: "ClientFiles | None" = None
) -> None:
    """Print the result of forgetting on each remote, and which machines are asked: not those that asked for it.

    `client` is what this machine's Claude Code still has: prompts that stay here stay there, too.
    """
    from backscroll.library.keeping.client_files import HISTORY

    for done in found:
        if done.problem:
            write(warning(f"not removed from {done.remote} yet: {clean_line(done.problem)}. The next sync removes it"))
        elif done.is_server:
            write(f"told the team server {done.remote} to forget it")
        elif done.removed:
            write(f"removed from {done.remote} what this machine had sent of it")
        else:
            write(f"this machine had sent nothing of it to {done.remote}")
        if client is not None and _has_prompts(client, done):
            write(warning(f"perhaps still on {done.remote}: its prompts in {HISTORY}, as far as they may leave"))
    machines = sorted({machine for done in found for machine in done.machines}.difference(askers))
    if machines:
        write(f"asked {_names(machines)} to forget {what}: hidden there from the next sync on, until you answer")


def forgotten_as_json(
    done: "ForgetOutcome", client: "ClientFiles", there: "Sequence[ForgottenThere]", *, deletes: bool
) -> dict[str, Any]:
    """Return what was removed, and where the chat still is."""
    failed = {place.path for place in done.not_deleted}
    stays = [path for path in client.files if not deletes or path in failed]
    remains = [*done.not_deleted, *client.remains]
    return {
        "forgotten": done.files,
        **done.saved._asdict(),
        "deleted": [str(path) for path in client.files if deletes and path not in failed],
        "stays": [str(path) for path in stays],
        "remains": [{"path": str(place.path), "why": place.why} for place in remains],
        "remotes": [_there_as_json(place, has_prompts=_has_prompts(client, place)) for place in there],
    }


def _has_prompts(client: "ClientFiles", one: "ForgottenThere") -> bool:
    """Whether prompts of the chat may be on a remote, in the list of all prompts."""
    return one.has_history and client.has_kept_prompts


def _there_as_json(one: "ForgottenThere", *, has_prompts: bool) -> dict[str, Any]:
    """Return the result of forgetting on a remote."""
    return {
        "remote": one.remote, "is_server": one.is_server, "removed": one.removed, "asked": list(one.machines),
        "has_typed_prompts": has_prompts, "problem": one.problem or None,
    }  # fmt: skip


def _names(machines: Sequence[str]) -> str:
    return ", ".join(map(clean_line, machines))


def write_forgotten(done: "ForgetOutcome", client: "ClientFiles", *, deletes: bool, shown: int) -> None:
    """Print what was removed, and where the chat still is."""
    write(f"forgot {plural(done.files, 'file')}")
    for recall in done.saved.recalls:
        write(f"removed the saved recall {clean_line(recall)}, which cites it")
    for prompt in done.saved.prompts:
        write(f"removed the saved prompt {clean_line(prompt)}, which is from it")
    if client.files and deletes:
        write(f"deleted {plural(len(client.files) - len(done.not_deleted), 'file')} of Claude Code")
    elif client.files:
        are, count = "is" if len(client.files) == 1 else "are", plural(len(client.files), "file")
        kept = f"{count} that {are} still in your home; backscroll no longer reads or archives them"
        write(warning(f"not touched: {kept}:"))
        _write_paths(client.files, write, shown)
    _write_remains([*done.not_deleted, *client.remains], write)


def _write_remains(remains: "Sequence[Remainder]", tell: "Callable[[str], None]") -> None:
    if remains:
        tell(warning("still there:"))
    for file in remains:
        tell(f"  {clean_line(str(file.path))}: {clean_line(file.why)}")


def _write_paths(paths: Sequence[Path], tell: "Callable[[str], None]", shown: int) -> None:
    for path in paths[:shown]:
        tell(f"  {clean_line(str(path))}")
    if len(paths) > shown:
        tell(f"  … and {len(paths) - shown:,} more (-v lists all)")


def _these(paths: Sequence[Path]) -> str:
    return "this file" if len(paths) == 1 else f"these {len(paths):,} files"
