"""The wall, on every route there is: our names, what other sites may do, and what every answer has."""

import asyncio
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message

from backscroll.httpd.guard import HEADERS, LARGEST_BODY, OPENER, Access, Guard
from backscroll.web.app import ROUTES
from backscroll.web.assets import KnownFiles
from backscroll.web.server import StartedViewer
from tests.library.support import Shelf
from tests.support.coroutines import run_coroutine
from tests.support.drawings import session_uuid
from tests.web.served import ask, parser_shelf, send, serving

CHAT = session_uuid("S1")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return parser_shelf(tmp_path_factory.mktemp("shelf"))


@pytest.fixture(scope="module")
def served(shelf: Shelf) -> Iterator[StartedViewer]:
    with serving(shelf) as served:
        yield served


def addresses(routes: Iterable[BaseRoute], before: str = "") -> Iterator[tuple[str, str]]:
    """A method and a path for every route, with what stands for its parts."""
    for route in routes:
        if isinstance(route, Mount):
            yield from addresses(route.routes, before + route.path)
        elif isinstance(route, Route):
            parts = dict.fromkeys(route.param_convertors, "1") | {"chat": CHAT, "id": CHAT, "report": "usage"}
            used = {name: value for name, value in parts.items() if name in route.param_convertors}
            methods = sorted((route.methods or {"GET"}) - {"HEAD"})
            yield from ((method, before + str(route.url_path_for(route.name, **used))) for method in methods)


EVERY_ADDRESS = sorted({
    *addresses(ROUTES), ("GET", "/static/base.css"), ("GET", "/static/none.css"), ("GET", "/static/"), ("GET", "/none"),
    ("POST", "/none"), ("GET", "/api/v1/none"), ("DELETE", "/api/v1/chats"), ("OPTIONS", "/"), ("GET", "/chats/"),
})  # fmt: skip


def test_every_route_is_among_the_addresses() -> None:
    paths = {path for _, path in EVERY_ADDRESS}
    assert {
        "/",
        "/chats",
        f"/chats/{CHAT}",
        "/search",
        "/api/v1/chats",
        "/api/v1/events",
        "/api/v1/stats/usage",
    } <= paths
    assert len(paths) > 20


def strangers(served: StartedViewer) -> list[str]:
    port = served.running.port
    return [
        "evil.com", f"evil.com:{port}", f"127.0.0.1.evil.com:{port}", f"localhost.evil.com:{port}",
        f"localhost.:{port}", f"[::ffff:127.0.0.1]:{port}",
        "127.0.0.1", "localhost", f"127.0.0.1:{port + 1}", "127.0.0.1:80", f"127.0.0.1:{port}0", f"127.0.0.1:0{port}",
        f"evil.com@127.0.0.1:{port}", f"127.0.0.1:{port}@evil.com", f"127.0.0.1:{port}, evil.com",
        f"0.0.0.0:{port}", f"[::]:{port}", f"127.1:{port}", f"2130706433:{port}", f"192.168.1.1:{port}", f":{port}", "",
        f"http://127.0.0.1:{port}", f"127.0.0.1:{port}/", f"::1:{port}",
    ]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), EVERY_ADDRESS)
def test_by_another_name_nothing_is_answered(served: StartedViewer, method: str, path: str) -> None:
    for host in strangers(served):
        answer = ask(served, path, method, host=host, headers=[("Sec-Fetch-Site", "same-origin")])
        assert answer.status == 421, host
        assert HEADERS.items() - {(OPENER, "same-origin")} <= answer.headers.items()
        assert b"done" not in answer.body


@pytest.mark.parametrize(("method", "path"), EVERY_ADDRESS)
def test_by_our_own_names_every_route_answers_with_every_header(served: StartedViewer, method: str, path: str) -> None:
    port = served.running.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LocalHost:{port}"):
        answer = ask(served, path, method, host=host, headers=[("Sec-Fetch-Site", "same-origin")])
        assert answer.status not in (401, 403, 421, 500)
        assert HEADERS.items() <= answer.headers.items()
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert answer.headers["cache-control"] in ("no-store", "no-cache")
        assert (answer.headers["cache-control"] == "no-cache") == path.startswith("/static/")
        assert "server" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/static/base.css", "/api/v1/events", "/api/v1/chats", "/none"])
def test_a_missing_or_doubled_host_is_refused(served: StartedViewer, path: str) -> None:
    ours = f"Host: 127.0.0.1:{served.running.port}\r\n"
    for version, lines in (
        ("1.1", ""), ("1.0", ""), ("1.1", ours * 2), ("1.0", ours * 2), ("1.1", ours + "Host: evil.com\r\n"),
        ("1.0", "Host: evil.com\r\n" + ours), ("1.1", "host:\r\n"),
    ):  # fmt: skip
        assert send(served, f"GET {path} HTTP/{version}\r\n{lines}\r\n".encode()).status in (400, 421)


def test_the_address_in_the_first_line_does_not_count_as_a_name(served: StartedViewer) -> None:
    lines = f"Host: evil.com:{served.running.port}\r\n\r\n"
    target = f"http://127.0.0.1:{served.running.port}/api/v1/chats"
    assert send(served, f"GET {target} HTTP/1.1\r\n{lines}".encode()).status == 421


def test_without_names_every_request_is_refused() -> None:
    access = Access(names=frozenset(), any_address=True)
    for host in ("127.0.0.1:80", "127.0.0.1", "localhost", "", "[::1]", "10.0.0.1"):
        assert not access.is_called(host, 80)


def test_where_we_listen_on_all_addresses_any_of_numbers_is_ours_and_no_name() -> None:
    everywhere = Access(any_address=True)
    for host in ("10.0.0.1:8420", "[fe80::1]:8420", "192.168.1.7:8420", "localhost:8420"):
        assert everywhere.is_called(host, 8420)
    for host in (
        "evil.com:8420",
        "10.0.0.1",
        "10.0.0.1:80",
        "10.0.0.1.evil.com:8420",
        "fe80::1:8420",
        "[evil.com]:8420",
    ):
        assert not everywhere.is_called(host, 8420)


CHANGING = [("POST", path) for path in ("/", "/none", "/static/base.css", "/api/v1/chats", f"/chats/{CHAT}")]
CHANGING += [(method, path) for method, path in EVERY_ADDRESS if method == "POST"]
CHANGING += [(method, "/api/v1/chats") for method in ("PUT", "PATCH", "DELETE", "BREW")]


@pytest.mark.parametrize(("method", "path"), sorted(set(CHANGING)))
def test_only_our_own_pages_change_anything(served: StartedViewer, method: str, path: str) -> None:
    ours = served.url
    port = served.running.port
    refused: list[list[tuple[str, str]]] = [
        [],
        [("Origin", "null")],
        [("Origin", "http://evil.com")],
        [("Origin", "https://" + ours.removeprefix("http://"))],
        [("Origin", f"http://localhost:{port}")],  # another origin than the one that was asked, though ours too
        [("Origin", f"http://127.0.0.1:{port + 1}")],
        [("Origin", "http://127.0.0.1")],
        [("Origin", f"{ours}.evil.com")],
        [("Origin", ours), ("Origin", "http://evil.com")],
        [("Origin", ours), ("Origin", ours)],
        [("Referer", f"{ours}/")],
        [("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "same-site")],
        [("Sec-Fetch-Site", "Same-Origin ")] * 2,
        [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "cross-site"), ("Origin", ours)],
        [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")],
        [("Sec-Fetch-Site", "same-origin"), ("Origin", "http://evil.com")],
        [("Sec-Fetch-Site", "same-origin"), ("Origin", "null")],
        [("Authorization", "Bearer guess")],
        [("Authorization", "Bearer ")],
        [("X-HTTP-Method-Override", "GET")],
    ]
    for headers in refused:
        assert ask(served, path, method, headers=headers).status == 403, headers
    token = served.access.keys.token
    for headers in (
        [("Origin", ours)],
        [("Sec-Fetch-Site", "same-origin")],
        [("Sec-Fetch-Site", "none")],
        [("Sec-Fetch-Site", "same-origin"), ("Origin", ours)],
        [("Authorization", f"Bearer {token}")],
        [("Authorization", f"bearer {token}"), ("Origin", ours)],
    ):
        assert ask(served, path, method, headers=headers).status not in (401, 403, 421), headers
    stolen = [("Authorization", f"Bearer {token}"), ("Origin", "http://evil.com")]
    assert ask(served, path, method, headers=stolen).status == 403


@pytest.mark.parametrize(
    "path", ["/", "/static/base.css", "/api/v1/chats", "/api/v1/search?q=a", "/api/v1/events", "/none"]
)
def test_another_site_can_follow_a_link_and_not_even_look(served: StartedViewer, path: str) -> None:
    for site in ("cross-site", "same-site"):
        for mode, dest in (
            ("no-cors", "image"),
            ("no-cors", "script"),
            ("cors", "empty"),
            ("navigate", "iframe"),
            ("", ""),
        ):
            headers = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", dest)]
            assert ask(served, path, headers=headers).status == 403
        link = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]
        assert ask(served, path, headers=link).status in (200, 404)
    preflight = [("Origin", "http://evil.com"), ("Access-Control-Request-Method", "GET"), ("Sec-Fetch-Mode", "cors")]
    asked = ask(served, path, "OPTIONS", headers=preflight)
    assert asked.status in (404, 405)
    assert not [name for name in asked.headers if name.startswith("access-control-")]


def test_a_body_that_is_too_large_is_refused_by_what_it_says_and_by_what_it_is(served: StartedViewer) -> None:
    ours = [("Origin", served.url)]
    said = [*ours, ("Content-Length", str(LARGEST_BODY + 1))]
    assert ask(served, "/searches", "POST", headers=said).status == 413
    host = served.url.removeprefix("http://")
    head = f"POST /searches HTTP/1.1\r\nHost: {host}\r\nOrigin: {served.url}\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%b\r\n" % (65536, b"x" * 65536)
    assert send(served, head.encode() + chunk * 17 + b"0\r\n\r\n").status == 413


@pytest.mark.parametrize("target", ["/api/v1/events", "/", "/none"])
def test_there_are_no_web_sockets(served: StartedViewer, target: str) -> None:
    host = served.url.removeprefix("http://")
    text = (
        f"GET {target} HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: cross-site\r\nOrigin: http://evil.com\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\n\r\n"
    )
    assert send(served, text.encode()).status == 403


HOSTILE = [
    "../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "..%5c..%5cetc%5cpasswd",
    "....//....//etc/passwd", "%2fetc%2fpasswd", "/etc/passwd", "//etc/passwd", "base.css%00.png", "%00", "a" * 5000,
    "%ff%fe", "~root", "file:%2f%2f%2fetc%2fpasswd", "..", ".", "%c0%ae%c0%ae/etc/passwd", "CON",
    "base.css/", "base.css/../../app.py",
    "..%252f..%252fetc%252fpasswd", "${HOME}", "*", "%", "'%20or%201=1--", "%e2%80%ae",
]  # fmt: skip
PLACES = [
    "/static/{}", "/chats/{}", "/api/v1/chats/{}", "/api/v1/chats/{}/messages", "/api/v1/chats/{}/agents",
    f"/api/v1/chats/{CHAT}/messages?agent={{}}", "/api/v1/stats/{}",
    "/files?path={}", "/search?q={}", "/{}", "/api/v1/{}",
    "/api/v1/search?q={}", "/stats/{}",
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_no_path_of_a_request_touches_the_disk(served: StartedViewer, place: str, touched: "Touched") -> None:
    for text in HOSTILE:
        with touched:
            answer = ask(served, place.format(text.replace("/", "%2f") if "?" in place else text))
        assert answer.status < 500, text
        assert b"root:x:" not in answer.body
        assert b"def make_app" not in answer.body
    allowed = (
        str(served.running.homes[0]),
        str(Path(served.running.homes[0]).parent),
        sys.prefix,
        sys.base_prefix,
        SOURCE,
        "/proc/",
    )
    assert [path for path in touched.paths if not path.startswith(allowed)] == []
    assert [path for path in touched.paths if "passwd" in path or "\0" in path or ".." in path] == []


def test_static_files_have_a_type_and_are_cached_by_etag(served: StartedViewer) -> None:
    first = ask(served, "/static/base.css")
    assert (first.status, first.headers["content-type"]) == (200, "text/css; charset=utf-8")
    again = ask(served, "/static/base.css", headers=[("If-None-Match", first.headers["etag"])])
    assert (again.status, again.body) == (304, b"")
    assert again.headers["cache-control"] == "no-cache"


def through(app: ASGIApp, chunks: Iterable[bytes] = (), **scope: Any) -> tuple[int, list[tuple[bytes, bytes]]]:  # noqa: ANN401
    """One request through the wall to an application, without a socket."""
    left = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    left.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Message] = []

    async def receive() -> Message:
        return left.pop(0) if left else await asyncio.Future()  # a client that waits for the answer

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost:8420"), (b"origin", b"http://localhost:8420")]
    asked = {"type": "http", "method": "POST", "path": "/", "server": ("127.0.0.1", 8420), "headers": headers, **scope}
    run_coroutine(Guard(app, Access())(asked, receive, send))
    return sent[0]["status"], sent[0]["headers"]


def test_what_an_answer_says_of_itself_does_not_weaken_the_wall() -> None:
    weak = {"Access-Control-Allow-Origin": "*", "Content-Security-Policy": "default-src *", "X-Frame-Options": "ALLOW"}
    status, headers = through(PlainTextResponse("x", headers=weak))
    told = [(name.decode().lower(), value.decode()) for name, value in headers]
    assert status == 200
    assert not [name for name, _ in told if name.startswith("access-control-")]
    assert HEADERS.items() <= dict(told).items()
    assert len(told) == len(dict(told))


def test_a_body_that_does_not_say_how_long_it_is_ends_where_it_is_too_long() -> None:
    async def reading(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(len(await request.body())))

    app = Starlette(routes=[Route("/", reading, methods=["POST"])])
    assert through(app, [b"x" * 1024] * 1024, query_string=b"", root_path="")[0] == 200
    assert through(app, [b"x" * 1024] * 1025, query_string=b"", root_path="")[0] == 413


def test_a_web_socket_is_closed_before_it_is_open() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    run_coroutine(Guard(Starlette(), Access())({"type": "websocket", "path": "/", "headers": []}, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_only_the_files_that_were_there_at_the_start_are_served(tmp_path: Path) -> None:
    folder = tmp_path / "static"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "secret.css").write_text("secret")
    for name in ("known.css", "below/known.js"):
        (folder / name).write_text("known")
    (folder / "link.css").symlink_to(tmp_path / "secret.css")
    app = Starlette(routes=[Mount("/static", KnownFiles(folder))])
    (folder / "late.css").write_text("late")

    def status(path: str) -> int:
        return through(app, method="GET", path=f"/static/{path}", query_string=b"", root_path="")[0]

    assert [status(name) for name in ("known.css", "below/known.js", "below/../known.css")] == [200, 200, 200]
    missing = ("late.css", "link.css", "../secret.css", "below", "", "below/", "../static/known.css", "known.css\0")
    assert [status(name) for name in missing] == [404] * len(missing)


class Touched:
    """Which files were opened and folders listed, by any thread, while it is entered."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._is_on = False
        sys.addaudithook(self._hear)

    def __enter__(self) -> None:
        self._is_on = True

    def __exit__(self, *_: object) -> None:
        self._is_on = False

    def clear(self) -> None:
        self.paths.clear()

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._is_on and event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str | bytes):
            path = arguments[0]
            self.paths.append(path if isinstance(path, str) else path.decode(errors="replace"))


@pytest.fixture(scope="module")
def heard() -> Touched:
    return Touched()  # a hook can never be taken away, so there is one


@pytest.fixture
def touched(heard: Touched) -> Touched:
    heard.clear()
    return heard


SOURCE = str(Path(__file__).parents[2])
