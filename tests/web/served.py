"""A server as a user has it: real sockets, and requests that are sent byte for byte as one writes them."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from backscroll.settings import RequireKey
from backscroll.web.server import StartedViewer, serve
from backscroll.web.state import ViewerState
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path

Headers = Sequence[tuple[str, str]]
SHOP = """
@ cwd=/home/ada/shop
a <- - user: fix the parser
b <- a assistant: done
"""


def parser_shelf(folder: Path) -> Shelf:
    """One chat of two messages, indexed."""
    shelf = Shelf(folder).write({session_path("S1"): jsonl(draw(SHOP))})
    shelf.update()
    return shelf


class HttpAnswer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever JSON says
        return json.loads(self.body)


@contextmanager
def serving(
    shelf: Shelf,
    *,
    follows: bool = False,
    require_key: RequireKey = "never",
    **options: Any,  # noqa: ANN401
) -> Iterator[StartedViewer]:
    """A server of a shelf in a thread, on a free port, without an access key by default."""
    state = ViewerState(replace(shelf.settings, require_key=require_key), shelf.open().homes)
    ready = threading.Event()
    found: list[StartedViewer] = []
    failed: list[BaseException] = []

    def on_ready(served: StartedViewer) -> None:
        found.append(served)
        ready.set()

    def run() -> None:
        try:
            serve(state, follows=follows, on_ready=on_ready, **{"port": free_port(), **options})
        except BaseException as error:
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(30)
    try:
        if failed:
            raise failed[0]
        yield found[0]
    finally:
        if found:
            found[0].stop()
        thread.join(30)
        state.close()
        assert not thread.is_alive()


def ask(
    served: StartedViewer,
    path: str,
    method: str = "GET",
    *,
    host: str | None = None,
    headers: Headers = (),
    body: bytes = b"",
) -> HttpAnswer:
    """One request with exactly these headers, and a Host that fits unless it is another."""
    connection = http.client.HTTPConnection(*address_of(served), timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", served.url.removeprefix("http://") if host is None else host)
        for name, value in headers:
            connection.putheader(name, value)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        is_stream = told.get("content-type", "").startswith("text/event-stream")
        return HttpAnswer(answer.status, told, answer.readline() if is_stream else answer.read())
    finally:
        connection.close()


def send(served: StartedViewer, text: bytes) -> HttpAnswer:
    """A request as it is written."""
    with socket.create_connection(address_of(served), timeout=30) as connection:
        connection.sendall(text)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return HttpAnswer(answer.status, told, answer.read())


def address_of(served: StartedViewer) -> tuple[str, int]:
    """Where it listens."""
    running = served.running
    return ("127.0.0.1" if running.host == "0.0.0.0" else running.host), running.port


def free_port(host: str = "127.0.0.1") -> int:
    """A free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
