"""Over HTTP only who is on this machine, means this server and has the token comes in, on every address."""

import http.client
import logging
from collections.abc import Iterator, Sequence

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from backscroll.errors import BackscrollError, UsageError
from backscroll.mcp.transports import StartedMcpServer
from tests.library.support import Shelf
from tests.mcp.support import TOKEN, over_http, serving, story

HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"x","version":"1"}}}'
)
PATHS = ("/mcp", "/", "/nothing", "/mcp/", "/.well-known/oauth-protected-resource")
KEY = ("Authorization", f"Bearer {TOKEN}")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedMcpServer]:
    with serving(story(tmp_path_factory.mktemp("story"))) as found:
        yield found


def ask(
    served: StartedMcpServer, headers: Sequence[tuple[str, str]], path: str = "/mcp", hosts: Sequence[str] | None = None
) -> tuple[int, dict[str, str]]:
    """The status of a request with exactly these headers."""
    address = served.url.removeprefix("http://").removesuffix("/mcp")
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.putrequest("POST", path, skip_host=True, skip_accept_encoding=True)
        for host in [address] if hosts is None else hosts:
            connection.putheader("Host", host)
        for name, value in (
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Length", str(len(HELLO))),
            *headers,
        ):
            connection.putheader(name, value)
        connection.endheaders(HELLO)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def test_who_has_the_token_comes_in(served: StartedMcpServer) -> None:
    status, headers = ask(served, [KEY])
    assert status == 200
    assert not any(name.startswith("access-control") for name in headers)
    port = served.url.rpartition(":")[2].removesuffix("/mcp")
    assert ask(served, [KEY, ("Origin", f"http://localhost:{port}")], hosts=[f"localhost:{port}"])[0] == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Authorization", "Bearer wrong")],
        [("Authorization", TOKEN)],
        [("Authorization", f"Basic {TOKEN}")],
        [("Authorization", "Bearer ")],
        [("Authorization", f"Bearer {TOKEN}x")],
        [KEY, KEY],
        [("Cookie", f"token={TOKEN}")],
    ],
)
def test_requests_without_the_token_are_refused(
    served: StartedMcpServer, path: str, headers: list[tuple[str, str]]
) -> None:
    status, answered = ask(served, headers, path)
    assert status == 401
    assert answered["www-authenticate"] == "Bearer"


def test_a_token_in_the_address_is_none(served: StartedMcpServer) -> None:
    assert ask(served, [], f"/mcp?token={TOKEN}")[0] == 401


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "hosts",
    [
        ["evil.com"],
        ["127.0.0.1.evil.com"],
        ["127.0.0.1"],
        ["localhost:1"],
        ["[::1]:80"],
        ["0.0.0.0"],
        [""],
        ["127.0.0.1:80", "evil.com"],
    ],
)
def test_another_name_leads_nowhere(served: StartedMcpServer, path: str, hosts: list[str]) -> None:
    assert ask(served, [KEY], path, hosts=hosts)[0] in (400, 421)


@pytest.mark.parametrize(
    "header",
    [
        ("Origin", "https://evil.com"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1"),
        ("Origin", "http://127.0.0.1.evil.com"),
        ("Sec-Fetch-Site", "cross-site"),
    ],
)
def test_pages_of_others_do_not_come_in(served: StartedMcpServer, header: tuple[str, str]) -> None:
    assert ask(served, [KEY, header])[0] == 403


def test_a_body_that_is_too_long_is_not_read(served: StartedMcpServer) -> None:
    address = served.url.removeprefix("http://").removesuffix("/mcp")
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request(
        "POST", "/mcp", b"x", {"Content-Type": "application/json", KEY[0]: KEY[1], "Content-Length": "99999999"}
    )
    assert connection.getresponse().status == 413
    connection.close()


def test_a_client_without_the_token_gets_an_error(served: StartedMcpServer) -> None:
    async def talk() -> None:
        async with over_http(served, "wrong", mode="legacy") as client:
            await client.list_tools()

    with pytest.raises((MCPError, ExceptionGroup, OSError)):
        anyio.run(talk)


def test_the_token_is_in_no_log(served: StartedMcpServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for headers in ([KEY], [("Authorization", "Bearer wrong-token-of-another-client")]):
            ask(served, headers)
    assert TOKEN not in caplog.text
    assert "wrong-token-of-another-client" not in caplog.text


def test_a_port_in_use_is_reported(served: StartedMcpServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    port = int(served.url.rpartition(":")[2].removesuffix("/mcp"))
    shelf = Shelf(tmp_path_factory.mktemp("empty"))
    with pytest.raises(BackscrollError, match="in use"), serving(shelf, port=port):
        pass


def test_a_token_that_cannot_be_sent_or_is_guessed_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    shelf = Shelf(tmp_path_factory.mktemp("empty"))
    for token in ("short", "with blanks in it, and long", "x" * 15, "ünïcödé-and-long-enough", "a\nb" * 9):
        with pytest.raises(UsageError), serving(shelf, token=token):
            pass


def test_without_a_token_a_random_one_is_made(tmp_path_factory: pytest.TempPathFactory) -> None:
    shelf = Shelf(tmp_path_factory.mktemp("empty"))
    tokens = set()
    for _ in range(2):
        with serving(shelf, token=None) as served:
            assert len(served.token) >= 32
            tokens.add(served.token)
    assert len(tokens) == 2
