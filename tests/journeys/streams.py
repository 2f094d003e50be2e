"""Clients of the event stream without a browser: plain sockets, quick ones and such that do not read."""

import asyncio
import json
import socket
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from backscroll.web.server import StartedViewer
from tests.web.served import address_of

REQUEST = "GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"


class Event(NamedTuple):
    """One notice."""

    name: str
    number: str
    data: dict[str, Any]


@dataclass
class StreamClient:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    last: str = ""
    chats: set[str] = field(default_factory=set)
    """The chats that it received events about."""

    @classmethod
    async def connect(cls, served: StartedViewer, last: str = "", *, buffer: int | None = None) -> "StreamClient":
        """Connect; with `last`, reconnect. A small buffer fills up quickly if it is not read."""
        opened = socket.socket()
        opened.setblocking(False)
        if buffer:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        await asyncio.get_running_loop().sock_connect(opened, address_of(served))
        reader, writer = await asyncio.open_connection(sock=opened, limit=2**24 if not buffer else 1024)
        more = f"Authorization: Bearer {served.access.keys.token}\r\n"
        more += f"Last-Event-ID: {last}\r\n" if last else ""
        writer.write(REQUEST.format(host=served.url.removeprefix("http://"), more=more).encode())
        await writer.drain()
        client = cls(reader, writer)
        if not buffer:
            head = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in head and b"text/event-stream" in head, head
        return client

    async def event(self) -> Event:
        """The next one."""
        while True:
            size = int(await self.reader.readline(), 16)
            piece = (await self.reader.readexactly(size + 2)).decode()
            lines = dict(line.split(": ", 1) for line in piece.strip().split("\n") if not line.startswith(":"))
            if lines:
                self.last = lines["id"]
                told = Event(lines["event"], lines["id"], json.loads(lines["data"]))
                self.chats.update(told.data.get("chats", ()))
                return told

    async def until(self, chat: str) -> None:
        """Read on until a chat was told of."""
        while chat not in self.chats:
            await self.event()

    async def leave(self) -> None:
        """Without a word."""
        self.writer.transport.abort()
        await asyncio.sleep(0)
