"""A team server to test with: real PostgreSQL, real sockets, browsers without a screen."""

import queue
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from backscroll.sync.remotes import open_remote
from backscroll.team.database.connections import Database
from backscroll.team.database.jobs import CHANNEL
from backscroll.team.database.web_role import as_web
from backscroll.team.operating.server_database import ServerPlace, prepare
from backscroll.team.people.accounts import Person
from backscroll.team.people.context import TeamContext
from backscroll.team.people.invitations import accept, invite
from backscroll.team.people.oidc import OidcSettings
from backscroll.team.serving.processes import run_worker
from backscroll.team.serving.web_server import StartedServer, first_path, serve_web

PASSWORD = "correct horse battery"


class Browser(httpx.Client):
    """Follows redirects, keeps cookies, and says where its forms come from, as browsers do."""

    def __init__(self, url: str) -> None:
        super().__init__(base_url=url, follow_redirects=True, trust_env=False, timeout=60)

    def submit(self, path: str, **fields: str | list[str]) -> httpx.Response:
        headers = {"origin": str(self.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
        return self.post(path, data=fields, headers=headers)

    def sign_in(self, handle: str, password: str = PASSWORD) -> "Browser":
        answer = self.submit("/sign-in", handle=handle, password=password, next="/devices")
        assert answer.url.path == "/devices", answer.text[-900:]
        return self


@dataclass
class Served:
    """A server that runs."""

    context: TeamContext
    url: str
    first_link: str | None = None
    browsers: list[Browser] = field(default_factory=list)

    def browser(self) -> Browser:
        self.browsers.append(Browser(self.url))
        return self.browsers[-1]

    def signed_in(self, handle: str) -> Browser:
        return self.browser().sign_in(handle)


@contextmanager
def serving(
    database_url: str,
    folder: Path,
    oidc: OidcSettings | None = None,
    *,
    works: bool = True,
    objects: str = "",
    **more: object,
) -> Iterator[Served]:
    """A web process and, if it `works`, a worker, in threads."""
    place = ServerPlace(folder, database_url, objects or str(folder / "objects"))
    database = Database(database_url)
    prepare(database)
    started: queue.Queue[StartedServer] = queue.Queue()
    stop = threading.Event()
    database_for_web = Database(as_web(database_url))
    web = threading.Thread(
        target=serve_web,
        args=(place, database_for_web),
        kwargs={"port": 0, "oidc": oidc, "on_ready": started.put, **more},
    )
    worker = threading.Thread(target=run_worker, args=(place, database, stop))
    web.start()
    if works:
        worker.start()
    ready = started.get(timeout=60)
    path = first_path(database)
    context = TeamContext(database, open_remote(place.objects_address), ready.url)
    served = Served(context, ready.url, f"{ready.url}{path}" if path else None)
    try:
        yield served
    finally:
        for browser in served.browsers:
            browser.close()
        stop.set()
        with database.connection() as connection:
            connection.execute(f"notify {CHANNEL}")  # a worker that waits would look up only at its next turn
        ready.stop()
        web.join(30)
        if works:
            worker.join(30)
        database_for_web.close()
        database.close()


def member(database: Database, by: Person, handle: str, role: str = "member") -> Person:
    """A person who was invited and has chosen a password."""
    with database.transaction() as connection:
        return accept(connection, invite(connection, by, handle, handle.title(), role), PASSWORD)


def code_in(text: str) -> str:
    found = re.search(r"[A-Z]{4}-[A-Z]{4}", text)
    assert found, text
    return found[0]
