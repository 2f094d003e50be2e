"""The path of a newcomer: start the server, connect two machines, push, share, read, revoke; and nothing leaks.

Ada and Bob have a session that is the same, byte for byte, and each has one that the other must never see.
"""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.people.accounts import person_of
from tests.support.command import place_options, run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, write_home
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.served import PASSWORD, Browser, Served, member, serving

PATIENCE = 60
SAME = "@ cwd=/home/dev/shop\na <- - user: why is the parser slow\nb <- a assistant(m1): it reads every line twice"
ADAS = "@ cwd=/home/dev/zoo\nc <- - user: feed the zebra\nd <- c assistant(m2): the zebra is fed with marzipan"
BOBS = "@ cwd=/home/dev/bank\ne <- - user: rob the walrus\nf <- e assistant(m3): the walrus keeps its pearls"
ZEBRA, WALRUS = session_uuid("zebra"), session_uuid("walrus")


@dataclass
class Team:
    """A server with Ada and Bob, whose machines have sent everything."""

    served: Served
    folder: Path
    ada: Browser
    bob: Browser

    def machine(self, name: str, *words: str) -> str:
        """Run a command on the machine of a person."""
        home, library = self.folder / name / "home", self.folder / name / "library"
        done = run_command(*words, *place_options(words, home, library))
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def team(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    with fresh_database(postgres) as url, serving(url, folder / "server") as served:
        assert served.first_link
        served.browser().submit("/welcome", link=served.first_link.partition("link=")[2], password=PASSWORD)
        with served.context.database.transaction() as connection:
            owner = person_of(connection, 1, "admin")
        for name in ("ada", "bob"):
            member(served.context.database, owner, name)
        made = Team(served, folder, served.signed_in("ada"), served.signed_in("bob"))
        for name, browser, drawing in (("ada", made.ada, ("zebra", ADAS)), ("bob", made.bob, ("walrus", BOBS))):
            write_home(folder / name / "home", {**session_file("same", SAME), **session_file(*drawing)})
            _connect(made, name, browser)
        until(lambda: "zebra" in made.ada.get("/chats").text and "walrus" in made.bob.get("/chats").text)
        yield made


def _connect(team: Team, name: str, browser: Browser) -> None:
    """`backscroll connect` on a machine, and the person who approves it."""
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(team.machine(name, "connect", team.served.url, "--yes")))
    thread.start()
    database = team.served.context.database

    def asks() -> bool:
        with database.transaction() as connection:
            row = connection.execute("select code from device_request where person is null").fetchone()
        if row:
            assert browser.submit("/connect", code=row[0], answer="yes").url.path == "/devices"
        return row is not None

    until(asks)
    thread.join(PATIENCE)
    assert f"Connected as {name}/" in said[0]
    credential = team.folder / name / "library" / "sync" / "team.credential"
    assert credential.stat().st_mode & 0o077 == 0


def test_a_push_is_searchable_and_proved(team: Team) -> None:
    assert "equal, every object read" in team.machine("ada", "sync", "verify", "--deep")
    name = next(iter(session_file("zebra", ADAS)))
    more = session_file("zebra", f"{ADAS}\ng <- d user: and the okapi")[name]
    (team.folder / "ada" / "home" / name).write_bytes(more)
    team.machine("ada", "sync")
    until(lambda: "okapi" in team.ada.get("/search?q=okapi").text.partition("results")[2])


PAGES = (
    "/ /chats /projects /stats /spend /files /live /palette /pane /shared /devices /readers /stats/usage /stats/prompts"
    " /api/v1/chats /api/v1/projects /api/v1/stats/usage"
)


def test_open_pages_of_the_owner_are_told_of_a_change_and_no_others(team: Team) -> None:
    told: list[str] = []

    def listen() -> None:
        with suppress(httpx.HTTPError, RuntimeError), other.stream("GET", "/api/v1/events", timeout=None) as heard:
            told.extend(heard.iter_lines())

    other = team.served.signed_in("bob")
    bob = threading.Thread(target=listen, daemon=True)
    with team.ada.stream("GET", "/api/v1/events", timeout=PATIENCE) as events:
        lines = events.iter_lines()
        assert next(lines) == "event: hello"
        bob.start()
        name = next(iter(session_file("zebra", ADAS)))
        more = session_file("zebra", f"{ADAS}\ng <- d user: and the okapi\nh <- g user: and the ibis")[name]
        (team.folder / "ada" / "home" / name).write_bytes(more)
        team.machine("ada", "sync")
        assert next(line for line in lines if "changed" in line)
        assert ZEBRA in next(line for line in lines if line.startswith("data:"))
    name = next(iter(session_file("walrus", BOBS)))
    (team.folder / "bob" / "home" / name).write_bytes(session_file("walrus", f"{BOBS}\ni <- f user: well")[name])
    team.machine("bob", "sync")
    until(lambda: WALRUS in "".join(told))
    assert ZEBRA not in "".join(told)


def test_each_sees_only_what_is_theirs(team: Team) -> None:
    for browser, own, words in ((team.ada, ZEBRA, "walrus pearls bank"), (team.bob, WALRUS, "zebra marzipan zoo")):
        assert browser.get(f"/chats/{own}").status_code == 200
        for page in PAGES.split():
            text = browser.get(page).text.lower()
            assert not [word for word in words.split() if word in text], page
        for word in words.split():
            assert browser.get(f"/api/v1/search?q={word}*").json()["chats"] == []


def test_equal_sessions_count_for_each(team: Team) -> None:
    same = session_uuid("same")
    for browser in (team.ada, team.bob):
        assert len(browser.get("/api/v1/chats").json()["chats"]) == 2
        assert browser.get(f"/api/v1/chats/{same}").status_code == 200
    usage = [browser.get("/api/v1/stats/usage?by=model").json() for browser in (team.ada, team.bob)]
    assert usage[0]["rows"] == usage[1]["rows"] != []


def test_every_route_with_a_foreign_chat_is_as_if_there_were_none(team: Team) -> None:
    from starlette.routing import Mount, Route

    from backscroll.team.serving.app import ROUTES, VIEWER_ROUTES

    nothing = session_uuid("nothing")
    paths = []
    for route in [*ROUTES, *VIEWER_ROUTES]:
        inner = route.routes if isinstance(route, Mount) else [route]
        prefix = route.path if isinstance(route, Mount) else ""
        paths += [(prefix + one.path, one.methods or set()) for one in inner or [] if isinstance(one, Route)]
    tried = 0
    for path, methods in paths:
        if "{chat}" not in path and "{id}" not in path:
            continue
        for method in methods - {"HEAD"}:
            answers = []
            for chat in (ZEBRA, nothing):
                address = path.replace("{chat}", chat).replace("{id}", chat)
                for name in ("number", "agent", "call:path", "row:path", "message:path", "left", "right"):
                    address = address.replace("{" + name + "}", "1")
                headers = {"origin": team.served.url, "sec-fetch-site": "same-origin"}
                answer = team.bob.request(method, address, headers=headers)
                answers.append((answer.status_code, answer.text.replace(chat, "ID")))
                tried += 1
            assert answers[0] == answers[1], path
            assert answers[0][0] in (400, 404), path
    assert tried > 40


def test_a_shared_chat_is_read_searched_noted_and_taken_back(team: Team) -> None:
    assert team.bob.get(f"/chats/{ZEBRA}").status_code == 404
    page = team.ada.submit(f"/chats/{ZEBRA}/audience", audience="org", days="7")
    assert "everyone" in page.text
    assert "marzipan" in team.bob.get(f"/chats/{ZEBRA}").text
    assert "marzipan" in team.bob.get("/shared?q=zebra").text
    assert "marzipan" in team.bob.get(f"/api/v1/chats/{ZEBRA}/messages").text
    assert team.bob.get(f"/chats/{ZEBRA}/audience").status_code == 404
    assert "0 passages in 0 chats" in team.bob.get("/shared?q=parser").text
    assert "zebra" not in team.bob.get("/chats").text
    readers = team.ada.get("/readers").text
    assert "bob" in readers
    number = page.text.partition("/shares/")[2].partition("/")[0]
    assert team.bob.submit(f"/shares/{number}/revoke").status_code == 404
    team.ada.submit(f"/shares/{number}/revoke")
    assert team.bob.get(f"/chats/{ZEBRA}").status_code == 404
    assert "marzipan" not in team.bob.get("/shared?q=zebra").text


def test_a_chat_is_shared_with_one_team_only(team: Team) -> None:
    database = team.served.context.database
    admin = team.served.signed_in("admin")
    admin.submit("/teams", name="Core")
    with database.transaction() as connection:
        (number,) = connection.execute("select id from team where name = 'Core'").fetchone() or (0,)
    admin.submit(f"/teams/{number}", member=["ada"])
    assert team.ada.submit(f"/chats/{ZEBRA}/audience", audience=f"team-{number}").status_code == 200
    assert team.bob.get(f"/chats/{ZEBRA}").status_code == 404
    admin.submit(f"/teams/{number}", member=["ada", "bob"])
    assert team.bob.get(f"/chats/{ZEBRA}").status_code == 404, "it was shared with the team as it was"
    page = team.ada.get("/shared").text
    assert "without bob" in page
    team.ada.submit(f"/shares/{page.partition('/include')[0].rpartition('/')[2]}/include")
    assert team.bob.get(f"/chats/{ZEBRA}").status_code == 200
    assert "without bob" not in team.ada.get("/shared").text
    admin.submit(f"/teams/{number}", member=["ada"])
    assert team.bob.get(f"/chats/{ZEBRA}").status_code == 404


def test_what_is_of_one_machine_is_not_there(team: Team) -> None:
    for path in ("/settings", "/settings/sync", f"/chats/{ZEBRA}/resume", "/api/v1/status"):
        assert team.ada.get(path).status_code == 404
    assert team.ada.submit(f"/chats/{ZEBRA}/terminal").status_code == 404


def test_a_revoked_machine_sends_no_more(team: Team) -> None:
    with team.served.context.database.transaction() as connection:
        (number,) = connection.execute("select id from device where name like 'bob/%'").fetchone() or (0,)
    assert team.ada.submit(f"/devices/{number}/revoke").status_code == 404
    team.bob.submit(f"/devices/{number}/revoke")
    home, library = team.folder / "bob" / "home", team.folder / "bob" / "library"
    done = run_command("sync", "--home", home, "--library", library)
    assert done.returncode == 2
    assert "does not accept this machine" in done.stderr
    assert "walrus" in team.bob.get("/chats").text
