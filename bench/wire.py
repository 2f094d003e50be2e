"""A relay before a server, in a process of its own, that counts what goes over the wire in both directions."""

import asyncio
import contextlib
import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from typing import Final
from urllib.parse import urlsplit

PIECE: Final = 256 << 10
REQUEST: Final = b" HTTP/1.1\r\n"


@dataclass(frozen=True)
class Wire:
    """The address of the relay, and what it has counted."""

    address: str
    sent: "Synchronized[int]"
    received: "Synchronized[int]"
    requests: "Synchronized[int]"

    def counts(self) -> tuple[int, int]:
        """Requests so far, and bytes in both directions."""
        return self.requests.value, self.sent.value + self.received.value


@contextlib.contextmanager
def counted_wire(upstream: str) -> Iterator[Wire]:
    """A relay to a server, as long as this lasts."""
    context = multiprocessing.get_context("spawn")
    sent, received, requests, port = (context.Value("q", 0) for _ in range(4))
    ready = context.Event()
    target = urlsplit(upstream)
    arguments = (target.hostname, target.port, sent, received, requests, port, ready)
    process = context.Process(target=_serve, args=arguments, daemon=True)
    process.start()
    try:
        if not ready.wait(60):
            raise RuntimeError("the relay did not start")
        yield Wire(f"http://127.0.0.1:{port.value}", sent, received, requests)
    finally:
        process.terminate()
        process.join()


def _serve(
    host: str,
    upstream: int,
    sent: "Synchronized[int]",
    received: "Synchronized[int]",
    requests: "Synchronized[int]",
    port: "Synchronized[int]",
    ready: "multiprocessing.synchronize.Event",
) -> None:
    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, upstream, limit=PIECE)
        await asyncio.gather(_copy(reader, back, sent, requests), _copy(there, writer, received, None))

    async def main() -> None:
        server = await asyncio.start_server(relay, "127.0.0.1", 0, limit=PIECE)
        port.value = server.sockets[0].getsockname()[1]
        ready.set()
        await server.serve_forever()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())


async def _copy(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    count: "Synchronized[int]",
    requests: "Synchronized[int] | None",
) -> None:
    before = b""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(PIECE):
            count.value += len(data)
            if requests is not None:
                requests.value += (before + data).count(REQUEST)
                before = data[-len(REQUEST) + 1 :]
            writer.write(data)
            await writer.drain()
    writer.close()
