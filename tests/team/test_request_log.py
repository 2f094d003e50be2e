"""The log has a line for each request, and nothing that people read, search or keep secret."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.sending import invited, machine_of
from tests.team.served import PASSWORD, Served, serving


@pytest.fixture
def logged(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[tuple[Served, list[str]]]:
    lines: list[str] = []
    with fresh_database(postgres) as url, serving(url, tmp_path / "server", log=lines.append) as served:
        yield served, lines


def test_a_line_tells_what_kind_of_request_and_no_more(logged: tuple[Served, list[str]]) -> None:
    served, lines = logged
    assert served.first_link
    browser = served.browser()
    link = served.first_link.partition("link=")[2]
    browser.get(served.first_link)
    browser.submit("/welcome", link=link, password=PASSWORD)
    browser.submit("/sign-in", handle="admin", password="a wrong password")
    browser.get("/search?q=marzipan")
    browser.get("/chats/0a3f6266-28b5-40ce-a133-212a22c85235/rows/a/b")
    browser.get("/shared-link/bsu_verysecret")
    browser.get("/somewhere/secret")
    browser.get("/api/v1/chats", headers={"authorization": "Bearer bsk_verysecret"})
    expected = {
        ("GET", "/search", 200, "admin"),
        ("GET", "/chats/{chat}/rows/{row}", 404, "admin"),
        ("GET", "/shared-link/{secret}", 404, None),
        ("GET", "-", 404, "admin"),
        ("GET", "-", 401, None),
    }
    until(lambda: expected <= set(map(kind_of, lines)))  # a line may follow the answer that it tells of
    told = [json.loads(line) for line in lines]
    assert {tuple(one) for one in told} == {("at", "method", "route", "status", "ms", "person")}
    everything = "\n".join(lines)
    session = next(iter(browser.cookies.jar)).value or "-"
    for secret in (link, PASSWORD, "wrong", "marzipan", "0a3f6266", "verysecret", "somewhere", session, "127.0.0.1"):
        assert secret not in everything, secret


def test_a_client_that_goes_away_while_it_sends_leaves_a_line_and_no_traceback(
    logged: tuple[Served, list[str]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    served, lines = logged
    secret = machine_of(served, invited(served, "ada")[0], tmp_path / "machine").secret
    routes = {
        "/sign-in": "POST", "/sync/v1/connect": "POST", "/sync/v1/projects": "PUT", "/sync/v1/objects/{name}": "PUT",
    }  # fmt: skip
    address = urlsplit(served.url)
    for route, method in routes.items():
        head = (
            f"{method} {route.replace('{name}', 'x')} HTTP/1.1", f"host: {address.netloc}", f"origin: {served.url}",
            "sec-fetch-site: same-origin", "content-length: 100", "expect: 100-continue",
            *([f"authorization: Bearer {secret}"] if method == "PUT" else ()),
        )  # fmt: skip
        with socket.create_connection((address.hostname, address.port), 60) as client:
            client.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
            assert client.recv(1000).startswith(b"HTTP/1.1 100"), "the handler waits for what is sent"
            client.sendall(b"handle=")
    until(lambda: routes.keys() <= {kind_of(line)[1] for line in lines})
    assert {kind_of(line)[1:3] for line in lines} >= {(route, 400) for route in routes}
    assert not [record for record in caplog.records if record.exc_info]


def kind_of(line: str) -> tuple[str, str, int, str | None]:
    """What a line tells, but for the time."""
    one = json.loads(line)
    return one["method"], one["route"], one["status"], one["person"]
