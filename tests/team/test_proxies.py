"""A header that anyone can write changes nothing; one that a trusted proxy wrote tells where a request comes from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.errors import UsageError
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.people.client_address import client_address, networks_of
from tests.support.postgres import fresh_database
from tests.team.served import Served, serving

PROXY = networks_of(["10.0.0.0/8", "::1"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.9", ["127.0.0.1"], "203.0.113.9"),
        ("203.0.113.9", ["10.0.0.1, 127.0.0.1"], "203.0.113.9"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["127.0.0.1, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["127.0.0.1", "198.51.100.7, 10.2.3.4"], "198.51.100.7"),
        ("::1", ["2001:db8::7"], "2001:db8::7"),
        ("10.0.0.1", ["not an address"], "10.0.0.1"),
        ("10.0.0.1", ["10.0.0.2"], "10.0.0.2"),
        ("", ["198.51.100.7"], ""),
    ],
)
def test_the_client_is_the_last_that_no_trusted_proxy_is(peer: str, forwarded: list[str], client: str) -> None:
    assert client_address(peer, forwarded, PROXY) == client


def test_everyone_is_not_a_network() -> None:
    for text in ("0.0.0.0/0", "::/0", "everyone", "10.0.0.0/99"):
        with pytest.raises(UsageError):
            networks_of([text])


@pytest.fixture(params=["", "127.0.0.0/8"], ids=["no proxy", "a trusted proxy"])
def served(request: pytest.FixtureRequest, postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[tuple[str, Served]]:
    trusted = networks_of([request.param] if request.param else [])
    with fresh_database(postgres) as url, serving(url, tmp_path / "server", trusted_proxies=trusted) as found:
        yield request.param, found


def test_guessing_is_slowed_by_address_whatever_the_header_says(served: tuple[str, Served]) -> None:
    trusted, server = served
    browser, handle = server.browser(), f"guess-{'with' if trusted else 'no'}-proxy"
    statuses = []
    for number in range(31):
        browser.headers["x-forwarded-for"] = f"198.51.100.{number}"
        statuses.append(browser.submit("/sign-in", handle=handle, password="x").status_code)
    if trusted:
        assert statuses == [200] * 31, "each came from another address"
    else:
        assert statuses == [200] * 30 + [503], "the header is not believed for long"
