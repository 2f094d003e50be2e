"""`backscroll server`: the server that a team shares."""

import os
import threading
from collections.abc import Callable
from socket import socket
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from backscroll import system
from backscroll.cli.groups import CommandGroup
from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import heading, write, write_json, write_note
from backscroll.cli.server_backup import server_backup, server_restore
from backscroll.cli.server_import import server_import
from backscroll.cli.server_people import COMMANDS
from backscroll.cli.server_place import PlaceOptions, place_options
from backscroll.errors import UsageError
from backscroll.system import return_freed_memory

SHORTEST_SECRET = 16
MAX_PROCESSES = 4

if TYPE_CHECKING:
    from backscroll.team.database.connections import Database
    from backscroll.team.operating.server_database import ServerPlace
    from backscroll.team.people.oidc import OidcSettings
    from backscroll.team.serving.web_server import StartedServer


class WebOptions(TypedDict):
    """The values of `web_options`."""

    host: str
    port: int | None
    url: str | None
    oidc_issuer: str | None
    oidc_client: str | None
    oidc_admits_everyone: bool
    oidc_groups: str
    trusted_proxies: tuple[str, ...]
    log_requests: bool
    processes: int | None


def web_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where a server listens."""
    for option in (
        click.option("--oidc-admits-everyone", is_flag=True, envvar="BACKSCROLL_OIDC_ADMITS_EVERYONE",
                     help="Make everyone whom the provider signs in a member; without it, only invited people."),
        click.option("--oidc-groups", envvar="BACKSCROLL_OIDC_GROUPS", metavar="CLAIM", default="",
                     help="Add people who sign in to the teams named like their groups in this claim."),
        click.option("--processes", type=click.IntRange(1, 64), envvar="BACKSCROLL_PROCESSES",
                     help=f"How many web processes to run; without it, one for each core, at most {MAX_PROCESSES}."),
        click.option("--log-requests", is_flag=True, envvar="BACKSCROLL_LOG_REQUESTS",
                     help="Write a line of JSON for each request or job to stderr: no addresses, texts or secrets."),
        click.option("--trusted-proxy", "trusted_proxies", multiple=True, envvar="BACKSCROLL_TRUSTED_PROXIES",
                     metavar="NETWORK", help="Trust X-Forwarded-For from proxies in this network; can be repeated."),
        click.option("--oidc-client", envvar="BACKSCROLL_OIDC_CLIENT", metavar="ID",
                     help="This server's client id at the provider; the secret is read from BACKSCROLL_OIDC_SECRET."),
        click.option("--oidc-issuer", envvar="BACKSCROLL_OIDC_ISSUER", metavar="URL",
                     help="An OpenID Connect provider to sign in through."),
        click.option("--url", envvar="BACKSCROLL_URL", metavar="URL",
                     help="The address that people use, if there is a proxy in front of the server: https://…"),
        click.option("--port", type=click.IntRange(0, 65535), help="The port; 0 chooses any free one."),
        click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.group("server", cls=CommandGroup, invoke_without_command=True)
@web_options
@place_options
@global_options(unused=("home", "library"), instead="it keeps everything below --data")
@click.pass_context
def command(
    context: click.Context,
    where: PlaceOptions,
    **web: Unpack[WebOptions],
) -> None:
    """Run a server for a team: machines send sessions to it, and people read their own and what others share with them.

    Without options it starts its own PostgreSQL, keeps everything in one folder, and listens on this machine only. It
    prints a link for the first administrator and the command that connects a machine. To run its two parts separately,
    use `web` and `worker`. With --demo, three people in two teams have sent the sample conversations; it prints a link
    to sign in as each of them, and removes everything when you stop it.

    \b
    Examples:
      backscroll server
      backscroll server --demo
      backscroll server --data /srv/backscroll --port 8520
      backscroll server --host 0.0.0.0 --url https://team.example.org --database postgresql://… --objects s3://…
    """
    if context.invoked_subcommand is not None:
        return
    if current_request().demo:
        from backscroll.cli.server_demo import serve_demo

        serve_demo(web["port"], named=bool(any(where) or web["oidc_issuer"] or web["url"]))
        return
    from backscroll.team.operating.server_database import database_for_web, open_database, prepare
    from backscroll.team.serving.processes import worker_process

    place = where.place()
    return_freed_memory()
    with open_database(place) as opened:
        prepare(opened, write_note)
        with worker_process(place, opened, logs_jobs=web["log_requests"]), database_for_web(place, opened) as for_web:
            _serve(place, for_web, **web)


@command.command("web", short_help="Serve pages and receive what machines send.")
@click.option("--with-parent", is_flag=True, hidden=True, help="Stop when the standard input closes.")
@click.option("--socket", "given_socket", type=int, hidden=True, help="Serve at a socket that listens already.")
@web_options
@place_options
@global_options(unused=("home", "library", "demo"), instead="it keeps everything below --data")
def server_web(with_parent: bool, given_socket: int | None, where: PlaceOptions, **web: Unpack[WebOptions]) -> None:
    """Serve pages and receive what machines send. It needs a worker with the same data folder.

    \b
    Example:
      backscroll server web --database postgresql://… --objects s3://… --data /srv/backscroll
    """
    from backscroll.team.operating.server_database import open_database

    place = where.place()
    return_freed_memory()
    with open_database(place) as opened:
        _serve(place, opened, given_socket, stops_with_parent=with_parent, **web)


@command.command("worker", short_help="Index what machines sent.")
@click.option("--with-parent", is_flag=True, hidden=True, help="Stop when the standard input closes.")
@click.option("--log-jobs", is_flag=True, envvar="BACKSCROLL_LOG_JOBS",
              help="Write a line of JSON for each job to stderr: no texts, paths or secrets.")  # fmt: skip
@place_options
@global_options(unused=("home", "library", "demo", "json"), instead="it keeps everything below --data")
def server_worker(with_parent: bool, log_jobs: bool, where: PlaceOptions) -> None:
    """Add what machines sent to the libraries of their owners, and index it, until Ctrl-C.

    \b
    Example:
      backscroll server worker --database postgresql://… --objects s3://… --data /srv/backscroll
    """
    from backscroll.team.operating.server_database import open_database
    from backscroll.team.serving.processes import run_worker, stop_with_parent

    stop = threading.Event()
    if with_parent:
        stop_with_parent(stop.set)
    system.give_way()
    place = where.place()
    return_freed_memory()
    if log_jobs:
        from backscroll.team.operating.job_log import log_as_json

        log_as_json(_log_line)
    with open_database(place) as opened:
        run_worker(place, opened, stop, _log_line if log_jobs else None)


@command.command("migrate", short_help="Bring the tables of the database up to date.")
@place_options
@global_options(unused=("home", "library", "demo"), instead="it keeps everything below --data")
def server_migrate(where: PlaceOptions) -> None:
    """Bring the server's own tables up to date. Run it before `web` and `worker` of a new version.

    \b
    Example:
      backscroll server migrate --database postgresql://…
    """
    from backscroll.team.operating.server_database import open_database, prepare, why_sql_is_off

    with open_database(where.place()) as opened:
        lines: list[str] = []
        done = prepare(opened, lines.append)
        problem = why_sql_is_off(opened)
    if problem is not None:
        write_note(f"{problem.message}\nnext: {problem.hint}")
    if current_request().json:
        write_json({"migrations": done, "reset": lines})
    else:
        write(f"Ran {', '.join(done)}." if done else "The tables are up to date.")
        for line in lines:
            write(line)


def _serve(
    place: "ServerPlace",
    opened: "Database",
    given_socket: int | None = None,
    *,
    stops_with_parent: bool = False,
    **web: Unpack[WebOptions],
) -> None:
    """Serve until Ctrl-C: at a socket that another web process gave us, or with processes that we give ours."""
    from backscroll.team.people.client_address import networks_of
    from backscroll.team.serving.processes import stop_with_parent, web_processes
    from backscroll.team.serving.web_server import first_path, listen_for_web, serve_web

    first: str | None = None
    oidc = _oidc(web["oidc_issuer"], web["oidc_client"], web["oidc_admits_everyone"], web["oidc_groups"])

    def ready(started: "StartedServer") -> None:
        if stops_with_parent:
            stop_with_parent(started.stop)
        if given_socket is None:
            _say(started, first)

    if given_socket is None:
        listener = listen_for_web(web["host"], web["port"], web["url"])
        more = (web["processes"] or min(MAX_PROCESSES, system.usable_cores())) - 1
        first = first_path(opened)  # here and nowhere else: before the processes that we give our socket
    else:
        listener, more = socket(fileno=given_socket), 0
    with web_processes(more, listener, place, opened, web["host"], _environment(web)):
        serve_web(
            place,
            opened,
            host=web["host"],
            url=web["url"],
            listener=listener,
            oidc=oidc,
            on_ready=ready,
            trusted_proxies=networks_of(web["trusted_proxies"]),
            log=_log_line if web["log_requests"] else None,
            sql_password=os.environ.get("BACKSCROLL_SQL_PASSWORD"),
        )


def _environment(web: WebOptions) -> dict[str, str]:
    """Return the options of a web process as environment variables, for another; an empty one counts as not given."""
    return {
        "BACKSCROLL_URL": web["url"] or "",
        "BACKSCROLL_OIDC_ISSUER": web["oidc_issuer"] or "",
        "BACKSCROLL_OIDC_CLIENT": web["oidc_client"] or "",
        "BACKSCROLL_OIDC_ADMITS_EVERYONE": "1" if web["oidc_admits_everyone"] else "",
        "BACKSCROLL_OIDC_GROUPS": web["oidc_groups"],
        "BACKSCROLL_TRUSTED_PROXIES": " ".join(web["trusted_proxies"]),
        "BACKSCROLL_LOG_REQUESTS": "1" if web["log_requests"] else "",
    }


def _oidc(issuer: str | None, client: str | None, admits_everyone: bool, groups: str) -> "OidcSettings | None":
    from backscroll.team.people.oidc import OidcSettings

    if issuer is None:
        return None
    secret = os.environ.get("BACKSCROLL_OIDC_SECRET", "")
    if not client or len(secret) < SHORTEST_SECRET:
        hint = f"give --oidc-client, and a secret of at least {SHORTEST_SECRET} characters in BACKSCROLL_OIDC_SECRET"
        raise UsageError("the identity provider needs the name and the secret of this server", hint)
    return OidcSettings(issuer, client, secret, admits_everyone, groups)


def _log_line(line: str) -> None:
    import sys

    sys.stderr.write(f"{line}\n")


def _say(started: "StartedServer", first: str | None) -> None:
    import sys

    if current_request().json:
        write_json({"url": started.url, "link": f"{started.url}{first}" if first else None})
        sys.stdout.flush()
        return
    write(heading(f"The server is at {started.url}"))
    if first:
        write(f"  first administrator:  {started.url}{first}")
    write(f"  connect a machine:    backscroll connect {started.url}")
    sys.stdout.flush()


for one in (*COMMANDS, server_backup, server_import, server_restore):
    command.add_command(one)
