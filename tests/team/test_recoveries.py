"""A link for an account in use, through the identity provider and with two owners; and what an update asks for.

`tests/attack/test_identity.py` attacks it; this is how it is used.
"""

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from backscroll.errors import NothingFound, UsageError
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.store.postgres.migrate import migrate as run_migrations
from backscroll.sync.connecting import answer_recovery, waiting_recovery
from backscroll.team.arrival.devices import new_device
from backscroll.team.database.audit import broken_at, record
from backscroll.team.database.connections import MIGRATIONS, OPTIONS, SCHEMA, Database
from backscroll.team.database.web_role import as_web
from backscroll.team.operating.reset_after_update import RECOVERIES
from backscroll.team.operating.server_database import prepare
from backscroll.team.people.accounts import person_of
from backscroll.team.people.invitations import accept, invite_again
from backscroll.team.people.oidc import OidcSettings
from backscroll.team.people.recoveries import approve, confirm, refuse
from backscroll.team.people.secrets import hash_password
from backscroll.team.people.sessions import begin_session
from backscroll.team.serving.web_server import first_path
from tests.support.postgres import fresh_database
from tests.sync.served import serving as serving_app
from tests.team.provider import CLIENT, SECRET, Provider
from tests.team.sending import invited, owner_of_server
from tests.team.served import PASSWORD, Browser, Served, code_in, serving

NEW = "staple of another horse"


@pytest.fixture(scope="module")
def provider() -> Provider:
    return Provider()


@pytest.fixture(scope="module")
def served(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory, provider: Provider
) -> Iterator[Served]:
    with serving_app(provider.app) as issuer, fresh_database(postgres) as url:
        provider.issuer = issuer
        with serving(
            url, tmp_path_factory.mktemp("server"), OidcSettings(issuer, CLIENT, SECRET), works=False
        ) as found:
            provider.redirect = f"{found.url}/oidc/callback"
            owner_of_server(found)
            yield found


def _link(served: Served, by: str, handle: str) -> str:
    with served.context.database.transaction() as connection:
        return invite_again(connection, person_of(connection, 1, by), handle)


def _through_provider(served: Served, provider: Provider, subject: str, link: str = "") -> Browser:
    provider.subject = subject
    browser = served.browser()
    browser.get("/oidc/start", params={"link": link, "next": "/account"})
    return browser


def _is_subject(served: Served, handle: str, subject: str | None) -> bool:
    with served.context.database.transaction() as connection:
        return connection.execute("select subject from person where handle = %s", (handle,)).fetchone() == (subject,)


def test_another_sign_in_at_the_provider_is_not_theirs_until_they_say_so(served: Served, provider: Provider) -> None:
    invited(served, "ada")
    ada = served.signed_in("ada")
    other = _through_provider(served, provider, "of the administrator", _link(served, "admin", "ada"))
    assert other.get("/account").url.path == "/recovery"
    assert _is_subject(served, "ada", None)
    again = _through_provider(served, provider, "of the administrator")
    assert again.get("/account").url.path == "/sign-in", "nor is it known"
    number = re.findall(r"/account/recoveries/(\d+)", ada.get("/account").text)[0]
    ada.submit(f"/account/recoveries/{number}", answer="yes")
    assert other.get("/account").url.path == "/account"
    assert _is_subject(served, "ada", "of the administrator")


def test_the_sign_in_of_a_colleague_is_not_drawn_into_another_account(served: Served, provider: Provider) -> None:
    invited(served, "mal", "zoe")
    mal = served.signed_in("mal")
    mal.follow_redirects = False
    own = mal.submit("/account/provider").headers["location"]
    provider.subject = "zoe"
    for browser in (served.signed_in("zoe"), served.browser()):
        refused = browser.get(own)
        assert refused.status_code == 400
        assert "for another account" in refused.text
    assert _is_subject(served, "mal", None)


def test_the_provider_shows_who_one_is(served: Served, provider: Provider) -> None:
    """A lost password, and an account that is connected with the provider: sign in there, and confirm the new one."""
    invited(served, "pia")
    provider.subject = "pia"
    served.signed_in("pia").submit("/account/provider")
    waiting = served.browser()
    page = waiting.submit("/welcome", link=_link(served, "admin", "pia"), password=NEW).text
    assert "Sign in through your organisation" in page
    ada = _through_provider(served, provider, "pia")
    number = re.findall(r"/account/recoveries/(\d+)", ada.get("/account").text)[0]
    ada.submit(f"/account/recoveries/{number}", answer="yes")
    assert waiting.get("/account").url.path == "/account"
    assert _through_provider(served, provider, "pia").get("/account").url.path == "/account"


def test_a_machine_confirms_or_refuses_for_its_own_person_only(served: Served) -> None:
    ida, tom = invited(served, "ida", "tom")
    with served.context.database.transaction() as connection:
        hers, his = (new_device(connection, one, "laptop").secret for one in (ida, tom))
    for is_mine, path in ((False, "/sign-in"), (True, "/account")):
        waiting = served.browser()
        page = waiting.submit("/welcome", link=_link(served, "admin", "ida"), password=NEW).text
        code = code_in(page.partition("--confirm")[2])
        with pytest.raises(UsageError, match="waits with this code"):
            waiting_recovery(served.url, his, code)
        with pytest.raises(UsageError):
            answer_recovery(served.url, his, code, is_mine=True)
        told = waiting_recovery(served.url, hers, code.lower().replace("-", " "))
        assert (told.person, told.made_by) == ("ida", "admin")
        answer_recovery(served.url, hers, code, is_mine=is_mine)
        assert waiting.get("/account").url.path == path


def test_two_who_have_long_been_owners_open_an_account_together(served: Served) -> None:
    invited(served, "tia", "ben")
    invited(served, "oda", "eva", role="owner")
    database = served.context.database
    waiting = served.browser()
    with database.transaction() as connection:
        connection.execute(
            "update person set owner_since = now() - interval '31 days' where handle in ('admin', 'oda')"
        )
    waiting.submit("/welcome", link=_link(served, "admin", "tia"), password=NEW)
    with database.transaction() as connection:
        (number,) = connection.execute("select max(id) from recovery").fetchone() or (0,)
        for handle in ("admin", "eva", "tia"):  # who made the link, a new owner, the account itself
            with pytest.raises(UsageError):
                approve(connection, person_of(connection, 1, handle), number)
    assert waiting.get("/account").url.path == "/recovery"
    assert "Approve" not in served.signed_in("eva").get("/people").text.partition("Everyone")[0]
    oda = served.signed_in("oda")
    assert f"/recoveries/{number}/approve" in oda.get("/people").text
    oda.submit(f"/recoveries/{number}/approve")
    assert waiting.get("/account").url.path == "/account"
    assert "<strong>oda</strong> confirmed it" in waiting.get("/account").text
    assert re.search(r"recovery\.confirm", oda.get("/audit").text)
    with database.transaction() as connection, pytest.raises(NothingFound):
        confirm(connection, number, "oda")


def test_of_two_answers_at_once_one_counts(served: Served) -> None:
    invited(served, "lea")
    database, waiting = served.context.database, served.browser()
    waiting.submit("/welcome", link=_link(served, "admin", "lea"), password=NEW)
    with database.transaction() as connection:
        (number,) = connection.execute("select max(id) from recovery").fetchone() or (0,)
    both, outcomes = threading.Barrier(2), []

    def decide(answer: Callable[..., None]) -> None:
        try:
            with database.transaction() as connection:
                both.wait(30)
                answer(connection, number, "lea")
            outcomes.append(answer.__name__)
        except NothingFound:
            outcomes.append("nothing")

    threads = [threading.Thread(target=decide, args=(answer,)) for answer in (confirm, refuse)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes) in (["confirm", "nothing"], ["nothing", "refuse"])
    assert waiting.get("/account").url.path == ("/account" if "confirm" in outcomes else "/sign-in")


def test_a_person_with_a_recovery_gets_no_session_by_mistake(served: Served) -> None:
    (ada,) = invited(served, "mia")
    with served.context.database.transaction() as connection:
        with pytest.raises(UsageError):
            begin_session(connection, ada._replace(recovery=1))
        with pytest.raises(UsageError, match="has to be confirmed"):
            accept(connection, invite_again(connection, person_of(connection, 1, "admin"), "mia"), NEW)
    told = served.browser().submit("/sign-in", handle="mia", password=PASSWORD)
    assert told.url.path == "/account", "the old password stays, and shows what happened"


def test_a_short_password_does_not_use_up_the_link(served: Served) -> None:
    invited(served, "sia")
    link, browser = _link(served, "admin", "sia"), served.browser()
    assert "12 to 256" in browser.submit("/welcome", link=link, password="short").text
    assert browser.submit("/welcome", link=link, password=NEW).url.path == "/recovery"


def test_changing_the_password_refuses_what_waits(served: Served) -> None:
    invited(served, "kim")
    ada, waiting = served.signed_in("kim"), served.browser()
    waiting.submit("/welcome", link=_link(served, "admin", "kim"), password=NEW)
    ada.submit("/account/password", current=PASSWORD, new=f"{NEW} 2", again=f"{NEW} 2")
    assert waiting.get("/account").url.path == "/sign-in"


def test_each_call_makes_a_further_first_link(postgres: EmbeddedPostgres) -> None:
    with fresh_database(postgres) as url:
        database = Database(url)
        prepare(database)
        paths = [first_path(database) for _ in range(3)]
        with database.transaction() as connection:
            accept(connection, str(paths[1]).partition("link=")[2], PASSWORD)
            assert connection.execute("select count(*) from invitation where used is null").fetchone() == (0,)
        assert first_path(database) is None
        database.close()


# An update from a version with the hole. `tests/attack/test_update_after_hole.py` has a server of that version.


@pytest.fixture
def older(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[str]:
    """The tables of the version before, with Ada and Ben, whom pages have made."""
    for file in MIGRATIONS.glob("0*.sql"):
        if file.name < RECOVERIES:
            (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    with fresh_database(postgres, has_tables=False) as url:
        address = psycopg.conninfo.make_conninfo(url, options=OPTIONS)
        run_migrations(address, tmp_path, SCHEMA)
        with psycopg.connect(address) as connection:
            connection.execute("insert into org (name) values ('Team')")
            connection.execute("insert into person (org, handle, name, role) values (1, 'admin', 'Admin', 'owner')")
        for handle in ("admin", "ada", "ben"):
            with psycopg.connect(address) as connection:
                if handle != "admin":
                    connection.execute("insert into person (org, handle, name) values (1, %s, 'X')", (handle,))
                    record(connection, 1, "admin", "person.invite", handle, "member")
                connection.execute(
                    "update person set password = %s where handle = %s", (hash_password(PASSWORD), handle)
                )
                record(connection, 1, handle, "password.set", handle)
        yield url


def _prepared(url: str) -> list[str]:
    lines: list[str] = []
    database = Database(url)
    prepare(database, lines.append)
    database.close()
    return lines


def test_an_update_of_a_server_that_nobody_misused_names_no_one(older: str) -> None:
    lines = _prepared(older)
    assert lines[-1] == "Every role and password has a line in the audit log."
    assert "Everyone with a password (3)" in lines[1]
    assert _prepared(older) == [], "it is done once"


def test_an_update_names_what_the_log_cannot_explain(older: str) -> None:
    with psycopg.connect(older, options=OPTIONS) as connection:
        connection.execute("set search_path = team")
        connection.execute("update person set role = 'owner' where handle = 'ben'")
        connection.execute("insert into person (org, handle, name, password) values (1, 'eve', 'Eve', 'x')")
        connection.execute("create function team.later() returns trigger language plpgsql as 'begin return new; end'")
        connection.execute("create trigger later before insert on audit execute function team.later()")
    lines = _prepared(older)
    assert [line for line in lines if line.startswith("  ")] == [
        "  ben: is owner; the audit log says member",
        "  eve: is member; the audit log says nothing",
        "  ben: the password may not be theirs: a sign-in has to be confirmed first",
        "  eve: the password may not be theirs: a sign-in has to be confirmed first",
        "  database: has the function later(), which backscroll did not make: look at it",
        "  database: has the trigger later on audit, which backscroll did not make: look at it",
    ]
    with psycopg.connect(older, options=OPTIONS) as connection:
        assert broken_at(connection, 1) is None
        assert connection.execute("select count(*) from audit where action like 'reset.%'").fetchone() == (6,)


def test_no_web_process_starts_before_the_update_is_finished(older: str) -> None:
    _prepared(older)
    with psycopg.connect(older, options=OPTIONS) as connection:
        connection.execute("update org set needs_reset = true")
    database = Database(as_web(older))
    with pytest.raises(Exception, match="the update of this server is not finished"):
        first_path(database)
    database.close()
