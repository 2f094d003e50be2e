"""The demo team on a server in this process: three people in two teams, with the sample conversations."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from backscroll.demo.sample import PACKED, unpack
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.database.connections import Database
from backscroll.team.operating.demo_team import make_demo_team
from backscroll.team.operating.server_database import prepare
from backscroll.team.people.accounts import Person, person_named
from tests.support.postgres import fresh_database
from tests.team.served import Browser, Served, serving

FLAKY, CSV, DOCKER, LEDGER, TRAILS = "129df7b4", "b9313b4a", "1315437a", "961135d9", "4f81bc3e"
"""Chats of Ada (shared with everyone), Ben (with Shop), Liz (with everyone), Ben (with everyone), Liz (with Maps)."""


@dataclass
class DemoServed:
    """The server, and a browser of each person."""

    served: Served
    folder: Path
    links: dict[str, str]

    def browser(self, handle: str) -> Browser:
        browser = self.served.browser()
        assert browser.get(f"/sign-in?link={self.links[handle]}").status_code == 200
        return browser

    def person(self, handle: str) -> Person:
        with self.served.context.database.transaction() as connection:
            return person_named(connection, handle)

    def chat(self, handle: str, session: str) -> str:
        """The id of a chat of a person."""
        found = self.browser(handle).get("/api/v1/chats").json()["chats"]
        return str(next(chat["id"] for chat in found if chat["id"].startswith(session)))


@contextmanager
def serving_demo(postgres: EmbeddedPostgres, folder: Path) -> Iterator[DemoServed]:
    """Serve it until the end of the block."""
    sample = unpack(PACKED, folder / "home", folder / "live.jsonl", datetime.now(UTC))
    with fresh_database(postgres) as url:
        database = Database(url)
        prepare(database)
        data = folder / "server"
        people = make_demo_team(database, data, str(data / "objects"), folder / "home", sample.user)
        database.close()
        links = {one.secret: one.handle for one in people}
        with serving(url, data, demo_links=links) as served:
            yield DemoServed(served, folder, {handle: secret for secret, handle in links.items()})
