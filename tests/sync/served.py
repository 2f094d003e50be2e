"""The part of the team server that takes objects, on a real socket."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from backscroll.httpd.connections import Connections
from backscroll.httpd.listening import listen, url_of
from backscroll.httpd.server import server_config
from backscroll.sync.http_remote import HttpRemote
from backscroll.sync.objects import folder_of
from backscroll.sync.remotes import Remote, RemoteObject, open_remote
from backscroll.team.arrival.device_routes import DeviceRoutes, Spend
from backscroll.team.people.limits import Allowance

NAMES = ("laptop", "desktop", "fresh", "a")


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """The address of an application that is served."""
    listener = listen("127.0.0.1", [0])
    server = uvicorn.Server(server_config(app, Connections(64)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield url_of(listener)
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()


@contextmanager
def taking_objects(folder: Path, spend: Spend = lambda _, __: None) -> Iterator[str]:
    """A server whose devices have their names as credentials."""
    taking = DeviceRoutes(open_remote(str(folder)), lambda key: Allowance(key) if key in NAMES else None, spend=spend)
    with serving(Starlette(routes=[Mount("/sync/v1", routes=taking.routes)])) as url:
        yield url


class EveryDevice:
    """All devices of a server at once: each request goes out with the credential of the device that it is about."""

    def __init__(self, url: str) -> None:
        self._remotes = {folder_of(name): HttpRemote(url, name) for name in NAMES}

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        for remote in self._remotes.values():
            yield from remote.list(prefix)

    def get(self, name: str) -> bytes:
        return self._remote(name).get(name)

    def put(self, name: str, data: bytes) -> bool:
        return self._remote(name).put(name, data)

    def pieces(self, name: str) -> Iterator[bytes]:
        return self._remote(name).pieces(name)

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        return self._remote(name).put_file(name, file)

    def delete(self, name: str) -> None:
        self._remote(name).delete(name)

    def _remote(self, name: str) -> Remote:
        return next(remote for folder, remote in self._remotes.items() if name.startswith(folder))
