"""People who read while others push: searches, a chat, the list, spend."""

import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from random import Random
from urllib.parse import quote, urlsplit

TIMEOUT = 60.0
ACTIONS = ("search", "search", "search", "search page", "chat", "list", "spend")
"""What a reader does, by how often."""


@dataclass
class Readings:
    """How long answers took, by what was asked."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    found: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, taken: float) -> None:
        """An answer came."""
        with self.lock:
            self.seconds.setdefault(what, []).append(taken)


class Reader(threading.Thread):
    """One person with a browser."""

    def __init__(self, url: str, secret: str, words: list[str], readings: Readings, seed: int, pause: float) -> None:
        super().__init__(name=f"reader {seed}", daemon=True)
        place = urlsplit(url)
        self._host, self._port = place.hostname or "", place.port or 80
        self._headers = {"cookie": f"backscroll-team-{self._port}={secret}", "accept": "*/*"}
        self._words, self._readings, self._pause = words, readings, pause
        self._rng = Random(f"reader {seed}")
        self._chats: list[str] = []
        self._stop_asked = threading.Event()
        self._connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT)

    def run(self) -> None:
        """Ask until it is stopped."""
        while not self._stop_asked.wait(self._pause * (0.5 + self._rng.random())):
            what = self._rng.choice(ACTIONS)
            began = time.perf_counter()
            try:
                self._do(what)
            except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
                with self._readings.lock:
                    self._readings.errors.append(f"{what}: {type(error).__name__}: {error}"[:300])
                self._connection.close()
                continue
            self._readings.note(what, time.perf_counter() - began)
        self._connection.close()

    def _do(self, what: str) -> None:
        asked = quote(" ".join(self._rng.sample(self._words, self._rng.choice((1, 1, 2)))))
        if what == "search":
            answer = json.loads(self._get(f"/api/v1/search?q={asked}"))
            with self._readings.lock:
                self._readings.found += bool(answer["chats"])
            return
        if what == "chat" and not self._chats:
            self._chats = [chat["id"] for chat in json.loads(self._get("/api/v1/chats?limit=20"))["chats"]]
        path = {"search page": f"/search?q={asked}", "list": "/chats", "spend": "/spend"}.get(what)
        if path is None:
            path = f"/chats/{self._rng.choice(self._chats)}" if self._chats else "/chats"
        self._get(path)

    def _get(self, path: str) -> bytes:
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise ValueError(f"{path} answered {answer.status}: {body[:150]!r}")
        return body

    def stop(self) -> None:
        """End after the question that is asked now."""
        self._stop_asked.set()
