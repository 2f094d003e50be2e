"""A small proxy before a server, which cuts, tears, slows and refuses what it is told to."""

import contextlib
import http.client
import socketserver
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal
from urllib.parse import urlsplit

Fault = Literal["cut", "lost answer", "torn", "slow", "busy", "throttled"] | None
"""What happens to a request: it never arrives, its answer is lost, half of its answer comes, or byte by byte, or the
server says 503 or 429."""
PIECE = 64
BUSY = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>slow down</Message></Error>"


class CuttingProxy:
    """Forwards requests to a server; `fault_of` decides by the number of the request what happens to it."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream)
        self.requests: list[str] = []
        self.fault_of: Callable[[int], Fault] = lambda _: None
        self._lock = threading.Lock()

    def next(self, method: str) -> Fault:
        """Count a request."""
        with self._lock:
            self.requests.append(method)
            return self.fault_of(len(self.requests) - 1)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: CuttingProxy

    def _forward(self) -> None:
        body = self._read_body()
        fault = self.proxy.next(self.command)
        if fault == "cut":
            self._hang_up()
        elif fault in ("busy", "throttled"):
            self._answer(503 if fault == "busy" else 429, [("Retry-After", "1")], BUSY)
        else:
            status, headers, data = self._ask(body)
            if fault == "lost answer":
                self._hang_up()
            else:
                self._answer(status, headers, data, fault)

    def _read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self.proxy.upstream.hostname or "", self.proxy.upstream.port)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            data = answer.read()
            dropped = ("transfer-encoding", "connection", "content-length")
            headers = [(name, value) for name, value in answer.getheaders() if name.lower() not in dropped]
            if self.command == "HEAD":
                headers.append(("Content-Length", answer.getheader("content-length") or "0"))
            return answer.status, headers, data
        finally:
            connection.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes, fault: Fault = None) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if fault == "torn":
            self.wfile.write(data[: len(data) // 2])
            self._hang_up()
        elif fault == "slow":
            for start in range(0, len(data), PIECE):
                self.wfile.write(data[start : start + PIECE])
                self.wfile.flush()
        else:
            self.wfile.write(data)

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(2)

    def log_message(self, *_: Any) -> None:  # noqa: ANN401
        """Say nothing."""

    do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = _forward  # noqa: N815


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is what this is for."""


@contextlib.contextmanager
def cutting_proxy(upstream: str) -> Iterator[tuple[str, CuttingProxy]]:
    """Its address, and the proxy itself."""
    proxy = CuttingProxy(upstream)
    handler = type("Handler", (_Handler,), {"proxy": proxy})
    with _Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", proxy
        finally:
            server.shutdown()
