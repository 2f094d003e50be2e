"""`backscroll server erase`, `export`, `recover`, `allow-passwords` and `sql-login`: commands of an operator."""

from pathlib import Path

import click

from backscroll.cli.options import FOLDER, current_request, global_options
from backscroll.cli.output import write, write_json
from backscroll.cli.server_place import PlaceOptions, opened_server, place_options
from backscroll.errors import UsageError
from backscroll.render.terminal import plural, size


@click.command("erase", short_help="Erase everything of a person.")
@click.argument("who", metavar="EMAIL")
@click.option("--reason", default="", help="For the ledger of erasures.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@place_options
@global_options(unused=("home", "library", "demo"), instead="it keeps everything below --data")
def server_erase(who: str, reason: str, yes: bool, where: PlaceOptions) -> None:
    """Erase everything of a person: chats, search index, objects, shares, keys and sessions. EMAIL can be a handle.

    The files of the database are rewritten, so that nothing is left in them. An entry in the ledger of erasures and
    the audit log remain. A legal hold stops it. It cannot be undone.

    \b
    Examples:
      backscroll server erase ada@example.org
      backscroll server erase ada --yes --reason "left the company" --database postgresql://… --objects s3://…
    """
    from backscroll.team.keeping.erase_person import erase_now
    from backscroll.team.keeping.erasures import ask_erasure, erasure_of, find_by_name
    from backscroll.team.keeping.holds import require_no_hold

    with opened_server(where.place()) as (opened, store, libraries):
        with opened.transaction() as connection:
            person = find_by_name(connection, who)
            require_no_hold(connection, person.id)
            is_asked = erasure_of(connection, person.handle) is not None
        if not yes and not click.confirm(f"Erase everything of {person.name} ({person.handle}) for good?"):
            raise UsageError("nothing was erased", "add --yes to erase without being asked")
        if not is_asked:
            with opened.transaction() as connection:
                ask_erasure(connection, None, person.handle, person.org, reason)
        count = erase_now(opened, store, libraries, person.handle)
    if current_request().json:
        write_json({"erased": person.handle, "objects": count})
    else:
        write(f"Erased {person.handle}: {plural(count, 'object')}, and every row and word.")


@click.command("export", short_help="Write the sessions of a person, a project or everyone to a folder.")
@click.argument("folder", type=FOLDER)
@click.option("--person", "who", metavar="EMAIL", help="Only this person, by e-mail address or handle.")
@click.option("--org", metavar="NAME", help="Only this organisation; needed if there are several.")
@click.option("--project", metavar="NAME", help="Only the chats of a project: a folder, or its last part.")
@place_options
@global_options(unused=("home", "library", "demo"), instead="it keeps everything below --data")
def server_export(folder: Path, who: str | None, org: str | None, project: str | None, where: PlaceOptions) -> None:
    """Write session files, byte for byte as machines sent them, and usage.csv into a new FOLDER.

    \b
    Examples:
      backscroll server export ada-export --person ada@example.org
      backscroll server export shop-export --project shop
    """
    from backscroll.team.keeping.erasures import find_by_name
    from backscroll.team.operating.export_history import export_history
    from backscroll.team.people.accounts import org_of, people

    with opened_server(where.place()) as (opened, _, libraries):
        with opened.transaction() as connection:
            chosen = [find_by_name(connection, who)] if who else people(connection, org_of(connection, org))
        done = export_history(opened, libraries, chosen, folder, project)
    if current_request().json:
        write_json({"people": done.people, "files": done.files, "bytes": done.size})
    else:
        whose = "1 person" if done.people == 1 else f"{done.people:,} people"
        write(f"Wrote {plural(done.files, 'file')} of {whose} ({size(done.size)}), and usage.csv, to {folder}.")


@click.command("allow-passwords", short_help="Let people sign in with passwords again.")
@click.option("--org", metavar="NAME", help="Only this organisation; needed if there are several.")
@click.option("--owner", metavar="HANDLE", help="Also print a link for this owner to choose a new password.")
@place_options
@global_options(unused=("home", "library", "demo"), instead="it keeps everything below --data")
def server_allow_passwords(org: str | None, owner: str | None, where: PlaceOptions) -> None:
    """Let people sign in with passwords again, for example when the identity provider fails.

    \b
    Examples:
      backscroll server allow-passwords
      backscroll server allow-passwords --owner admin --database postgresql://…
    """
    from backscroll.team.people.accounts import org_of
    from backscroll.team.people.passwords import allow_by_operator

    with opened_server(where.place()) as (opened, _, _), opened.transaction() as connection:
        secret = allow_by_operator(connection, org_of(connection, org), owner)
    link = f"/welcome?link={secret}" if secret else None
    if current_request().json:
        write_json({"link": link})
        return
    write("People can sign in with passwords again.")
    if link:
        write(f"{owner} chooses a new password at the address of the server followed by {link}")


@click.command("sql-login", short_help="Print what turns people's own SQL on, for a database of yours.")
@global_options(unused=("home", "library", "demo", "json"))
def server_sql_login() -> None:
    """Print the statements that create the login for people's own SQL, for a superuser to run in the database.

    The server's own PostgreSQL needs no such step. The login may read the documented views of one person, and do
    nothing else. Then set its password with `\\password backscroll_sql`, give it to `server web` in
    BACKSCROLL_SQL_PASSWORD, and run `server migrate`.

    \b
    Example:
      backscroll server sql-login | psql --set ON_ERROR_STOP=1 postgresql://postgres@db.example.org/backscroll
    """
    from backscroll.team.operating.server_database import sql_login_statements

    write(sql_login_statements().rstrip("\n"))


@click.command("recover", short_help="Make a link that opens the account of a person who cannot sign in.")
@click.argument("who", metavar="HANDLE")
@click.option("--yes", is_flag=True, help="Do not ask.")
@place_options
@global_options(unused=("home", "library", "demo"), instead="it keeps everything below --data")
def server_recover(who: str, yes: bool, where: PlaceOptions) -> None:
    """Make a link with which a person chooses a new password and has their account back, with everything in it.

    It is for people who can confirm a link of an administrator in no other way: without a session, a connected machine
    or the identity provider, or the only owner. Anyone who opens the link can read every chat of that person. The audit
    log names the operator, and the person sees it on Account until they dismiss it.

    \b
    Examples:
      backscroll server recover ada
      backscroll server recover ada --yes --database postgresql://…
    """
    from backscroll.team.keeping.erasures import erasure_of, find_by_name
    from backscroll.team.people.invitations import invite_by_operator

    with opened_server(where.place()) as (opened, _, _):
        with opened.transaction() as connection:
            person = find_by_name(connection, who)
            if person.disabled or erasure_of(connection, person.handle):
                raise UsageError(f"the account of {person.handle} is disabled", "enable it first, on People and teams")
        if not yes and not click.confirm(
            f"Anyone who opens the link can read every chat of {person.name} ({person.handle}). Make it?"
        ):
            raise UsageError("no link was made", "add --yes to make one without being asked")
        with opened.transaction() as connection:
            secret = invite_by_operator(connection, person.org, person.id, person.handle)
    link = f"/welcome?link={secret}"
    if current_request().json:
        write_json({"link": link})
    else:
        write(f"{person.handle} chooses a new password at the address of the server followed by {link}")
        write("It works once, within 7 days. The audit log has it, and the person is told on Account.")


COMMANDS = (server_allow_passwords, server_erase, server_export, server_recover, server_sql_login)
