"""Erase a person: nothing of theirs is left, in the files of the database, the archives or the objects."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from backscroll.errors import UsageError
from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.sync.bundles import read_bundles
from backscroll.sync.objects import ROOT
from backscroll.sync.remotes import Folder, Remote
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.database.audit import broken_at
from backscroll.team.database.connections import Database
from backscroll.team.keeping.erase_person import erase_person
from backscroll.team.keeping.erasures import ask_erasure, erasure_of
from backscroll.team.keeping.holds import HeldError, place_hold
from backscroll.team.operating.worker import Worker
from backscroll.team.people.accounts import Person, new_org, new_person, person_of
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.sending import Machine, invited, machine_of
from tests.team.served import Served, serving

ADAS = "@ cwd=/home/dev/zoo\na <- - user: feed the zyxquokka\nb <- a assistant(m1): the zyxquokka ate zyxmarzipan"
BOBS = "@ cwd=/home/dev/bank\nc <- - user: count the qvxwalrus\nd <- c assistant(m2): it is one qvxwalrus"
ADAS_BYTES = (b"zyxquokka", b"zyxmarzipan", b"Zyx Lovelace")
BOBS_BYTES = (b"qvxwalrus",)


@dataclass
class Place:
    """A server with Ada and Bob, and where its files lie."""

    served: Served
    folder: Path
    postgres: EmbeddedPostgres
    address: str
    ada: Person
    laptop: Machine
    key: str = ""

    def database_has(self, *wanted: bytes) -> set[bytes]:
        """Which of these bytes are in the files of the database."""
        with psycopg.connect(self.postgres.url(SUPERUSER, "postgres"), autocommit=True) as connection:
            connection.execute("checkpoint")
            name = psycopg.conninfo.conninfo_to_dict(self.address)["dbname"]
            (number,) = connection.execute("select oid from pg_database where datname = %s", (name,)).fetchone() or (0,)
            (data,) = connection.execute("show data_directory").fetchone() or ("",)
        return _found_below(Path(data) / "base" / str(number), wanted)

    def objects_have(self, *wanted: bytes) -> set[bytes]:
        return _in_objects(self.served.context.objects, wanted)


def _found_below(folder: Path, wanted: tuple[bytes, ...]) -> set[bytes]:
    found: set[bytes] = set()
    for path, _, names in os.walk(folder):
        for name in names:
            data = Path(path, name).read_bytes()
            found |= {one for one in wanted if one in data}
    return found


def _in_objects(objects: Remote, wanted: tuple[bytes, ...]) -> set[bytes]:
    found: set[bytes] = set()
    for one in objects.list(ROOT):
        for bundle in read_bundles(objects.get(one.name)):
            for entry in bundle.index.entries:
                if entry.file is not None:
                    found |= {each for each in wanted if each in bundle.content(entry)}
    return found


@pytest.fixture
def place(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Place]:
    with fresh_database(postgres) as url, serving(url, tmp_path / "server") as served:
        ada, bob = invited(served, "ada", "bob")
        with served.context.database.transaction() as connection:
            connection.execute(
                "update person set name = 'Zyx Lovelace', email = 'Ada@Example.org' where id = %s", (ada.id,)
            )
        laptop = machine_of(served, ada, tmp_path / "machines")
        laptop.push(zoo=ADAS)
        machine_of(served, bob, tmp_path / "machines").push(bank=BOBS)
        made = Place(served, tmp_path / "server", postgres, url, ada, laptop)
        browsers = {name: served.signed_in(name) for name in ("ada", "bob")}
        until(lambda: "zyxquokka" in browsers["ada"].get("/chats").text)
        until(lambda: "qvxwalrus" in browsers["bob"].get("/chats").text)
        yield made


def test_an_erased_person_leaves_no_bytes(place: Place) -> None:
    served, database = place.served, place.served.context.database
    ada, bob, admin = (served.signed_in(name) for name in ("ada", "bob", "admin"))
    zoo = session_uuid("zoo")
    ada.submit(f"/chats/{zoo}/audience", audience="org")
    ada.submit(f"/chats/{zoo}/marks", note="zyxmarzipan is dear")
    ada.submit("/prompts", name="feed", text="feed {{animal}} with zyxmarzipan")
    ada.submit("/prompts/feed", action="share", audience="org")
    assert bob.get("/prompts/ada:feed").status_code == 200
    key = (
        ada.submit("/account/keys", name="script", scope="read").text.partition('class="secret">')[2].partition("<")[0]
    )
    program = served.browser()
    program.headers["authorization"] = f"Bearer {key}"
    assert program.get("/api/v1/chats").status_code == 200
    assert bob.get(f"/chats/{zoo}").status_code == 200
    assert place.database_has(*ADAS_BYTES, *BOBS_BYTES) == {*ADAS_BYTES, *BOBS_BYTES}
    assert place.objects_have(*ADAS_BYTES[:2], *BOBS_BYTES) == {*ADAS_BYTES[:2], *BOBS_BYTES}

    assert "does not match" in admin.submit("/erasures", handle="ada", confirm="bob").text
    assert "Type ada to confirm" in admin.get("/erasures?handle=ada").text
    page = admin.submit("/erasures", handle="ada", confirm="ada", reason="left")
    assert "ada" in page.text
    until(lambda: "in progress" not in admin.get("/retention").text)

    assert place.database_has(*ADAS_BYTES, *BOBS_BYTES) == set(BOBS_BYTES)
    assert place.objects_have(*ADAS_BYTES, *BOBS_BYTES) == set(BOBS_BYTES)
    assert not list(served.context.objects.list("backscroll/1/ada"))
    assert not (place.folder / "people" / "ada").exists()
    assert ada.get("/chats").url.path == "/sign-in"
    assert program.get("/api/v1/chats").status_code == 401
    assert bob.get(f"/chats/{zoo}").status_code == 404
    assert bob.get("/prompts/ada:feed").status_code == 404
    assert "qvxwalrus" in bob.get("/chats").text
    assert "/people/ada/" not in admin.get("/people").text
    assert "<strong>ada</strong>" not in admin.get("/storage").text
    with pytest.raises(UsageError, match="does not accept"):
        place.laptop.push(zoo=f"{ADAS}\ne <- b user: more zyxquokka")
    with database.transaction() as connection:
        actions = [action for (action,) in connection.execute("select action from audit where about = 'ada'")]
        assert broken_at(connection, place.ada.org) is None
        entry = erasure_of(connection, "ada")
    assert {"person.erase", "person.erased"} <= set(actions)
    assert entry is not None
    assert (entry.asked_by, entry.reason, entry.objects) == ("admin", "left", 1)
    assert "is taken" in admin.submit("/people", handle="ada", name="Ada again", role="member").text


@pytest.mark.all
def test_a_hold_stops_an_erasure_and_says_so(place: Place) -> None:
    admin = place.served.signed_in("admin")
    page = admin.submit("/holds", handle="ada", reason="the matter of the zebra", chat=session_uuid("zoo"))
    assert "the matter of the zebra" in page.text
    assert "under a legal hold" in admin.get("/erasures?handle=ada").text
    refused = admin.submit("/erasures", handle="ada", confirm="ada")
    assert refused.status_code == 400
    assert "the matter of the zebra" in refused.text
    done = run_command(
        "server", "erase", "ada@example.org", "--yes", "--data", place.folder, "--database", place.address
    )
    assert done.returncode == 2
    assert "under a legal hold" in done.stderr
    assert "zyxquokka" in place.served.signed_in("ada").get("/chats").text
    number = page.text.partition("/holds/")[2].partition("/")[0]
    admin.submit(f"/holds/{number}/release")
    assert admin.submit("/erasures", handle="ada", confirm="ada").status_code == 200
    until(lambda: "in progress" not in admin.get("/retention").text)
    assert admin.submit("/holds", handle="ada", reason="too late").status_code == 404


def test_a_hold_stops_an_erasure_that_is_asked_for_or_has_not_begun(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    with fresh_database(postgres) as url:
        database = Database(url)
        with database.transaction() as connection:
            org = new_org(connection, "Zoo")
            for handle, role in (("olga", "owner"), ("ada", "member"), ("bob", "member")):
                new_person(connection, org, handle, handle.title(), role=role)
            olga = person_of(connection, org, "olga")
            place_hold(connection, olga, "ada", "the matter of the zebra")
            with pytest.raises(HeldError, match="zebra"):
                ask_erasure(connection, olga, "ada", org)
            ask_erasure(connection, olga, "bob", org)
            place_hold(connection, olga, "bob", "the matter of the walrus")
        with pytest.raises(HeldError, match="walrus"):
            erase_person(database, Folder(tmp_path / "objects"), Libraries(tmp_path, database), "bob")
        database.close()


@pytest.mark.all
def test_an_operator_erases_on_the_command_line(place: Place) -> None:
    words = ("--data", place.folder, "--database", place.address)
    done = run_command("server", "erase", "nobody", "--yes", *words)
    assert done.returncode == 3
    assert "there is no person nobody" in done.stderr
    done = run_command("server", "erase", "ada@example.org", *words, given="n\n")
    assert done.returncode == 2
    assert "nothing was erased" in done.stderr
    done = run_command("server", "erase", "ada@example.org", "--yes", *words)
    assert done.returncode == 0, done.stderr
    assert "Erased ada" in done.stdout
    assert place.database_has(*ADAS_BYTES) == set()


def test_what_arrives_during_an_erasure_is_removed_too(place: Place) -> None:
    """An upload that was let in before the erasure, and stored after it."""
    objects, database = place.served.context.objects, place.served.context.database
    (stored,) = [one for one in objects.list(ROOT) if "ada" in one.name]
    data = objects.get(stored.name)
    with database.transaction() as connection:
        ask_erasure(connection, None, "ada", place.ada.org)
    until(lambda: not list(objects.list("backscroll/1/ada")))
    objects.put(stored.name, data)
    Worker(database, objects, Libraries(place.folder, database)).look_for_work()
    until(lambda: not list(objects.list("backscroll/1/ada")))
    assert not (place.folder / "people" / "ada").exists()


def test_who_may_erase_and_hold(place: Place) -> None:
    served = place.served
    invited(served, "carl", role="admin")
    invited(served, "aud", role="auditor")
    bob, carl, aud = (served.signed_in(name) for name in ("bob", "carl", "aud"))
    assert "Erasures" not in bob.get("/retention").text
    assert bob.submit("/erasures", handle="ada", confirm="ada").status_code == 404
    assert aud.get("/retention").status_code == 200
    assert aud.submit("/erasures", handle="ada", confirm="ada").status_code == 404
    assert carl.submit("/holds", handle="ada", reason="x").status_code == 404
    assert carl.submit("/erasures", handle="admin", confirm="admin").status_code == 400
    assert carl.submit("/erasures", handle="carl", confirm="carl").status_code == 400
    with served.context.database.transaction() as connection, pytest.raises(UsageError, match="only owner"):
        ask_erasure(connection, None, "admin", place.ada.org)
