"""How long chats are kept: expired ones leave index, archive and objects; holds win; the proof stays whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backscroll.conversation.overview import Overview
from backscroll.library.marks import read_marks
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.bundles import read_bundles
from backscroll.team.keeping.retention import RetentionRule, end_of
from tests.support.drawings import session_uuid
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.sending import Machine, invited, machine_of
from tests.team.served import Browser, Served, serving

OLD = "@ cwd=/home/dev/zoo\na <- - user: feed the zyxquokka\nb <- a assistant(m1): the zyxquokka ate zyxmarzipan"
HELD = "@ cwd=/home/dev/zoo\nc <- - user: feed the zyxheron\nd <- c assistant(m2): it is fed"
OTHER = "@ cwd=/home/dev/shop\ne <- - user: count the zyxwalrus\nf <- e assistant(m3): one"
NOW = datetime.now(UTC)


@dataclass
class Place:
    served: Served
    folder: Path
    laptop: Machine
    ada: Browser
    admin: Browser

    def words_in_objects(self) -> set[bytes]:
        found: set[bytes] = set()
        objects = self.served.context.objects
        for one in objects.list():
            for bundle in read_bundles(objects.get(one.name)):
                for entry in bundle.index.entries:
                    if entry.file is not None:
                        data = bundle.content(entry)
                        found |= {word for word in (b"zyxquokka", b"zyxheron", b"zyxwalrus") if word in data}
        return found


@pytest.fixture
def place(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Place]:
    with fresh_database(postgres) as url, serving(url, tmp_path / "server") as served:
        (ada,) = invited(served, "ada")
        laptop = machine_of(served, ada, tmp_path / "machines")
        laptop.push(old=OLD, held=HELD, other=OTHER)
        browser = served.signed_in("ada")
        until(lambda: len(browser.get("/api/v1/chats").json().get("chats", [])) == 3)
        yield Place(served, tmp_path / "server", laptop, browser, served.signed_in("admin"))


def test_expired_chats_leave_rows_words_archive_and_objects(place: Place) -> None:
    ada, admin = place.ada, place.admin
    old, held, other = (session_uuid(name) for name in ("old", "held", "other"))
    ada.submit(f"/chats/{old}/audience", audience="org")
    ada.submit(f"/chats/{old}/marks", note="zyxmarzipan is dear")
    admin.submit("/holds", handle="ada", reason="the heron matter", chat=held)
    assert place.words_in_objects() == {b"zyxquokka", b"zyxheron", b"zyxwalrus"}
    page = admin.submit("/retention", project="zoo", days="30").text
    assert "30 days" in page
    until(lambda: ada.get(f"/api/v1/chats/{old}").status_code == 404)
    until(lambda: "chats.expired" in admin.get("/audit").text)
    until(lambda: place.words_in_objects() == {b"zyxheron", b"zyxwalrus"})
    for kept in (held, other):
        assert ada.get(f"/api/v1/chats/{kept}").status_code == 200
    assert ada.get("/api/v1/search?q=zyxquokka").json()["chats"] == []
    assert ada.get("/api/v1/search?q=zyxheron").json()["chats"]
    database = place.served.context.database
    with database.transaction() as connection:
        assert connection.execute("select 1 from share").fetchone() is None
        words = connection.execute("select 1 from backscroll.lexicon where word like 'zyxquok%'").fetchone()
        assert words is None
    assert "under a legal hold" in ada.get("/retention").text
    marks = (read_marks(place.folder / "people" / "ada")).chats
    assert old not in marks


def test_a_machine_still_proves_that_all_is_there_and_nothing_comes_back(place: Place) -> None:
    place.admin.submit("/retention", project="zoo", days="30")
    until(lambda: place.words_in_objects() == {b"zyxwalrus"})
    proved = place.laptop.device.verify(place.laptop.remote, deep=True)
    assert proved.is_whole
    place.laptop.push(old=f"{OLD}\ng <- b user: more of the zyxquokka", other=f"{OTHER}\nh <- f user: zyxotter")
    until(lambda: bool(place.ada.get("/api/v1/search?q=zyxotter").json().get("chats")))
    assert place.ada.get("/api/v1/search?q=zyxquokka").json()["chats"] == []
    until(lambda: place.words_in_objects() == {b"zyxwalrus"})
    assert place.laptop.device.verify(place.laptop.remote, deep=True).is_whole


def test_what_goes_next_is_shown_before_it_goes(place: Place) -> None:
    admin, ada = place.admin, place.ada
    days = (NOW - datetime(2020, 1, 1, tzinfo=UTC)).days + 20_000
    admin.submit("/retention", project="", days=str(days))
    until(lambda: session_uuid("other") in ada.get("/retention").text)
    shown = admin.get("/retention").text
    assert session_uuid("other") not in shown  # which chats there are is not for administrators
    assert "zyx" not in shown
    assert ada.submit("/retention", days="1").status_code == 404
    assert admin.submit("/retention", days="0").status_code == 400
    assert admin.submit("/retention", days="soon").status_code == 400
    number = shown.partition('action="/retention/')[2].partition("/")[0]
    assert ada.submit(f"/retention/{number}/remove").status_code == 404
    assert "There are no rules" in admin.submit(f"/retention/{number}/remove").text
    until(lambda: session_uuid("other") not in ada.get("/retention").text)


@pytest.mark.parametrize(
    ("project", "days"),
    [("/home/dev/zoo", 7), ("/home/dev/zoo/cage", 7), ("/home/ann/zoo", 9), ("/home/dev/shop", 5), ("", 5)],
)
def test_the_rule_with_the_longest_project_counts(project: str, days: int) -> None:
    rules = [
        RetentionRule(number, wanted, kept, "admin", NOW)
        for number, (wanted, kept) in enumerate([(None, 5), ("zoo", 9), ("/home/dev/zoo", 7)])
    ]
    assert end_of(rules, _chat(project)) == NOW + timedelta(days=days)
    assert end_of(rules[1:], _chat("/srv/else")) is None


def _chat(project: str) -> Overview:
    return Overview(
        id="x", title="", project=project, sessions=[], leaves=[], branches=0, agents=0, messages=0, prompts=0,
        started=NOW, last_active=NOW, active_seconds=0, models=[], versions=[], git_branches=[], compactions=0,
        copies=0, tags=[], pull_requests=[], files_touched=[], todos=[],
    )  # fmt: skip
