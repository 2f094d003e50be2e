"""The pages for those who run the server: jobs, storage, and the test of single sign-on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.render.terminal import size
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.people.oidc import OidcProvider, OidcSettings
from backscroll.team.people.sign_in_test import try_sign_in
from tests.support.postgres import fresh_database
from tests.sync.served import serving as serving_app
from tests.team.demo_served import DemoServed
from tests.team.provider import CLIENT, SECRET, Provider
from tests.team.served import PASSWORD, Served, serving

PAGES = ("/jobs", "/storage", "/sign-in-test")


def test_they_are_for_administrators_only(demo: DemoServed) -> None:
    ada, ben = demo.browser("ada"), demo.browser("ben")
    for path in PAGES:
        assert ada.get(path).status_code == 200
        assert ben.get(path).status_code == 404
    assert ben.submit("/jobs/1/now").status_code == 404


def test_a_job_that_failed_is_shown_without_what_is_in_it_and_tried_again(demo: DemoServed) -> None:
    ada, database = demo.browser("ada"), demo.served.context.database
    with database.transaction() as connection:
        connection.execute(
            "insert into job (kind, about, due, tries, problem) values ('pull', 'liz/thinkpad',"
            " now() + interval '1 hour', 3, 'ValueError: the secret of Liz')"
        )
    page = ada.get("/jobs").text
    assert "ValueError" in page
    assert "read what a machine sent" in page
    assert "secret of Liz" not in page
    number = page.partition('action="/jobs/')[2].partition("/")[0]
    ada.submit(f"/jobs/{number}/now")
    with database.transaction() as connection:
        row = connection.execute(
            "select due < now() + interval '30 minutes' from job where id = %s", (number,)
        ).fetchone()
        connection.execute("delete from job where id = %s", (number,))
    assert row is None or row[0], "it is due, claimed by the worker, or done already"


def test_storage_adds_up(demo: DemoServed) -> None:
    page = demo.browser("ada").get("/storage").text
    with demo.served.context.database.transaction() as connection:
        (total,) = connection.execute("select sum(stored_bytes) from device").fetchone() or (0,)
    assert f"<strong>{size(int(total))}</strong>" in page
    assert all(f"<strong>{name}</strong>" in page for name in ("ada", "ben", "liz"))


@pytest.fixture
def house(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[tuple[Provider, Served]]:
    provider = Provider()
    with serving_app(provider.app) as issuer, fresh_database(postgres) as url:
        provider.issuer = issuer
        with serving(url, tmp_path / "server", OidcSettings(issuer, CLIENT, SECRET)) as served:
            assert served.first_link
            served.browser().submit("/welcome", link=served.first_link.partition("link=")[2], password=PASSWORD)
            yield provider, served


def test_the_sign_in_test_says_what_works_and_what_does_not(house: tuple[Provider, Served]) -> None:
    provider, served = house
    admin = served.signed_in("admin")
    page = admin.get("/sign-in-test").text
    assert f"{served.url}/oidc/callback" in page
    assert "Its keys can be read" in page
    assert SECRET not in page
    issuer, provider.issuer = provider.issuer, "https://another.example"
    page = admin.get("/sign-in-test").text
    assert "does not work" in page
    assert "another name" in page
    unreachable = OidcProvider(OidcSettings("http://127.0.0.1:9", CLIENT, SECRET), f"{served.url}/oidc/callback")
    steps = try_sign_in(unreachable)
    assert [step.is_so for step in steps] == [False]
    provider.issuer = issuer
