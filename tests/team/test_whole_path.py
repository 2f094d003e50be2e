"""The path of a newcomer from the first link to the last trace, in one piece, through single sign-on.

The first administrator opens a link; Ada and Bob are invited and sign in through the identity provider; each connects a
machine and pushes; Ada shares; Bob finds and reads what is shared and nothing else; spend is seen by team; what is
revoked is gone; and Ada is erased.
"""

import re
import threading
from pathlib import Path

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.keeping.erasures import erasure_of
from backscroll.team.people.oidc import OidcSettings
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, write_home
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.sync.served import serving as serving_app
from tests.team.provider import CLIENT, SECRET, Provider
from tests.team.served import PASSWORD, Browser, Served, serving

SHARED = "@ cwd=/home/dev/zoo\nc <- - user: feed the zebra\nd <- c assistant(m2): the zebra is fed with marzipan"
PRIVATE = "@ cwd=/home/dev/zoo\ng <- - user: sell the okapi\nh <- g assistant(m4): the okapi is sold for saffron"
BOBS = "@ cwd=/home/dev/bank\ne <- - user: rob the walrus\nf <- e assistant(m3): the walrus keeps its pearls"


def test_from_the_first_link_to_the_last_trace(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    provider = Provider()
    with serving_app(provider.app) as issuer, fresh_database(postgres) as url:
        provider.issuer = issuer
        with serving(url, tmp_path / "server", OidcSettings(issuer, CLIENT, SECRET)) as served:
            provider.redirect = f"{served.url}/oidc/callback"
            _walk(served, provider, tmp_path)


def _walk(served: Served, provider: Provider, folder: Path) -> None:
    assert served.first_link
    admin = served.browser()
    admin.submit("/welcome", link=served.first_link.partition("link=")[2], password=PASSWORD)
    people = {name: _invited(served, provider, admin, name) for name in ("ada", "bob")}
    ada, bob = people["ada"], people["bob"]

    _push(served, folder, "ada", ada, {"zebra": SHARED, "okapi": PRIVATE})
    _push(served, folder, "bob", bob, {"walrus": BOBS})
    until(lambda: "okapi" in ada.get("/chats").text and "walrus" in bob.get("/chats").text)

    zebra, okapi = session_uuid("zebra"), session_uuid("okapi")
    assert ada.submit(f"/chats/{zebra}/audience", audience="org").status_code == 200
    assert [chat["owner"] for chat in bob.get("/api/v1/search?q=marzipan").json()["chats"]] == ["ada"]
    assert "marzipan" in bob.get(f"/chats/{zebra}").text
    assert bob.get(f"/chats/{okapi}").status_code == 404
    assert bob.get("/api/v1/search?q=saffron").json()["chats"] == []
    assert "bob" in ada.get("/readers").text

    admin.submit("/teams", name="Keepers")
    team = re.search(r'action="/teams/(\d+)"', admin.get("/people").text)
    assert team
    admin.submit(f"/teams/{team[1]}", member=["ada", "bob"], lead="ada")
    assert "fewer than 5 people" in ada.get("/team-spend?period=all").text
    admin.submit("/team-spend/rule", shown="1")
    spent = ada.get("/team-spend?period=all&by=person").text.partition('class="report cards"')[2]
    assert "bob" in spent
    assert bob.get("/team-spend").status_code == 404

    number = re.search(r'action="/shares/(\d+)/revoke"', ada.get(f"/chats/{zebra}/audience").text)
    assert number
    ada.submit(f"/shares/{number[1]}/revoke")
    assert bob.get(f"/chats/{zebra}").status_code == 404
    assert bob.get("/api/v1/search?q=marzipan").json()["chats"] == []

    ada.submit(f"/chats/{zebra}/audience", audience="org")
    assert admin.submit("/erasures", handle="ada", confirm="ada", reason="left").status_code == 200

    def is_erased() -> bool:
        with served.context.database.transaction() as connection:
            found = erasure_of(connection, "ada")
        return found is not None and found.done is not None

    until(is_erased)
    assert bob.get(f"/chats/{zebra}").status_code == 404
    assert ada.get("/account").url.path == "/sign-in"
    assert not [one for one in served.context.objects.list() if one.name.startswith("ada/")]
    assert "walrus" in bob.get("/chats").text
    assert "chain is intact" in admin.get("/audit").text


def _invited(served: Served, provider: Provider, admin: Browser, name: str) -> Browser:
    page = admin.submit("/people", handle=name, name=name.title(), role="member").text
    link = re.search(r"/welcome\?link=(bsi_[\w-]+)", page)
    assert link
    provider.subject = f"subject of {name}"
    browser = served.browser()
    answer = browser.get("/oidc/start", params={"link": link[1], "next": "/account"})
    assert f"({name})" in answer.text
    return browser


def _push(served: Served, folder: Path, name: str, browser: Browser, drawings: dict[str, str]) -> None:
    home, library = folder / name / "home", folder / name / "library"
    write_home(home, {path: data for one in drawings.items() for path, data in session_file(*one).items()})
    done: list[str] = []

    def connect() -> None:
        done.append(run_command("connect", served.url, "--yes", "--home", home, "--library", library).stdout)

    thread = threading.Thread(target=connect)
    thread.start()

    def asks() -> bool:
        with served.context.database.transaction() as connection:
            row = connection.execute("select code from device_request where person is null").fetchone()
        return row is not None and browser.submit("/connect", code=row[0], answer="yes").url.path == "/devices"

    until(asks)
    thread.join(60)
    assert f"Connected as {name}/" in done[0]
