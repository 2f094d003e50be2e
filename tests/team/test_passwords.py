"""Passwords can be switched off once single sign-on works, and nobody is locked out by that."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.people.accounts import person_of
from backscroll.team.people.invitations import invite
from backscroll.team.people.oidc import OidcSettings
from tests.support.command import run_command
from tests.support.postgres import fresh_database
from tests.sync.served import serving as serving_app
from tests.team.provider import CLIENT, SECRET, Provider
from tests.team.sending import invited, owner_of_server
from tests.team.served import PASSWORD, Browser, Served, serving


class House:
    """A server with an identity provider."""

    def __init__(self, provider: Provider, served: Served, url: str, data: Path) -> None:
        self.provider, self.served, self.database, self.data = provider, served, url, data

    def link(self, handle: str) -> str:
        """The link of a person who is new."""
        with self.served.context.database.transaction() as connection:
            return invite(connection, person_of(connection, 1, "admin"), handle, handle.title(), "member")

    def through_provider(self, handle: str, link: str = "") -> Browser:
        self.provider.subject = f"subject of {handle}"
        browser = self.served.browser()
        browser.get("/oidc/start", params={"link": link, "next": "/account"})
        return browser

    def connected(self, handle: str) -> Browser:
        """The browser of a person who has a password, connects their account with the provider, and comes back."""
        self.provider.subject = f"subject of {handle}"
        assert self.served.signed_in(handle).submit("/account/provider").url.path == "/account"
        return self.through_provider(handle)


@pytest.fixture
def house(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[House]:
    provider = Provider()
    with serving_app(provider.app) as issuer, fresh_database(postgres) as url:
        provider.issuer = issuer
        with serving(url, tmp_path / "server", OidcSettings(issuer, CLIENT, SECRET)) as served:
            provider.redirect = f"{served.url}/oidc/callback"
            owner_of_server(served)
            yield House(provider, served, url, tmp_path / "server")


def test_they_cannot_be_switched_off_before_an_owner_came_in_through_the_provider(house: House) -> None:
    admin = house.served.signed_in("admin")
    answer = admin.submit("/sign-in-test/passwords", forbid="1")
    assert answer.status_code == 400
    assert "no owner has signed in" in answer.text
    invited(house.served, "ada")
    house.connected("ada")  # a member does not count
    assert admin.submit("/sign-in-test/passwords", forbid="1").status_code == 400
    house.served.signed_in("admin")


def test_without_passwords_sessions_end_and_links_need_the_provider(house: House) -> None:
    invited(house.served, "ada", "ben")
    ada, ben = house.served.signed_in("ada"), house.connected("ben")
    new = house.link("eva")
    owner = house.connected("admin")
    assert owner.submit("/sign-in-test/passwords", forbid="1").status_code == 200
    assert "Passwords are switched off" in owner.get("/sign-in-test").text

    assert ada.get("/account").url.path == "/sign-in", "a session by a password ends"
    assert ben.get("/account").url.path == "/account"
    page = house.served.browser().get("/sign-in").text
    assert "through your organisation" in page
    assert "password" not in page.lower()
    browser = house.served.browser()
    assert browser.submit("/sign-in", handle="ada", password=PASSWORD).url.path == "/sign-in"
    assert browser.get("/account").url.path == "/sign-in"
    assert 'type="password"' not in browser.get(f"/welcome?link={new}").text
    browser.submit("/welcome", link=new, password=PASSWORD)
    assert browser.get("/account").url.path == "/sign-in"
    assert house.through_provider("eva", new).get("/account").url.path == "/account"

    owner.submit("/sign-in-test/passwords", forbid="")
    house.served.signed_in("ada")


def test_only_an_owner_switches_them(house: House) -> None:
    invited(house.served, "ann", role="admin")
    house.connected("admin")
    ann = house.served.signed_in("ann")
    assert ann.submit("/sign-in-test/passwords", forbid="1").status_code == 400
    assert "An owner can change that" in ann.get("/sign-in-test").text


def test_the_operator_has_a_way_back(house: House) -> None:
    owner = house.served.signed_in("admin")
    house.provider.subject = "subject of admin"
    assert "Connect with your organisation" in owner.get("/account").text
    assert owner.submit("/account/provider").url.path == "/account"
    assert "You can sign in through your organisation" in owner.get("/account").text
    owner.submit("/sign-in-test/passwords", forbid="1")
    where = ("--database", house.database, "--data", house.data)
    done = run_command("server", "allow-passwords", "--owner", "admin", *where)
    assert done.returncode == 0, done.stderr
    link = done.stdout.partition("link=")[2].split()[0]
    browser = house.served.browser()
    browser.submit("/welcome", link=link, password="another long password")
    assert browser.get("/account").url.path == "/account"
    assert "passwords.allow" in browser.get("/audit").text
    refused = run_command("server", "allow-passwords", "--owner", "ada", *where)
    assert refused.returncode != 0
    assert "not an owner" in refused.stderr


def test_connecting_with_the_provider_is_no_way_around_the_current_password(house: House) -> None:
    invited(house.served, "ada")
    ada = house.served.signed_in("ada")
    ada.follow_redirects = False
    link = ada.submit("/account/provider").headers["location"].partition("link=")[2].partition("&")[0]
    told = house.served.browser().submit("/welcome", link=link, password="staple of another horse").text
    assert "A link that you made for yourself sets no password" in told
    house.served.signed_in("ada")


def test_without_a_password_the_page_says_how_one_signs_in(house: House) -> None:
    invited(house.served, "ada")
    eva = house.through_provider("eva", house.link("eva"))
    page = eva.get("/account").text
    assert "You have no password: you sign in through your organisation." in page
    assert 'type="password"' not in page
    form = {"current": PASSWORD, "new": "staple of another horse", "again": "staple of another horse"}
    refused = eva.submit("/account/password", **form)
    assert refused.status_code == 400
    assert "you sign in through your organisation" in refused.text

    ada = house.connected("ada")
    assert 'action="/account/password"' in ada.get("/account").text, "she has both"
    owner = house.connected("admin")
    owner.submit("/sign-in-test/passwords", forbid="1")
    assert "Passwords are switched off here" in ada.get("/account").text
    assert ada.submit("/account/password", **form).status_code == 400
    owner.submit("/sign-in-test/passwords", forbid="")
    house.served.signed_in("ada")
