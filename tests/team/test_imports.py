"""What an import says of each session, and how it is undone: exactly what it brought goes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from backscroll.library.archives import find_archive
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.policy import SyncMode
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.arrival.masks import ArrivalMasks
from backscroll.team.keeping.holds import place_hold, release_hold
from backscroll.team.operating.session_copies import CopyState, compared
from backscroll.team.people.accounts import person_of
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_file
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.sending import invited, machine_of
from tests.team.served import Browser, Served, serving

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ZOO = f"@ cwd=/home/dev/zoo\na <- - user: feed the zyxquokka with {TOKEN}\nb <- a assistant(m1): the zyxquokka is fed"
SHOP = "@ cwd=/home/dev/shop\nc <- - user: count the zyxwalrus\nd <- c assistant(m2): one"
MORE = f"{SHOP}\ne <- d user: and the zyxotters\nf <- e assistant(m3): two"
OTHER = "@ cwd=/home/dev/shop\nc <- - user: count the zyxheron\nd <- c assistant(m2): nine"
HILL = "@ cwd=/home/dev/hill\nj <- - user: who climbs with the zyxibex\nk <- j assistant(m5): all"
HERON = HILL.replace("zyxibex", "zyxheron")
LAKE = "@ cwd=/home/dev/lake\ng <- - user: who swims with the zyxpike\nh <- g assistant(m4): nobody"


@dataclass
class Place:
    served: Served
    folder: Path
    address: str

    def command(self, *words: object, fails: bool = False) -> str:
        done = run_command("server", *words, "--data", self.folder / "server", "--database", self.address)
        assert (done.returncode != 0) is fails, done.stderr
        return done.stderr if fails else done.stdout

    def json(self, *words: object) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.command(*words, "--json"))
        return found

    def laid_out(self, name: str, **drawings: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        for session, drawing in drawings.items():
            for path, data in session_file(session, drawing).items():
                (folder / Path(path).name).write_bytes(data)
        return folder

    def has(self, handle: str) -> tuple[object, ...]:
        """Everything that the server has of a person: objects, kept bytes, chats, words."""
        objects = {one.name: one.size for one in self.served.context.objects.list(f"backscroll/1/{handle}%2F")}
        archive = find_archive(Libraries(self.folder / "server", self.served.context.database).settings(handle))
        assert archive is not None
        kept = {
            (file.machine, file.path, version.number): b"".join(archive.content(version))
            for file in archive.files.values()
            for version in file.versions
        }
        browser = self.served.signed_in(handle)
        found = [
            browser.get("/api/v1/search", params={"q": word}).json()["chats"]
            for word in ("zyxquokka", "zyxwalrus", "zyxotters", "zyxheron", "zyxpike")
        ]
        return objects, kept, browser.get("/api/v1/chats").json()["chats"], found

    def imported(self, browser: Browser, word: str, *words: object) -> str:
        """Import something, wait until it can be found, and return the name of the import."""
        name = str(self.json("import", *words)["device"])
        until(lambda: _finds(browser, word))
        until(self.is_idle)
        return name

    def is_idle(self) -> bool:
        with self.served.context.database.transaction() as connection:
            return connection.execute("select 1 from job").fetchone() is None


@pytest.fixture(scope="module")
def place(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("imports")
    with fresh_database(postgres) as url, serving(url, folder / "server") as served:
        yield Place(served, folder, url)


def _pushed(place: Place, handle: str, mode: SyncMode = SyncMode.FULL, **drawings: str) -> Browser:
    (person,) = invited(place.served, handle)
    machine = machine_of(place.served, person, place.folder / "machines")
    machine.device.mode_of = lambda _: mode
    machine.push(**drawings)
    browser = place.served.signed_in(handle)
    until(lambda: len(browser.get("/api/v1/chats").json().get("chats", [])) == len(drawings))
    until(place.is_idle)
    return browser


def _finds(browser: Browser, word: str) -> bool:
    return bool(browser.get("/api/v1/search", params={"q": word}).json().get("chats"))


def test_every_session_is_compared_with_what_the_person_has(place: Place) -> None:
    """The machine masks with a key of its own; that makes no difference."""
    _pushed(place, "ada", SyncMode.REDACTED, zoo=ZOO, shop=SHOP, hill=HILL)
    before = place.has("ada")
    folder = place.laid_out("all", zoo=ZOO, shop=MORE, hill=HERON, lake=LAKE)
    expected = {"zoo": "equal", "shop": "longer", "hill": "conflict", "lake": "new"}
    found = place.json("import", folder, "--person", "ada", "--dry-run")
    assert {Path(one["path"]).stem: one["standing"] for one in found["files"]} == {
        session_uuid(name): standing for name, standing in expected.items()
    }
    assert (found["sessions"], found["equal"], found["longer"], found["conflict"], found["new"]) == (4, 1, 1, 1, 1)
    assert found["device"] is None
    said = place.command("import", folder, "--person", "ada", "--dry-run")
    assert said.splitlines()[0].split()[0] == "new"
    assert "Would import 3 of 4 session files" in said
    assert "1 in conflict with it (both are kept)" in said
    assert place.has("ada") == before
    done = place.json("import", folder, "--person", "ada")
    assert {**done, "device": None} == found
    ada = place.served.signed_in("ada")
    until(lambda: all(_finds(ada, word) for word in ("zyxotters", "zyxheron", "zyxpike")))
    again = place.command("import", folder, "--person", "ada")
    assert "Imported 0 of 4 session files (0 B): 4 equal to what ada has." in again


def test_undoing_an_import_leaves_what_was_there_before(place: Place) -> None:
    browser = _pushed(place, "bob", zoo=ZOO, shop=SHOP)
    before = place.has("bob")
    folder = place.laid_out("more", shop=MORE, lake=LAKE)
    name = place.imported(browser, "zyxpike", folder, "--person", "bob")
    lake, shop = session_uuid("lake"), session_uuid("shop")
    for chat in (lake, shop):
        browser.submit(f"/chats/{chat}/audience", audience="org")
        browser.submit(f"/chats/{chat}/marks", note=f"a note about {chat}")
    assert place.served.signed_in("admin").get(f"/chats/{lake}").status_code == 200
    assert place.has("bob") != before
    assert "Removed what bob/import brought." in place.command("import", "--undo", name)
    objects, kept, _, found = place.has("bob")
    assert (objects, kept, found) == (before[0], before[1], before[3])
    marks = (place.folder / "server" / "people" / "bob" / "marks.json").read_text()
    assert (lake in marks, shop in marks) == (False, True)
    with place.served.context.database.transaction() as connection:
        shared = connection.execute("select chat from share s join person p on p.id = s.owner where handle = 'bob'")
        assert shared.fetchall() == [(shop,)]
        assert connection.execute(
            "select actor, about from audit where action = 'history.undo-import' order by number desc"
        ).fetchone() == ("server", name)
    assert "was undone already" in place.command("import", "--undo", name, fails=True)
    assert place.imported(browser, "zyxpike", folder, "--person", "bob") == "bob/import-2"


def test_a_person_undoes_an_import_on_devices_and_nobody_else_does(place: Place) -> None:
    browser = _pushed(place, "cleo", zoo=ZOO)
    (dora,) = invited(place.served, "dora")
    name = place.imported(browser, "zyxpike", place.laid_out("lake", lake=LAKE), "--person", "cleo")
    with place.served.context.database.transaction() as connection:
        (number,) = connection.execute("select id from device where name = %s", (name,)).fetchone() or (0,)
        (laptop,) = connection.execute("select id from device where name = 'cleo/laptop'").fetchone() or (0,)
    assert "Undo this import" in browser.get("/devices").text
    assert place.served.signed_in(dora.handle).submit(f"/devices/{number}/undo").status_code == 404
    assert browser.submit(f"/devices/{laptop}/undo").status_code == 404
    assert "import undone" in browser.submit(f"/devices/{number}/undo").text
    until(lambda: not _finds(browser, "zyxpike"))
    assert len(browser.get("/api/v1/chats").json()["chats"]) == 1


def test_a_legal_hold_stops_the_undoing(place: Place) -> None:
    browser = _pushed(place, "emil", zoo=ZOO)
    name = place.imported(browser, "zyxpike", place.laid_out("held", lake=LAKE), "--person", "emil")
    before = place.has("emil")
    with place.served.context.database.transaction() as connection:
        hold = place_hold(connection, person_of(connection, 1, "admin"), "emil", "case 7")
    assert "under a legal hold" in place.command("import", "--undo", name, fails=True)
    assert place.has("emil") == before
    with place.served.context.database.transaction() as connection:
        release_hold(connection, person_of(connection, 1, "admin"), hold)
    place.command("import", "--undo", name)
    assert not _finds(browser, "zyxpike")


def test_the_same_session_twice_in_an_import_is_kept_twice_unless_one_contains_the_other(place: Place) -> None:
    invited(place.served, "fay")
    folder = place.folder / "copies"
    for day, drawing in (("friday", MORE), ("monday", SHOP), ("tuesday", OTHER), ("wednesday", SHOP)):
        for path, data in session_file("shop", drawing).items():
            (folder / day / path).parent.mkdir(parents=True)
            (folder / day / path).write_bytes(data)
    done = place.json("import", folder, "--person", "fay")
    assert (done["new"], done["copies"]) == (2, 2)
    fay = place.served.signed_in("fay")
    until(lambda: all(_finds(fay, word) for word in ("zyxotters", "zyxheron")))


def test_a_wrong_command_says_what_to_write(place: Place) -> None:
    assert "FOLDER --person" in place.command("import", fails=True)
    assert "there is no import ada/laptop" in place.command("import", "--undo", "ada/laptop", fails=True)
    assert "only the name" in place.command("import", place.folder, "--undo", "ada/import", fails=True)


def test_masks_make_no_difference_between_two_copies_of_a_session() -> None:
    (data,) = session_file("zoo", ZOO).values()
    (longer,) = session_file("zoo", f"{ZOO}\ni <- b user: more").values()
    one, two = Outgoing(b"1" * 32), Outgoing(b"2" * 32)

    def sent(outgoing: Outgoing, text: bytes) -> bytes:
        return b"".join(
            outgoing.line(SyncMode.REDACTED, line, is_json=True) or b"" for line in text.splitlines(keepends=True)
        )

    def leaving(line: bytes) -> bytes | None:
        return two.line(SyncMode.REDACTED, line, is_json=True)

    masked = sent(one, data)
    assert TOKEN.encode() not in masked
    assert compared(data, masked, leaving) is CopyState.EQUAL
    assert compared(longer, masked, leaving) is CopyState.LONGER
    assert compared(data, sent(one, longer), leaving) is CopyState.EQUAL
    assert compared(data, ArrivalMasks().segment("a.jsonl", data), leaving) is CopyState.EQUAL
    assert compared(data, masked) is CopyState.CONFLICT  # to be imported in full
    assert compared(data.replace(b"is fed", b"is not"), masked, leaving) is CopyState.CONFLICT
    assert compared(data + b'{"torn', data) is CopyState.EQUAL
