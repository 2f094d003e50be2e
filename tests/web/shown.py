"""Pages as a browser gets them: their text, their links, and whether their markup is valid."""

import asyncio
from collections.abc import Mapping, MutableMapping
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode, urlsplit

from backscroll.files.homes import Home
from backscroll.web.app import make_app
from backscroll.web.state import ViewerState
from tests.library.support import Shelf
from tests.support.coroutines import run_coroutine

VOID = frozenset("br hr img input link meta".split())


class Link(NamedTuple):
    """A link, and what it says."""

    href: str
    text: str


class Page(HTMLParser):
    """A page, taken apart. Wrong nesting is an error."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.links: list[Link] = []
        self._texts: list[str] = []
        self._open: list[str] = []
        self._link: tuple[str, int] | None = None
        self.feed(markup)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.elements.append((tag, values))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "a":
            self._link = (values.get("href", ""), len(self._texts))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, tag
        assert self._open.pop() == tag
        if tag == "a" and self._link:
            href, start = self._link
            self.links.append(Link(href, " ".join("".join(self._texts[start:]).split())))

    def handle_data(self, data: str) -> None:
        if "script" not in self._open[-1:]:
            self._texts.append(data)

    @property
    def text(self) -> str:
        """Everything that can be read on it."""
        return " ".join(" ".join(self._texts).split())

    def hrefs(self, beginning: str = "") -> list[str]:
        return [link.href for link in self.links if link.href.startswith(beginning)]

    def link(self, text: str) -> str:
        """Where the first link that says this leads."""
        return next(link.href for link in self.links if link.text == text)

    def all(self, tag: str, class_: str = "") -> list[dict[str, str]]:
        return [
            values for name, values in self.elements
            if name == tag and (not class_ or class_ in values.get("class", "").split())
        ]  # fmt: skip


class PageAnswer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str


class Viewer:
    """The viewer of a shelf, and a browser without scripts."""

    def __init__(self, shelf: Shelf) -> None:
        self._app = make_app(ViewerState(shelf.settings, [Home(shelf.home)]))

    def get(self, path: str, status: int = 200) -> Page:
        answer = self.ask("GET", path)
        assert answer.status == status, answer.text
        return Page(answer.text)

    def post(self, path: str, status: int, **fields: str) -> str:
        """What the answer says to look at next."""
        answer = self.ask("POST", path, urlencode(fields).encode())
        assert answer.status == status, answer.text
        return answer.headers.get("location", "")

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        client: str = "127.0.0.1",
    ) -> PageAnswer:
        """Ask the application itself: without sockets, and with nothing left out."""
        sent_headers = {"origin": "http://127.0.0.1", **(headers or {})}
        parts = urlsplit(path)
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1",
            "method": method, "scheme": "http",
            "path": unquote(parts.path), "raw_path": parts.path.encode(), "root_path": "",
            "query_string": quote(parts.query, safe="=&%+/:").encode(),
            "headers": [(b"host", b"127.0.0.1"),
                        *((name.encode(), value.encode()) for name, value in sent_headers.items()),
                        (b"content-type", b"application/x-www-form-urlencoded"),
                        (b"content-length", b"%d" % len(body))],
            "server": ("127.0.0.1", 80), "client": (client, 1024) if client else None,
        }  # fmt: skip
        sent: list[MutableMapping[str, Any]] = []

        asked = iter([True])

        async def receive() -> MutableMapping[str, Any]:
            if not next(asked, False):
                await asyncio.Event().wait()  # there will be no more, and we do not go away
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        run_coroutine(self._app(scope, receive, send))
        headers = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
        return PageAnswer(sent[0]["status"], headers, text)
