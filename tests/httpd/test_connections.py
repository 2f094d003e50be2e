"""No client makes the server unreachable for the others: real sockets, as many as it takes."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from backscroll.httpd.connections import (
    FEWEST_CONNECTIONS,
    MAX_CONNECTIONS,
    RESERVED_FILES,
    Connections,
    is_other_machine,
    room_for_connections,
)
from backscroll.web.server import StartedViewer
from tests.library.support import Shelf
from tests.support.processes import until
from tests.web.served import ask, parser_shelf, serving

GUARD = 30


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return parser_shelf(tmp_path_factory.mktemp("shelf"))


@contextmanager
def connected(served: StartedViewer, count: int, *sent: bytes, buffer: int = 0) -> Iterator[list[socket.socket]]:
    """So many clients, each of which has sent this."""
    with ExitStack() as stack:
        clients = []
        for _ in range(count):
            client = stack.enter_context(socket.socket())
            if buffer:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            client.settimeout(GUARD)
            client.connect(("127.0.0.1", served.running.port))
            for piece in sent:
                client.sendall(piece)
            clients.append(client)
        yield clients


def head(served: StartedViewer, line: str = "GET / HTTP/1.1", more: str = "") -> bytes:
    return f"{line}\r\nHost: 127.0.0.1:{served.running.port}\r\n{more}".encode()


def is_closed(client: socket.socket) -> bool:
    """Whether the server has closed it; what it said before is read."""
    client.setblocking(False)
    try:
        while client.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return True


@contextmanager
def few_files(count: int) -> Iterator[None]:
    """A system that lets a process open so many files and no more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


UNFINISHED = {
    "nothing": ("", ""),
    "half a head": ("GET / HTTP/1.1", "X-Slow: "),
    "half a body": ("POST /searches HTTP/1.1", "Content-Length: 100\r\n\r\nhalf"),
    "half a chunk": ("POST /searches HTTP/1.1", "Transfer-Encoding: chunked\r\n\r\n64\r\nhalf"),
}


def unfinished(served: StartedViewer, what: str) -> bytes:
    line, more = UNFINISHED[what]
    return head(served, line, f"Origin: {served.url}\r\n{more}") if line else b""


@pytest.mark.parametrize("what", UNFINISHED)
def test_pages_answer_while_1200_requests_are_unfinished(shelf: Shelf, what: str) -> None:
    with serving(shelf) as served, connected(served, 1200, unfinished(served, what)):
        for _ in range(3):
            assert ask(served, "/").status == 200
        assert ask(served, "/api/v1/chats").status == 200


@pytest.mark.parametrize("what", UNFINISHED)
def test_where_there_is_little_room_the_oldest_unfinished_request_makes_place(shelf: Shelf, what: str) -> None:
    with serving(shelf, connections=Connections(100)) as served:
        with connected(served, 300, unfinished(served, what)) as clients:
            assert ask(served, "/").status == 200
            until(lambda: sum(map(is_closed, clients)) >= 200)
            assert not is_closed(clients[-1])
            assert len(served.server.server_state.connections) <= 100
        until(lambda: not served.server.server_state.connections)


@pytest.mark.parametrize("what", UNFINISHED)
def test_a_request_that_is_never_finished_is_closed(shelf: Shelf, what: str) -> None:
    limits = Connections(head_seconds=0.2, body_seconds=0.2)
    with serving(shelf, connections=limits) as served, connected(served, 20, unfinished(served, what)) as clients:
        until(lambda: all(map(is_closed, clients)))
        assert not limits._incomplete and not limits._by_address


def test_a_head_that_comes_byte_by_byte_gets_no_more_time(shelf: Shelf) -> None:
    limits = Connections(head_seconds=0.5)
    with serving(shelf, connections=limits) as served, connected(served, 1, head(served)) as (client,):
        until(lambda: not trickle(client))


def trickle(client: socket.socket) -> bool:
    """One more header; False when the server has had enough."""
    try:
        client.sendall(b"X: y\r\n")
    except ConnectionError:
        return False
    return True


def test_a_second_request_on_a_connection_has_its_time_too(shelf: Shelf) -> None:
    limits = Connections(head_seconds=0.5)
    with serving(shelf, connections=limits) as served, connected(served, 1) as (client,):
        client.sendall(head(served, "GET /static/icon.svg HTTP/1.1", "\r\n"))
        assert b" 200 " in client.recv(65_536)
        client.sendall(b"GET / HT")
        until(lambda: is_closed(client))


def test_a_system_with_few_descriptors_keeps_some_for_the_library(shelf: Shelf) -> None:
    with few_files(1024):
        assert room_for_connections() >= 1024 - RESERVED_FILES
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= 65_536:
        assert room_for_connections() == MAX_CONNECTIONS
    assert Connections(10).most_streams == 5
    assert FEWEST_CONNECTIONS < MAX_CONNECTIONS
    assert shelf.folder.exists()


def test_streams_leave_room_for_pages(shelf: Shelf) -> None:
    with serving(shelf, connections=Connections(100)) as served:
        stream = head(served, "GET /api/v1/events HTTP/1.1", "\r\n")
        with connected(served, 180, stream) as clients:
            assert ask(served, "/").status == 200
            until(lambda: sum(map(is_closed, clients)) >= 130)
            assert ask(served, "/api/v1/chats").status == 200
            state = served.server.server_state
            until(lambda: len(state.connections) <= 51)
            with connected(served, 1, stream) as (newest,):  # it goes on, and an older one makes room
                assert newest.recv(15) == b"HTTP/1.1 200 OK"
                assert ask(served, "/").status == 200
                assert not is_closed(newest)


@pytest.mark.all
def test_two_thousand_streams_get_events_and_pages_still_answer(shelf: Shelf) -> None:
    connections = Connections()
    if connections.most_streams < 2000:
        pytest.skip("this system has too few file descriptors")
    with serving(shelf, connections=connections) as served:
        feed = served.server.config.app.app.state.live.feed  # type: ignore[union-attr]
        with connected(served, 2000, head(served, "GET /api/v1/events HTTP/1.1", "\r\n")):
            until(lambda: len(feed.streams) == 2000)
            assert ask(served, "/").status == 200
        until(lambda: not feed.streams)
        assert ask(served, "/").status == 200


def test_a_client_that_does_not_read_is_let_go_of(shelf: Shelf) -> None:
    limits = Connections(unread_seconds=0.3)
    with serving(shelf, connections=limits) as served:
        asked = head(served, "GET /static/chat.css HTTP/1.1", "\r\n")
        with connected(served, 5, buffer=1024) as clients:
            for client in clients:
                client.setblocking(False)
            until(lambda: not any(flood(client, asked) for client in clients))
            assert ask(served, "/").status == 200
        until(lambda: not limits._unread)


def flood(client: socket.socket, asked: bytes) -> bool:
    """Ask for more without ever reading; False when the server has had enough."""
    try:
        while True:
            client.send(asked)
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def test_what_waits_for_slow_readers_is_limited(shelf: Shelf) -> None:
    limits = Connections(most_unread=1_000_000)
    with serving(shelf, connections=limits) as served:
        feed = served.server.config.app.app.state.live.feed  # type: ignore[union-attr]
        with connected(served, 30, head(served, "GET /api/v1/events HTTP/1.1", "\r\n"), buffer=1024) as clients:
            until(lambda: len(feed.streams) == 30)
            feed._loop = served.server.servers[0].get_loop()

            def is_limited() -> bool:
                feed.tell([f"chat-{number}" for number in range(5000)])
                return len(served.server.server_state.connections) < 30

            until(is_limited)
            assert sum(one.unread for one in list(limits._unread)) < 3_000_000
            assert ask(served, "/").status == 200
            assert clients


def test_other_machines_have_a_limit_of_their_own() -> None:
    assert not any(map(is_other_machine, ("127.0.0.1", "::1", "127.8.8.8", "")))
    assert all(map(is_other_machine, ("10.0.0.7", "fe80::1%eth0", "192.0.2.1")))
    limits = Connections(1000, most_per_address=100)
    assert (limits.limit_for("127.0.0.1"), limits.limit_for("10.0.0.7")) == (1000, 100)


class RawClient:
    """As much of a connection as its place among the others takes."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.transport = self
        self.is_closed = False

    def abort(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(("address", "is_closed"), [("127.0.0.1", False), ("10.0.0.7", True)])
def test_while_all_others_are_answered_only_another_machine_is_refused(address: str, is_closed: bool) -> None:
    """On this machine all programs have one address, and a page must be answered however many streams there are."""
    limits = Connections(3, most_per_address=3)
    clients = [RawClient(address) for _ in range(4)]
    for client in clients[:3]:
        limits.add(client)  # type: ignore[arg-type]
        limits.note(client, is_complete=True)  # type: ignore[arg-type]
    limits.add(clients[3])  # type: ignore[arg-type]
    assert [client.is_closed for client in clients] == [False, False, False, is_closed]
