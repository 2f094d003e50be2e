"""`backscroll server backup` and `restore`."""

from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import write, write_json
from backscroll.cli.server_import import import_as_json, tell_import
from backscroll.cli.server_place import PlaceOptions, opened_server, place_options
from backscroll.render.terminal import size

if TYPE_CHECKING:
    from backscroll.sync.remotes import Remote
    from backscroll.team.operating.backup import Manifest
    from backscroll.team.operating.restore_part import RestoredPerson, RestoredProject

BACKUP_LACKS = "the backup is not complete: where the server looked, there was no more of"


@click.command("backup", short_help="Back up what cannot be rebuilt, or check a backup.")
@click.argument("address", metavar="PLACE")
@click.option("--with-objects", is_flag=True, help="Also copy the objects, not only their list.")
@click.option(
    "--check", is_flag=True, help="Only read the backup in PLACE: show what is in it and whether it is complete."
)
@place_options
@global_options(unused=("home", "library", "demo"), instead="it keeps everything below --data")
def server_backup(address: str, with_objects: bool, check: bool, where: PlaceOptions) -> None:
    """Back up people, rights, the audit log, the ledger of erasures, pins and notes, and a list of all objects.

    PLACE is a new folder, or an address such as s3://bucket/monday, gs://… or az://…. Everything is read again. Indexes
    and archives are not in it: they are made from the objects. The server may run meanwhile. If the server has lost
    objects, or --objects is not where they are, the command lists what is missing and fails.

    --check needs neither a server nor a database.

    \b
    Examples:
      backscroll server backup /backup/monday --with-objects
      backscroll server backup /backup/monday --check
      backscroll server backup s3://acme-backup/monday --database postgresql://… --objects s3://…
    """
    from backscroll.team.operating.backup import MissingObjectsError, back_up_server, check_backup
    from backscroll.team.operating.backup_place import new_backup, open_backup

    if check:
        backup = open_backup(address)
        _tell_backup(check_backup(backup), backup)
        return
    place = where.place()
    to = new_backup(address, place.data, place.objects_address)
    with opened_server(place) as (opened, store, _):
        done = back_up_server(opened, store, place.data, to, with_objects=with_objects)
    if done.missing:
        raise MissingObjectsError(BACKUP_LACKS, done.missing)
    if current_request().json:
        write_json({"rows": done.rows, "objects": done.objects, "object_bytes": done.object_bytes})
        return
    how = "copied and listed" if with_objects else "listed"
    stored = f"{done.objects} objects ({size(done.object_bytes)}) {how}"
    write(f"Backed up {done.rows} rows; {stored}. The backup was read again and is complete.")


def _tell_backup(found: "Manifest", backup: "Remote") -> None:
    from backscroll.team.operating.backup import MissingObjectsError, people_in

    people = people_in(backup)
    if current_request().json:
        write_json(
            {"created": found.created, "version": found.version, "rows": found.rows, "objects": found.objects,
             "object_bytes": found.object_bytes, "has_objects": found.has_objects,
             "people": [person._asdict() for person in people], "missing": found.missing}
        )  # fmt: skip
        if found.missing:
            raise MissingObjectsError(BACKUP_LACKS, found.missing)
        return
    for person in people:
        write(f"{person.handle:<24}  {person.objects:>6} objects  {size(person.size):>8}")
    write(
        f"Made {found.created} by backscroll {found.version}: {len(people)} people, {found.rows} rows, "
        f"{found.objects} objects ({size(found.object_bytes)})."
    )
    if found.missing:
        raise MissingObjectsError(BACKUP_LACKS, found.missing)
    bytes_too = "their bytes, too" if found.has_objects else "the objects only as a list: their bytes are in the bucket"
    write(f"The backup is complete: every file is as it was written; {bytes_too}.")


@click.command("restore", short_help="Restore a server, a person or a project from a backup.")
@click.argument("address", metavar="PLACE")
@click.option("--person", "who", metavar="EMAIL", help="Only this person, by e-mail address or handle.")
@click.option("--project", metavar="NAME", help="Only sessions in a project: a folder, or its last part.")
@click.option("--org", metavar="NAME", help="The organisation of a person who is new here, if there are several.")
@place_options
@global_options(unused=("home", "library", "demo"), instead="it keeps everything below --data")
def server_restore(address: str, who: str | None, project: str | None, org: str | None, where: PlaceOptions) -> None:
    """Restore a backup into a new database. People who were erased since then are erased again, before it serves.

    PLACE is a folder, or an address such as s3://bucket/monday, gs://… or az://…. Workers then make the indexes from
    the objects. If objects are missing, the command restores everything else, lists them and fails.

    With --person, the server may be in use: what it lacks of the person is restored, and nothing that is there changes.
    Someone who is not on the server comes back as a member, with machines, prompts, pins and notes, and shares nothing.
    An erased person is not restored. With --project, sessions of that project are imported from the backup, of one
    person or of everyone who is on this server; this can be undone like any import.

    \b
    Examples:
      backscroll server restore /backup/monday
      backscroll server restore /backup/monday --database postgresql://… --objects s3://…
      backscroll server restore /backup/monday --person ada
      backscroll server restore /backup/monday --project shop
    """
    from backscroll.team.operating.backup_place import open_backup
    from backscroll.team.operating.restore import restore_server
    from backscroll.team.operating.restore_part import restore_person, restore_project

    backup = open_backup(address)
    place = where.place()
    with opened_server(place) as (opened, store, libraries):
        if project is not None:
            work = place.data / "imports" / "restore"
            _tell_project(restore_project(opened, store, libraries, backup, work, project, who))
            return
        if who is not None:
            _tell_person(restore_person(opened, store, place.data, backup, who, org))
            return
        done = restore_server(opened, store, libraries, place.data, backup)
    if current_request().json:
        write_json({"people": done.people, "erased": done.erased, "missing_objects": done.missing,
                    "reset": done.reset})  # fmt: skip
        _demand_all(done.missing)
        return
    write(f"Restored {done.people} people as of {done.manifest.created}.")
    if done.erased:
        write(f"Erased again: {', '.join(done.erased)}.")
    for line in done.reset:
        write(line)
    write("Now start the server: its worker rebuilds the indexes.")
    _demand_all(done.missing)


def _tell_person(done: "RestoredPerson") -> None:
    if current_request().json:
        write_json(
            {"person": done.handle, "is_new": done.is_new, "devices": done.devices, "objects": done.objects,
             "missing_objects": done.missing}
        )  # fmt: skip
        _demand_all(done.missing)
        return
    who = f"{done.handle}, who was not here and is a member now" if done.is_new else done.handle
    what = f"{done.devices} machines and {done.objects} objects were missing"
    write(f"Restored {who}, from the backup of {done.manifest.created}: {what}.")
    _demand_all(done.missing)


def _tell_project(done: "RestoredProject") -> None:
    if current_request().json:
        people = {handle: import_as_json(imported) for handle, imported in done.people.items()}
        write_json({"people": people, "erased": done.erased, "not_here": done.absent})
        return
    for handle, imported in done.people.items():
        tell_import(imported, handle)
    if done.erased:
        write(f"Erased, and not brought back: {', '.join(done.erased)}.")
    if done.absent:
        write(f"Not on this server: {', '.join(done.absent)}. Restore them first, with --person.")


def _demand_all(missing: list[str]) -> None:
    """Fail if objects are missing."""
    if missing:
        from backscroll.team.operating.backup import MissingObjectsError

        raise MissingObjectsError("the rest was restored; neither the backup nor the server has", missing)
