"""`backscroll server --demo`: a team server with people and conversations, removed when it stops."""

import sys
from typing import TYPE_CHECKING

from backscroll.cli.options import current_request
from backscroll.cli.output import heading, write, write_json, write_note
from backscroll.errors import UsageError

if TYPE_CHECKING:
    from backscroll.team.operating.demo_team import DemoPerson
    from backscroll.team.serving.web_server import StartedServer


def serve_demo(port: int | None, *, named: bool) -> None:
    """Serve until Ctrl-C. `named` says that the user named a database, a folder or a provider, which a demo does not
    use."""
    from backscroll.team.operating.demo_team import make_demo_team
    from backscroll.team.operating.server_database import ServerPlace, database_for_web, open_database, prepare
    from backscroll.team.serving.processes import worker_process
    from backscroll.team.serving.web_server import serve_web

    request = current_request()
    if named:
        raise UsageError(
            "the demo has a database and a folder of its own, and listens on this machine only",
            "leave out --data, --database, --objects, --url and --oidc-issuer, or leave out --demo",
        )
    room = request.room()
    room.folder.chmod(0o711)  # PostgreSQL may run as another user; everything else in here is in private folders
    room.script.chmod(0o600)
    place = ServerPlace(room.folder / "server")
    with open_database(place) as database:
        prepare(database)
        people = make_demo_team(database, place.data, place.objects_address, room.home, room.sample.user)
        with worker_process(place, database), database_for_web(place, database) as for_web:
            serve_web(
                place, for_web, port=port, demo_links={person.secret: person.handle for person in people},
                on_ready=lambda started: _say(started, people),
            )  # fmt: skip


def _say(started: "StartedServer", people: "list[DemoPerson]") -> None:
    links = {person.handle: f"{started.url}/sign-in?link={person.secret}" for person in people}
    if current_request().json:
        write_json({"url": started.url, "links": links})
    else:
        write(heading(f"The demo team is at {started.url}: sign in as"))
        for person in people:
            write(f"  {person.name:<13} {person.told}")
            write(f"    {links[person.handle]}")
        write_note("Ctrl-C stops the demo and removes its files")
    sys.stdout.flush()
