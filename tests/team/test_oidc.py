"""Signing in through an identity provider, and every answer of it that must not let anyone in."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from backscroll.errors import UsageError
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.people.accounts import person_of
from backscroll.team.people.invitations import invite
from backscroll.team.people.oidc import OidcSettings, check_issuer
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.sync.served import serving as serving_app
from tests.team.provider import CLIENT, SECRET, Provider
from tests.team.served import PASSWORD, Served, serving


@dataclass
class House:
    provider: Provider
    served: Served

    def invited(self, handle: str) -> str:
        with self.served.context.database.transaction() as connection:
            return invite(connection, person_of(connection, 1, "admin"), handle, handle.title(), "member")


@pytest.fixture(scope="module")
def running(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    provider = Provider()
    with serving_app(provider.app) as issuer, fresh_database(postgres) as url:
        provider.issuer = issuer
        settings = OidcSettings(issuer, CLIENT, SECRET)
        with serving(url, tmp_path_factory.mktemp("server"), settings) as served:
            provider.redirect = f"{served.url}/oidc/callback"
            assert served.first_link
            served.browser().submit("/welcome", link=served.first_link.partition("link=")[2], password=PASSWORD)
            made, provider.subject = House(provider, served), "grace"
            link, browser = made.invited("grace"), served.browser()
            assert "through your organisation" in browser.get(f"/welcome?link={link}").text
            assert browser.get(f"/oidc/start?link={link}&next=/account").url.path == "/account"
            yield made


@pytest.fixture
def house(running: House) -> House:
    running.provider.lies, running.provider.signs_with, running.provider.subject = {}, "its key", "unknown"
    return running


def test_an_invited_person_is_known_by_issuer_and_subject_from_then_on(house: House) -> None:
    house.provider.subject = "grace"
    assert "Grace" in house.served.browser().get("/oidc/start?next=/account").text


def test_a_provider_may_change_its_keys_at_any_time(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.provider.subject = "grace"
    assert "Grace" in house.served.browser().get("/oidc/start?next=/account").text
    house.provider.rotate()
    before = house.provider.requests["keys"]
    assert "Grace" in house.served.browser().get("/oidc/start?next=/account").text
    assert house.provider.requests["keys"] == before + 1
    monkeypatch.setattr("backscroll.team.people.oidc.AGAIN_SECONDS", 3600)  # however slow this machine is
    house.provider.signs_with = "another key"  # one that the provider never shows
    assert house.served.browser().get("/oidc/start").status_code == 400
    assert house.served.browser().get("/oidc/start").status_code == 400
    assert house.provider.requests["keys"] == before + 1, "keys are not asked for again for each odd token"


def test_a_provider_that_answers_slowly_holds_up_no_transaction(house: House) -> None:
    house.provider.subject = "grace"
    browser, before = house.served.browser(), house.provider.requests["token"]
    house.provider.may_redeem.clear()
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(browser.get("/oidc/start?next=/account").text))
    thread.start()
    try:
        until(lambda: house.provider.requests["token"] > before)
        with house.served.context.database.transaction() as connection:
            (open_now,) = connection.execute(OPEN_TRANSACTIONS).fetchone() or (-1,)
        assert open_now == 0
        assert house.served.browser().get("/sign-in").status_code == 200
        assert not answers
    finally:
        house.provider.may_redeem.set()
        thread.join(60)
    assert "Grace" in answers[0]


OPEN_TRANSACTIONS = """
select count(*) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and state = 'idle in transaction'
"""


def test_an_address_or_a_name_of_the_provider_makes_nobody_somebody(house: House) -> None:
    house.provider.lies = {"email": "admin@example.org", "preferred_username": "admin", "email_verified": True}
    answer = house.served.browser().get("/oidc/start")
    assert answer.status_code == 400
    assert "not invited" in answer.text


LIES: list[tuple[str, dict[str, Any]]] = [
    ("nothing", {}),
    ("the client's secret", {}),
    ("another key", {}),
    ("its key", {"nonce": "another"}),
    ("its key", {"nonce": None}),
    ("its key", {"aud": "another-client"}),
    ("its key", {"aud": [CLIENT, "another-client"], "azp": "another-client"}),
    ("its key", {"iss": "https://evil.example"}),
    ("its key", {"exp": 1_000_000_000}),
    ("its key", {"sub": None}),
]


@pytest.mark.parametrize(("signs_with", "lies"), LIES, ids=str)
def test_a_token_that_is_not_as_it_must_be_lets_nobody_in(house: House, signs_with: str, lies: dict[str, Any]) -> None:
    house.provider.subject = "grace"
    house.provider.signs_with, house.provider.lies = signs_with, lies
    browser = house.served.browser()
    assert browser.get("/oidc/start").status_code == 400
    assert browser.get("/account").url.path == "/sign-in"


def test_an_answer_for_another_browser_lets_nobody_in(house: House) -> None:
    house.provider.subject = "grace"
    victim, attacker = house.served.browser(), house.served.browser()
    attacker.follow_redirects = False
    asked = attacker.get("/oidc/start").headers["location"]
    back = attacker.get(asked).headers["location"]
    assert victim.get(back).status_code == 400
    assert attacker.get(back).status_code == 303
    assert attacker.get(back).status_code == 400, "it works once"


def test_nobody_is_sent_to_another_site_afterwards(house: House) -> None:
    house.provider.subject = "grace"
    for after in ("https://evil.example/", "//evil.example/", "/\\evil.example"):
        answer = house.served.browser().get("/oidc/start", params={"next": after})
        assert str(answer.url) == f"{house.served.url}/devices"


def test_a_provider_without_tls_is_refused() -> None:
    for address in ("http://login.example.org", "ftp://x", ""):
        with pytest.raises(UsageError):
            check_issuer(address)
