"""`backscroll archive …`: check, back up and restore the verbatim copies."""

from datetime import UTC, datetime
from pathlib import Path

import click

from backscroll.cli.archive_output import (
    home_as_json,
    local,
    proof_as_json,
    restored_as_json,
    status_as_json,
    version_as_json,
    version_lines,
    write_known_homes,
    write_next_steps,
    write_proof,
)
from backscroll.cli.backup_output import merged_as_json, write_merged
from backscroll.cli.groups import CommandGroup
from backscroll.cli.options import PATH, current_request, global_options
from backscroll.cli.output import ProgressLine, heading, open_library, warning, write, write_json, write_restore_note
from backscroll.cli.paging import width, write_lines
from backscroll.errors import BackscrollError, Busy, StorageError, UsageError
from backscroll.render.terminal import clean_line, minute, plural, short_id, size, zone_of

SHOWN = 10
FILES_SHOWN = 5


@click.group("archive", cls=CommandGroup)
@global_options()
def command() -> None:
    """The archive: a verbatim copy of everything in your homes, which outlives Claude Code's deletion.

    \b
    Examples:
      backscroll archive status
      backscroll archive verify
      backscroll archive versions 4f8c
      backscroll archive restore 4f8c --in-place
    """
    current_request().reads_history = True


@command.command("status", short_help="What is archived, and what expires soon.")
@global_options()
def archive_status() -> None:
    """Show what is archived, what Claude Code has deleted, and what it will delete within a week.

    \b
    Examples:
      backscroll archive status
      backscroll archive status --json | jq .gone
    """
    from backscroll.library.homes import known_homes, open_homes
    from backscroll.library.keeping.keep import status

    request = current_request()
    settings = request.settings()
    now = datetime.now(UTC)
    homes = open_homes(settings)
    write_restore_note(settings)
    state, known = status(settings, homes, now), known_homes(settings, homes)
    if request.json:
        write_json({**status_as_json(state, now), "homes": [home_as_json(home) for home in known]})
        return
    write(heading(f"Archive {clean_line(str(state.folder))}"))
    share = f" ({100 * state.stored / state.size:.0f} %)" if state.size else ""
    held = f"{plural(state.files, 'file')}, {plural(state.sessions, 'session')}"
    write(f"  {held}: {size(state.size)} in {size(state.stored)}{share}")
    zone = zone_of([now])
    for home, at in state.captured.items():
        write(f"  last captured {local(at)} {zone}: {clean_line(home)}")
    write(f"  last verified {f'{local(state.verified)} {zone}' if state.verified else 'never'}")
    if state.damaged_lines:
        write(
            warning(f"  {plural(state.damaged_lines, 'damaged line')} in the catalogue: see backscroll archive verify")
        )
    write(f"  {plural(len(state.gone), 'session')} deleted by Claude Code; kept in the archive")
    overdue = sum(item.due <= now for item in state.due)
    if overdue:
        write(warning(f"  {plural(overdue, 'session')} overdue: Claude Code deletes them when it next starts"))
    if len(state.due) > overdue:
        write(warning(f"  {plural(len(state.due) - overdue, 'session')} will be deleted within 7 days"))
    for item in state.due[:SHOWN]:
        write(
            f"    {minute(item.due)}  {clean_line((item.file.place.session_id or '?')[:8])}  {size(item.file.size):>8}"
        )
    if len(state.due) > SHOWN:
        write(f"    … and {len(state.due) - SHOWN:,} more (--json lists all)")
    write_known_homes(known)


@command.command("verify", short_help="Check that every byte is intact.")
@click.option("--quick", is_flag=True, help="Only check that everything is there, without reading the data.")
@global_options()
def archive_verify(quick: bool) -> None:
    """Read the whole archive, check that every byte is intact, and compare it with the live files.

    Unpacks and hashes every chunk, and checks every line of the catalogue. Lists any damage and the files it affects.

    \b
    Examples:
      backscroll archive verify
      backscroll archive verify --quick --json
    """
    from backscroll.library.homes import open_homes
    from backscroll.library.keeping.verify import prove

    request = current_request()
    settings = request.settings()
    write_restore_note(settings)
    with ProgressLine("verifying", quiet=request.quiet) as progress:
        proof = prove(settings, open_homes(settings), quick=quick, on_total=progress.set_total, on_bytes=progress.add)
    if request.json:
        write_json(proof_as_json(proof))
    else:
        write_proof(proof, quick=quick)
    if proof.report.unreadable and not proof.report.damages:
        hint = "check the disk and its permissions, then verify again"
        raise StorageError("some data could not be read, so it could not be verified", hint)
    if proof.report.damages:
        count = plural(len(proof.report.damages), "damage")
        raise BackscrollError(
            f"{count} in the archive", "run backscroll keep to archive again what your homes still have"
        )


@command.command("versions", short_help="List every archived version of a chat's files.")
@click.argument("name", metavar="ID")
@global_options()
def archive_versions(name: str) -> None:
    """List every archived version of each file of a chat.

    A file gets a new version each time it was emptied, cut or rewritten. "shown" marks the versions that lists and
    search show: the latest, and each one that is larger than all later ones. "live" marks what your home has now.

    \b
    Examples:
      backscroll archive versions 4f8c
      backscroll archive restore 4f8c --version 1 --to ./look
    """
    from backscroll.library.archives import open_archive
    from backscroll.library.keeping.kept_versions import find_kept, versions_of

    request = current_request()
    archive = open_archive(request.settings())
    chat = find_kept(open_library(request, as_it_is=True), archive, name)
    versions = versions_of(archive, chat.files)
    if request.json:
        write_json({"id": chat.id, "versions": [version_as_json(item) for item in versions]})
        return
    write_lines(version_lines(versions, width()))


@command.command("restore", short_help="Restore a chat, byte for byte.")
@click.argument("name", metavar="ID")
@click.option("--to", type=PATH, metavar="DIR", help="Restore into this folder, laid out like a home.")
@click.option("--in-place", is_flag=True, help="Restore into its own home, so that claude --resume finds it.")
@click.option(
    "--project", type=PATH, metavar="DIR", help="With --in-place: into the project in this folder, to resume it there."
)
@click.option("--version", "number", type=click.IntRange(1), metavar="N", help="Restore one file, in this version.")
@click.option("--file", "path", metavar="PATH", help="Restore only the file whose path ends with this.")
@global_options()
def archive_restore(
    name: str, to: Path | None, in_place: bool, project: Path | None, number: int | None, path: str | None
) -> None:
    """Restore a chat with everything that belongs to it: sessions, agents, tool results, todos, file backups.

    If a file has several versions, the largest one is restored; `archive versions` lists them all, and --version
    chooses one. A chat from `__store.db`, or from a log of the first clients, is restored as a session file that
    Claude Code of today can resume. Existing files are never overwritten. With --in-place, the files get a new date,
    so that Claude Code does not delete them again at once. A chat of another machine goes into this home; if its
    project lies elsewhere on this machine, name the folder with --project, and run claude --resume there.

    \b
    Examples:
      backscroll archive restore 4f8c --to ./look
      backscroll archive restore 4f8c --in-place
      backscroll archive restore 4f8c --in-place --project ~/work/shop
      backscroll archive restore 4f8c --version 1 --to ./look
    """
    from backscroll.library.keeping.restore import put_back

    if (to is None) == (not in_place):
        raise UsageError("restore needs --to DIR or --in-place", "use one of them")
    if project is not None and not in_place:
        raise UsageError("--project goes with --in-place", "with --to, files keep the layout of their home")
    folder = project.expanduser().resolve() if project else None
    request = current_request()
    done = put_back(open_library(request, as_it_is=True), name, to, number=number, path=path, project=folder)
    if request.json:
        write_json({"files": [restored_as_json(item) for item in done]})
    else:
        for item in done:
            which = f" (version {item.version.number} of {len(item.file.versions)})" if item.file.versions[1:] else ""
            write(f"{item.outcome}: {clean_line(str(item.target))}{which}")
    damaged = [item for item in done if item.outcome == "damaged"]
    if damaged:
        count = plural(len(damaged), "file")
        raise BackscrollError(f"{count} damaged and not restored", "see backscroll archive versions for other versions")
    refused = [item for item in done if item.outcome == "another file is there"]
    if refused:
        count = plural(len(refused), "file")
        raise BackscrollError(
            f"{count} not restored: another file is there", "restore with --to another folder and compare"
        )


@command.command("forget", short_help="Permanently remove a chat from the archive.")
@click.argument("name", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--delete-files", is_flag=True, help="Also delete the files that Claude Code itself has of it.")
@global_options()
def archive_forget(name: str, yes: bool, delete_files: bool) -> None:
    """Permanently remove a chat and everything that belongs to it from the library, and never archive it again.

    Says first what is removed and what stays, and asks. Also removes its pins, tags and notes, saved recalls that cite
    it, and prompts that were saved from it. The index is rebuilt without it, which takes as long as a first update.

    What Claude Code itself still has of the chat is shown, and you are asked whether to delete these files, too. If
    not, backscroll no longer reads or archives them, however they grow or move. With --yes they stay, unless you add
    --delete-files. Files of a session that is open, and files that hold other chats too, are named and stay.

    What this machine sent to remotes and team servers is removed at once, or by the next `sync` if they cannot be
    reached; a backup forgets the chat with the next `archive backup`. Your other machines hide it when they sync, and
    ask you before they forget it: see `sync forgets`.

    \b
    Examples:
      backscroll archive forget 4f8c
      backscroll archive forget 4f8c --yes
      backscroll archive forget 4f8c --yes --delete-files
    """
    from backscroll.cli.forget_output import (
        ask_before_forgetting,
        elsewhere_lines,
        forget_there,
        forgotten_as_json,
        write_forgotten,
        write_there,
    )
    from backscroll.library.archives import open_archive
    from backscroll.library.captures import find_watcher
    from backscroll.library.homes import open_homes
    from backscroll.library.keeping.client_files import find_client_files
    from backscroll.library.keeping.forget import forget_everywhere
    from backscroll.library.keeping.kept_versions import find_kept
    from backscroll.library.local import local_library

    request = current_request()
    settings = request.settings()
    if watcher := find_watcher(settings):
        raise Busy(f"{watcher} has the archive open", "stop it, then run this again; nothing was removed")
    reading = open_library(request, as_it_is=True)
    chat = find_kept(reading, open_archive(settings), name)
    client, most = find_client_files(reading, chat), 10**9 if request.verbosity > 0 else FILES_SHOWN
    deletes = delete_files
    if not yes:
        elsewhere = elsewhere_lines(settings, chat)
        deletes = ask_before_forgetting(reading, chat, client, elsewhere, deletes=deletes, shown=most)
    with (
        local_library(settings, open_homes(settings), keeps=False) as library,
        ProgressLine(quiet=request.quiet) as progress,
    ):
        done = forget_everywhere(library, chat, progress, client if deletes else None)
    request.reads_history = False  # if that was the only chat, there is nothing to be told of
    if not request.json:
        write_forgotten(done, client, deletes=deletes, shown=most)
    there = forget_there(settings, quiet=request.quiet)
    if request.json:
        write_json(forgotten_as_json(done, client, there, deletes=deletes))
    else:
        write_there(there, f"{short_id(clean_line(chat.id))} ({clean_line(chat.title)})", client=client)
    if done.not_deleted:
        count = plural(len(done.not_deleted), "file")
        raise BackscrollError(f"{count} of Claude Code could not be deleted", "delete what is listed above yourself")


@command.command("backup", short_help="Copy the archive to a folder.")
@click.argument("folder", type=PATH, metavar="DIR")
@global_options()
def archive_backup(folder: Path) -> None:
    """Copy the archive to a folder, or bring the backup that is there up to date.

    Everything is checked before it is copied. Damaged or missing data in your library never replaces good data in the
    backup: it is reported, and `archive repair --from DIR` brings it back. Only `archive forget` removes anything from
    the backup.

    \b
    Examples:
      backscroll archive backup /mnt/usb/backscroll
    """
    from backscroll.library.keeping.backup import back_up

    request = current_request()
    done, skipped = back_up(request.settings(), folder)
    if request.json:
        write_json({"folder": str(folder), **merged_as_json(done), "skipped": list(map(str, skipped))})
    else:
        write(f"copied {size(done.size)} to {clean_line(str(folder))}")
        write_merged(done, "only in the backup, or more complete there")
        for file in skipped:
            write(warning(f"not copied (empty or unreadable): {clean_line(str(file))}"))
    if done.refused or done.only_in_target:
        hint = f"run backscroll archive repair --from {folder} to recover what the backup has"
        raise BackscrollError("the library has lost data; everything it still has is in the backup", hint)


@command.command("restore-backup", short_help="Use a backup as the archive.")
@click.argument("folder", type=PATH, metavar="DIR")
@global_options()
def archive_restore_backup(folder: Path) -> None:
    """Use a backup made by `archive backup` as the archive of a library that has none. Every byte is checked.

    Its chats are then listed, found and shown as before, on any machine: no Claude Code home is needed. The homes that
    they come from stay as they are; `resume ID` puts a chat where Claude Code can continue it.

    \b
    Examples:
      backscroll archive restore-backup /mnt/usb/backscroll
    """
    from backscroll.library.homes import known_homes, open_homes
    from backscroll.library.keeping.backup import restore_backup

    request = current_request()
    settings = request.settings()
    # Settings of another computer may name homes that are not there; the next command says it.
    homes = open_homes(settings, may_be_missing=True)
    files, done = restore_backup(settings, folder)
    # The set of open homes may depend on the contents of the library now.
    known = known_homes(settings, open_homes(settings, may_be_missing=True))
    if request.json:
        refused = merged_as_json(done)["refused"]
        write_json({"files": files, "refused": refused, "homes": [home_as_json(home) for home in known]})
    else:
        write(f"{plural(files, 'file')} kept: {plural(sum(home.sessions for home in known), 'session')}")
        write_merged(done, "")
        write_known_homes(known)
        if not request.quiet:
            write_next_steps(folder, has_home=any(home.exists for home in homes))
    if done.refused:
        if any(file.may_pass for file in done.refused):
            hint = f"run backscroll archive restore-backup {folder} again"
            raise BackscrollError(f"{plural(len(done.refused), 'file')} could not be read from the backup", hint)
        raise BackscrollError(f"{plural(len(done.refused), 'file')} damaged in the backup", "see the list above")


@command.command("repair", short_help="Repair damaged or lost data.")
@click.option("--from", "folder", type=PATH, metavar="DIR", help="The folder of a backup.")
@global_options()
def archive_repair(folder: Path | None) -> None:
    """Repair the archive from its own packs and, with --from, from a backup.

    Lines missing from the catalogue are recovered from their copies in the packs, and damaged copies are rewritten. A
    backup also replaces damaged or lost content. What neither has is recorded as lost, so that archiving can continue;
    what your homes still have is archived again.

    \b
    Examples:
      backscroll archive repair
      backscroll archive repair --from /mnt/usb/backscroll
    """
    from backscroll.library.keeping.backup import repair

    request = current_request()
    done, recovered, unclaimed = repair(request.settings(), folder)
    if request.json:
        counts = {"lines": recovered.lines, "bytes": recovered.size, "missing_lines": recovered.missing}
        more = {"mended": done.mended, "unmarked": done.unmarked, "recovered": counts, "unclaimed_bytes": unclaimed}
        write_json({**merged_as_json(done), **more})
    else:
        count = f"{plural(recovered.lines, 'line')} of the catalogue about {plural(recovered.files, 'file')}"
        write(f"recovered from the packs: {count}, {size(recovered.size)}")
        if folder is not None:
            write(f"{plural(done.mended, 'damaged chunk')} replaced, {plural(done.files, 'file')} brought back")
        if done.unmarked:
            write(f"{plural(done.unmarked, 'file')} marked as damaged before: whole, mark removed")
        if recovered.missing:
            write(warning(f"{plural(recovered.missing, 'line')} of the catalogue are lost: the packs have no copy"))
        if recovered.missing and unclaimed:
            write(warning(f"{size(unclaimed)} in the packs belong to lost lines; they stay there unused"))
        write_merged(done, "")
    if done.refused:
        raise BackscrollError(f"{plural(len(done.refused), 'file')} damaged in the backup too", "see the list above")
