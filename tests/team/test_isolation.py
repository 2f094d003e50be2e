"""Two organisations with the same content on one server: nothing of one is seen, counted or changed by the other."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from starlette.routing import Route

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.database.connections import Database
from backscroll.team.database.row_security import OPEN, unguarded
from backscroll.team.operating.export_history import export_history
from backscroll.team.people.accounts import Person, new_org, new_person, people, person_of
from backscroll.team.people.invitations import accept, invite_by_operator
from backscroll.team.serving.app import ROUTES
from tests.support.drawings import session_uuid
from tests.support.postgres import fresh_database, without_row_security
from tests.support.processes import until
from tests.team.sending import Machine, invited, machine_of
from tests.team.served import PASSWORD, Browser, Served, serving

SAME = "@ cwd=/home/dev/shop\na <- - user: why is the parser slow\nb <- a assistant(m1): it reads every line twice"
FIRST = "@ cwd=/home/dev/zoo\nc <- - user: feed the zyxquokka\nd <- c assistant(m2): with zyxmarzipan"
SECOND = "@ cwd=/home/dev/bank\ne <- - user: rob the qvxwalrus\nf <- e assistant(m3): of its qvxpearls"
WORDS = {"ada": "zyxquokka zyxmarzipan zoo", "zoe": "qvxwalrus qvxpearls bank"}
NUMBERED = {
    "job": "job", "link": "share_link",
    "device": "device", "key": "api_key", "team": "team", "share": "share", "hold": "hold", "rule": "retention_rule",
    "project_rule": "project_rule", "recovery": "recovery",
}  # fmt: skip


@dataclass
class Two:
    """Ada and her owner in one organisation, Zoe and hers in another."""

    served: Served
    folder: Path
    orgs: dict[str, int]
    browsers: dict[str, Browser] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.served.context.database


NO_WALL = "without row-level security"
"""The filters of the application have to hold by themselves."""


@pytest.fixture(scope="module", params=["postgres", "older_postgres", pytest.param(NO_WALL, marks=pytest.mark.all)])
def two(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    is_open = request.param == NO_WALL
    postgres: EmbeddedPostgres = request.getfixturevalue("postgres" if is_open else request.param)
    folder = tmp_path_factory.mktemp("two")
    with fresh_database(postgres) as url, serving(url, folder / "server") as served:
        (ada,) = invited(served, "ada")
        zoe = _other_org(served.context.database)
        made = Two(served, folder, {"ada": ada.org, "zoe": zoe.org})
        for person, drawing in ((ada, FIRST), (zoe, SECOND)):
            made.machines[person.handle] = machine_of(served, person, folder / "machines")
            made.machines[person.handle].push(same=SAME, **{f"only{person.handle}": drawing})
        for handle in ("ada", "admin", "zoe", "zadmin"):
            made.browsers[handle] = served.signed_in(handle)
        for handle in ("ada", "zoe"):
            browser = made.browsers[handle]
            until(lambda browser=browser: len(browser.get("/api/v1/chats").json().get("chats", [])) == 2)  # type: ignore[misc]
        _fill(made)
        if is_open:
            without_row_security(url)
        yield made


def _other_org(database: Database) -> Person:
    with database.transaction() as connection:
        org = new_org(connection, "Other")
        new_person(connection, org, "zadmin", "Zadmin", role="owner")
        new_person(connection, org, "zoe", "Zoe")
        for handle in ("zadmin", "zoe"):
            person = person_of(connection, org, handle)
            accept(connection, invite_by_operator(connection, org, person.id, handle), PASSWORD)
        return person_of(connection, org, "zoe")


def _fill(two: Two) -> None:
    """Something of everything in the first organisation."""
    ada, admin = two.browsers["ada"], two.browsers["admin"]
    ada.submit(f"/chats/{session_uuid('onlyada')}/audience", audience="org")
    ada.submit("/account/keys", name="zyxkey", scope="read")
    admin.submit("/teams", name="zyxteam")
    ada.submit("/prompts", name="zyxprompt", text="zyxtext of {{what}}", tags="zyxtag")
    ada.submit("/prompts/zyxprompt", action="share", audience="org")
    ada.submit("/prompts", name="private", text="zyxsecret")
    admin.submit("/holds", handle="ada", reason="zyxreason", chat=session_uuid("onlyada"))
    admin.submit("/retention", project="zyxproject", days="30000")
    admin.submit("/project-rules", by="project", pattern="zyxhidden", mode="metrics")
    link = admin.submit("/people/ada/invite").text.partition("welcome?link=")[2].partition("<")[0]
    two.browsers["waiting"] = two.served.browser()
    two.browsers["waiting"].submit("/welcome", link=link, password="staple of another horse")


PAGES = (
    "/ /chats /projects /stats /spend /files /live /palette /pane /shared /prompts /devices /readers /people /retention"
    " /audit /project-rules /stats/usage /stats/prompts /api/v1/chats /api/v1/projects /api/v1/stats/usage"
)


def test_no_page_shows_the_other_organisation(two: Two) -> None:
    for handle in ("zoe", "zadmin"):
        for page in PAGES.split():
            text = two.browsers[handle].get(page).text.lower()
            assert not re.findall(r"zyx\w+|\bada\b(?!</?|\")", text.replace('placeholder="ada', "")), (handle, page)
    for page in PAGES.split():
        text = two.browsers["admin"].get(page).text.lower()
        assert not re.findall(r"qvx\w+|zoe|zadmin", text), page


def test_search_suggestions_facets_and_totals_are_of_one_organisation(two: Two) -> None:
    for handle, other in (("ada", "zoe"), ("zoe", "ada")):
        browser = two.browsers[handle]
        for word in WORDS[other].split():
            for asked in (word, f"{word[:5]}*", f"{word}x", f"/{word[:6]}/", f"owner:{other}"):
                found = browser.get("/api/v1/search", params={"q": asked})
                assert found.json().get("chats", []) == [], asked
                if word not in asked:  # a page repeats the question
                    assert word not in browser.get("/search", params={"q": asked}).text, asked
            assert word not in browser.get("/palette", params={"q": word[:-1]}).text
    usage = [two.browsers[handle].get("/api/v1/stats/usage?by=model").json() for handle in ("ada", "zoe")]
    assert usage[0] == usage[1]  # the same content counts the same, and once


def test_what_is_shared_with_everyone_is_not_shared_with_others(two: Two) -> None:
    chat = session_uuid("onlyada")
    assert two.browsers["admin"].get(f"/chats/{chat}").status_code == 200
    for handle in ("zoe", "zadmin"):
        assert two.browsers[handle].get(f"/chats/{chat}").status_code == 404
        assert two.browsers[handle].get(f"/api/v1/chats/{chat}").status_code == 404


def test_every_route_answers_404_to_an_id_of_the_other(two: Two) -> None:
    """Every route of the server itself that names something; a parameter that is not known here fails."""
    with two.database.transaction() as connection:
        connection.execute(
            "insert into job (kind, about, due) values ('look', 'ada/laptop', now() + interval '1 day')"
            " on conflict do nothing"
        )
        connection.execute(
            "insert into share_link (owner, chat, title, digest, expires)"
            " select id, 'x', 'x', 'x', now() + interval '1 day' from person where handle = 'ada'"
        )
        foreign = {
            name: str((connection.execute(f"select min(id) from {table}").fetchone() or (0,))[0])
            for name, table in NUMBERED.items()
        }
        before = _state(connection)
    foreign |= {"secret": "bsu_guessed", "handle": "ada", "chat": session_uuid("onlyada")}
    tried = 0
    for route in ROUTES:
        assert isinstance(route, Route)
        names = re.findall(r"{(\w+)", route.path)
        if not names:
            continue
        path = route.path
        for name in names:
            path = re.sub(rf"{{{name}(:\w+)?}}", foreign[name], path)
        for method in (route.methods or set()) - {"HEAD"}:
            for handle in ("zadmin", "zoe"):
                headers = {"origin": two.served.url, "sec-fetch-site": "same-origin"}
                data = (
                    {"member": "zoe", "confirm": "ada", "handle": "ada", "role": "owner"} if method == "POST" else None
                )
                answer = two.browsers[handle].request(method, path, headers=headers, data=data)
                assert answer.status_code == 404, (method, path, handle)
                tried += 1
    for handle in ("zadmin", "zoe"):  # the viewer's routes that name a prompt
        for key in ("ada:zyxprompt", "ada:private", "zyxprompt", "private"):
            for path in (f"/prompts/{key}", f"/prompts/{key}/command"):
                assert two.browsers[handle].get(path).status_code == 404, path
            for action in ("use", "fill", "change", "delete", "share", "unshare"):
                form = {"action": action, "audience": "org", "name": "stolen", "value-what": "x"}
                assert two.browsers[handle].submit(f"/prompts/{key}", **form).status_code == 404, (key, action)
    assert two.browsers["zadmin"].get("/erasures?handle=ada").status_code == 404
    for path in ("/erasures", "/holds", "/storage/quota"):
        form = {"handle": "ada", "confirm": "ada", "reason": "x"}
        assert two.browsers["zadmin"].submit(path, **form).status_code == 404
    assert tried > 15
    with two.database.transaction() as connection:
        assert _state(connection) == before
        assert connection.execute("select 1 from share_link where revoked is not null").fetchone() is None
        connection.execute("delete from job where kind = 'look'")


def _state(connection: psycopg.Connection[tuple[object, ...]]) -> list[object]:
    found: list[object] = []
    tables = "device team share prompt prompt_share hold retention_rule project_rule erasure membership person recovery"
    for table in tables.split():
        found += connection.execute(f"select row_to_json(t)::jsonb - 'seen' from {table} t order by 1").fetchall()
    keys = connection.execute("select id, revoked from api_key order by 1").fetchall()
    return [*map(str, found), *keys]


def test_an_export_of_an_organisation_has_only_its_own(two: Two) -> None:
    with two.database.transaction() as connection:
        chosen = people(connection, two.orgs["zoe"])
    libraries = Libraries(two.folder / "server", two.database)
    export_history(two.database, libraries, chosen, two.folder / "export")
    written = b"".join(path.read_bytes() for path in (two.folder / "export").rglob("*") if path.is_file())
    assert b"qvxwalrus" in written
    assert b"zyx" not in written


# The second wall: what PostgreSQL shows when a statement has no condition at all.

walled = pytest.mark.parametrize("two", ["postgres", "older_postgres"], indirect=True, scope="module")


@walled
def test_row_level_security_alone_keeps_organisations_apart(two: Two) -> None:
    with two.database.transaction() as connection:
        assert unguarded(connection) == []
        tables = [str(name) for (name,) in connection.execute(TABLES).fetchall()]
        everything = {table: _rows(connection, table) for table in tables}
    seen: dict[int, dict[str, set[str]]] = {}
    for org in two.orgs.values():
        with two.database.transaction(org) as connection:
            seen[org] = {table: _rows(connection, table) for table in tables}
    for table in tables:
        if table in OPEN:
            continue
        first, second = (seen[org][table] for org in two.orgs.values())
        assert first | second == everything[table], table
        assert not first & second, table
    filled = [table for table in tables if seen[two.orgs["ada"]][table] and table not in OPEN]
    assert {
        "person",
        "device",
        "share",
        "prompt",
        "prompt_share",
        "api_key",
        "web_session",
        "hold",
        "recovery",
        "recovery_session",
        "audit",
        "team",
    } <= set(filled)


@walled
def test_nothing_of_another_organisation_can_be_written(two: Two) -> None:
    with two.database.transaction() as connection:
        ada = person_of(connection, two.orgs["ada"], "ada")
    with two.database.transaction(two.orgs["zoe"]) as connection:
        for statement in (
            "update person set name = 'x' where handle = 'ada'",
            "delete from share",
            "delete from hold",
            "delete from prompt",
        ):
            assert connection.execute(statement).rowcount == 0
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        two.database.transaction(two.orgs["zoe"]) as connection,
    ):
        connection.execute("insert into share (owner, chat, title, audience) values (%s, 'x', 'x', 'org')", (ada.id,))


@walled
def test_without_a_setting_nothing_is_seen(two: Two) -> None:
    with psycopg.connect(two.database.address, options="-c search_path=team") as connection:
        for table in ("org", "person", "device", "share", "prompt", "audit", "web_session"):
            assert connection.execute(f"select count(*) from {table}").fetchone() == (0,)


def _rows(connection: psycopg.Connection[tuple[object, ...]], table: str) -> set[str]:
    return {str(row) for (row,) in connection.execute(f"select row_to_json(t)::text from {table} t")}


TABLES = """
select c.relname from pg_class c where c.relnamespace = 'team'::regnamespace and c.relkind = 'r' order by 1
"""
