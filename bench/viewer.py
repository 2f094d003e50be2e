"""How soon a chat can be read in a browser, followed and searched over HTTP: compared with agentsview, in one run.

    python -m bench.viewer [--messages 30000] [--rounds 5] [--cache DIR] [--size 30MB] [--json FILE]

Both servers are processes of their own, the browser is Chromium without a window, and a new profile for every visit.
Time runs in the page: from the navigation until a message stands in the window and a frame has been drawn with it. Cold
is the first visit to a server that has just been started. agentsview opens a chat with its last thousand messages, we
with its first hundred. Then backscroll alone: memory after reading on through all chunks, streams, append to paint.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import UUID

from playwright.sync_api import Browser, sync_playwright

from bench.generate import _size, generate
from bench.peers import DEFAULT_CACHE, AgentsView, Server, UnableError, free_port, install_peers, isolated
from bench.search import SESSION, Backscroll, Times, draw_questions, our_text, read_material, say, times_of

READABLE_AIM: Final = 1.0
END_AIM: Final = 0.5
RATIO_AIM: Final = 2.0
EVENT_AIM: Final = 0.100
PAINT_AIM: Final = 0.300
STREAMS: Final = 50
LIVE: Final = 10
PATIENCE: Final = 120.0
WORDS: Final = (
    "the quick parser keeps every record of a session and shows it in order while tests run on real files".split()
)
ARGUMENTS: Final = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

# Asks for frames from the beginning on; what a frame had to draw is on the screen when the next one is asked for.
WATCH: Final = """(rows => {
  const look = () => {
    const found = [...document.querySelectorAll(rows)].find(one => {
      const { top, height } = one.getBoundingClientRect();
      return height > 0 && top < innerHeight && one.innerText.length > 20;
    });
    if (found) requestAnimationFrame(() => { window.painted = performance.now(); });
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""

TO_THE_END: Final = """([rows, last, hasEndKey]) => new Promise(resolve => {
  const started = performance.now();
  const end = new KeyboardEvent("keydown", { key: "End", bubbles: true, cancelable: true });
  if (hasEndKey) document.body.dispatchEvent(end);
  const isLong = box => box.scrollHeight > box.clientHeight + 10;
  const scrolls = box => isLong(box) && /auto|scroll/.test(getComputedStyle(box).overflowY);
  const look = () => {
    const all = [...document.querySelectorAll(rows)];
    const found = all.slice(-8).find(one => {
      const { top, bottom } = one.getBoundingClientRect();
      return bottom > 0 && top < innerHeight && one.innerText.includes(last);
    });
    if (found) { requestAnimationFrame(() => resolve((performance.now() - started) / 1000)); return; }
    if (!hasEndKey) {
      let box = all.at(-1);
      while (box && !scrolls(box)) box = box.parentElement;
      if (box) box.scrollTop = box.scrollHeight;
    }
    if (performance.now() - started > 60000) resolve(NaN);
    else requestAnimationFrame(look);
  };
  look();
})"""

SIZE: Final = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .reduce((sum, one) => sum + one.transferSize, 0)"""

SEEN: Final = """name => new Promise(resolve => {
  const look = () => {
    if (!document.getElementById(`m-${name}`)) requestAnimationFrame(look);
    else requestAnimationFrame(() => resolve(performance.timeOrigin + performance.now()));
  };
  look();
})"""


@dataclass
class Visits:
    """The measurements of a page, in seconds and bytes; medians."""

    cold: float
    warm: float
    end: float
    page_bytes: int
    heap: int
    server_memory: int


@dataclass
class Spread:
    """Seconds."""

    median: float
    percentile_95: float

    @classmethod
    def of(cls, spent: Sequence[float]) -> "Spread":
        ordered = sorted(spent)
        return cls(statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))])

    def __str__(self) -> str:
        return f"median {self.median * 1000:.0f} ms, p95 {self.percentile_95 * 1000:.0f} ms"


@dataclass
class ViewerRun:
    """Everything that was measured."""

    messages: int
    load: float
    visits: dict[str, Visits] = field(default_factory=dict)
    memory_after_chunks: int = 0
    chunk: Spread | None = None
    event: Spread | None = None
    paint: Spread | None = None
    questions: dict[str, dict[str, Times]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


class ViewerSession:
    """A session file that grows."""

    def __init__(self, home: Path, number: int, seed: int = 3) -> None:
        self.number = number
        self.random = Random(f"{seed} {number}")
        self.id = str(UUID(int=0x11111111_2222_4333_8444_000000000000 + number))
        self.path = home / "projects" / "-work-long" / f"{self.id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._time = datetime(2026, 1, 1, tzinfo=UTC)
        self._last: str | None = None

    def fill(self, messages: int) -> None:
        """Prompts and answers, each answer with a tool and its result."""
        with self.path.open("wb") as file:
            for number in range(messages):
                file.write(self._prompt(number)[1] if number % 10 == 0 else self._answer(number))

    def ask(self) -> tuple[str, float]:
        """One more prompt: the name of its row, and when it was written."""
        self._time = datetime.now(UTC)
        name, line = self._prompt(self.random.randrange(10**6))
        with self.path.open("ab", buffering=0) as file:
            now = time.time()
            file.write(line)
        return name, now

    def _prompt(self, number: int) -> tuple[str, bytes]:
        return self._row({"type": "user", "message": {"role": "user", "content": f"Prompt {number}: {self._text(20)}"}})

    def _answer(self, number: int) -> bytes:
        name, call = f"msg_{self.number}_{number}", f"toolu_{self.number}_{number}"
        text = f"Answer {number}. {self._text(60)}\n\n```python\nx = 1\nprint(x)\n```\n"
        given = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"pytest -q {self._text(4)}"}}
        output = self._text(120)
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": number % 10 == 8}
        rows = [self._said(name, {"type": "text", "text": text}), self._said(name, given)]
        told = {"stdout": output, "stderr": "", "interrupted": False}
        rows.append({"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": told})
        return b"".join(self._row(row)[1] for row in rows)

    def _said(self, name: str, block: dict[str, Any]) -> dict[str, Any]:
        usage = {"input_tokens": 5, "output_tokens": 200, "cache_read_input_tokens": 20_000}
        message = {"id": name, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929"}
        return {"type": "assistant", "requestId": f"r{name}", "message": message | {"content": [block], "usage": usage}}

    def _row(self, row: dict[str, Any]) -> tuple[str, bytes]:
        self._time += timedelta(seconds=2)
        name = str(UUID(int=self.random.getrandbits(128)))
        base = {"parentUuid": self._last, "isSidechain": False, "userType": "external", "cwd": "/work/long"}
        base |= {"sessionId": self.id, "version": "2.0.50", "gitBranch": "main", "uuid": name}
        base |= {"timestamp": self._time.isoformat().replace("+00:00", "Z")}
        self._last = name
        return name, json.dumps(base | row).encode() + b"\n"

    def _text(self, words: int) -> str:
        return " ".join(self.random.choices(WORDS, k=words))


# The two servers


@contextmanager
def our_server(home: Path, library: Path) -> Iterator[Server]:
    """`backscroll open`, as a user has it."""
    port = free_port()
    places = ["--home", str(home), "--library", str(library)]
    command = [sys.executable, "-m", "backscroll", *places, "open", "--no-browser", "--port", str(port)]
    settings = library.parent / "settings.toml"
    settings.write_text('[web]\nrequire_key = "never"\n')  # as on a machine with a single user
    environment = {**isolated(library.parent), "BACKSCROLL_SETTINGS": str(settings)}
    with Server(command, environment, port, "/api/v1/status") as server:
        yield server


OURS: Final = ("backscroll", "/chats/{id}", "#messages > .chunk > article", True)
THEIRS: Final = ("agentsview", "/sessions/{id}", ".virtual-row", False)


def visit(browser: Browser, server: Server, chat: str, last: str, page_of: tuple[str, str, str, bool]) -> list[float]:
    """Open the chat and go to its end: seconds for both, bytes, and the heap."""
    _, path, rows, has_end_key = page_of
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_init_script(f"{WATCH}({json.dumps(rows)})")
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"http://127.0.0.1:{server.port}{path.format(id=chat)}", wait_until="commit")
    page.wait_for_function("() => window.painted")
    painted = page.evaluate("window.painted") / 1000
    page.wait_for_load_state("load")
    if has_end_key:
        page.wait_for_selector("#chat.lively", state="attached")
    size = page.evaluate(SIZE)
    end = page.evaluate(TO_THE_END, [rows, last, has_end_key])
    session = context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"]
    context.close()
    return [painted, end, size, heap]


def measure_visits(
    start: Callable[[], Any], browser: Browser, chat: str, last: str, rounds: int, page_of: tuple[str, str, str, bool]
) -> Visits:
    """The first visit to a server, several times, and more visits to the last of them."""
    cold, warm, memory = [], [], 0
    for number in range(rounds):
        say(f"{page_of[0]}: cold visit {number + 1}")
        with start() as server:
            time.sleep(2)  # both are busy with themselves when they first answer
            cold.append(visit(browser, server, chat, last, page_of))
            if number == rounds - 1:
                say(f"{page_of[0]}: {rounds} warm visits")
                warm = [visit(browser, server, chat, last, page_of) for _ in range(rounds)]
                memory = server.cost().memory
    first, middle = ([statistics.median(column) for column in zip(*rows, strict=True)] for rows in (cold, warm))
    return Visits(first[0], middle[0], middle[1], round(middle[2]), round(middle[3]), memory)


# Ours alone


def measure_chunks(server: Server, chat: str, messages: int) -> tuple[int, Spread]:
    """The server's memory after all chunks were read, and the time per chunk."""
    spent = []
    for number in range(messages // 100):
        started = time.perf_counter()
        server._connection.request("GET", f"/chats/{chat}/chunks/{number}")
        answer = server._connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise UnableError(f"chunk {number} answered {answer.status}")
        spent.append(time.perf_counter() - started)
    return server.cost().memory, Spread.of(spent)


class Streams:
    """Many clients of the event stream, in a separate thread; each records when it receives an event of a chat."""

    def __init__(self, port: int, count: int) -> None:
        self.told: list[dict[str, float]] = [{} for _ in range(count)]
        self._port = port
        self._writers: list[asyncio.StreamWriter] = []
        self._ready = threading.Barrier(2)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Streams":
        self._thread.start()
        self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        connected = [self._loop.create_task(self._connect()) for _ in self.told]
        streams = self._loop.run_until_complete(asyncio.gather(*connected))
        tasks = [self._loop.create_task(self._read(*one)) for one in zip(streams, self.told, strict=True)]
        self._ready.wait(PATIENCE)
        self._loop.run_forever()
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _connect(self) -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**20)
        writer.write(f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        self._writers.append(writer)  # the connection lives as long as it does
        return reader

    @staticmethod
    async def _read(reader: asyncio.StreamReader, told: dict[str, float]) -> None:
        while line := await reader.readline():
            if line.startswith(b"data: ") and b'"chats"' in line:
                now = time.time()
                told.update(dict.fromkeys(json.loads(line[6:])["chats"], now))


def measure_events(server: Server, sessions: Sequence[ViewerSession], appends: int) -> Spread:
    """From an append to the event, over all clients; one append after the other, to any of the sessions."""
    spent = []
    with Streams(server.port, STREAMS) as streams:
        for number in range(appends):
            session = sessions[number % len(sessions)]
            _, written = session.ask()
            until = time.time() + PATIENCE
            while any(told.get(session.id, 0) < written for told in streams.told):
                if time.time() > until:
                    raise UnableError("a client was not told of an append")
                time.sleep(0.005)
            spent += [told[session.id] - written for told in streams.told]
            time.sleep(session.random.random() * 0.1)
    return Spread.of(spent)


def measure_paint(server: Server, browser: Browser, session: ViewerSession, appends: int) -> Spread:
    """From an append to the frame that shows it, at the end of a chat that is open."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{server.port}/chats/{session.id}")
    page.wait_for_selector("#chat.lively", state="attached")
    page.keyboard.press("End")
    time.sleep(2)
    spent = []
    for _ in range(appends):
        name, written = session.ask()
        spent.append(page.evaluate(SEEN, name) / 1000 - written)
        time.sleep(0.1 + session.random.random() * 0.1)
    context.close()
    return Spread.of(spent)


def measure_questions(done: ViewerRun, folder: Path, size: int, peer: AgentsView | None, rounds: int) -> None:
    """The questions of `bench.search`, through both servers."""
    say("questions over HTTP")
    home = folder / "words"
    generate(home, sessions=max(2, size // SESSION), total_bytes=size, seed=7)
    questions = draw_questions(read_material(home), 5, 7)
    ours = Backscroll(home, folder / "ours-words")
    ours.sync()
    with our_server(home, ours.library) as server:
        time.sleep(2)
        for kind, queries in questions.items():
            calls = [partial(server.get, "/api/v1/search", q=our_text(query), limit=20) for query in queries]
            done.questions[kind] = {"backscroll /search": times_of(calls, rounds)}
    if peer is None:
        return
    peer.prepare(home, folder / "peer-words")
    peer.sync()
    with peer.open() as doors:
        for kind, queries in questions.items():
            for door, search in doors.items():
                done.questions[kind][door] = times_of([partial(search, query) for query in queries], rounds)


def measure(folder: Path, options: argparse.Namespace) -> ViewerRun:
    """Run all measurements in sequence."""
    done = ViewerRun(options.messages, os.getloadavg()[0])
    peers, done.left_out = install_peers(options.cache, ["agentsview"] if options.peer else [])
    peer = next((one for one in peers if isinstance(one, AgentsView)), None)
    home = folder / "home"
    long = ViewerSession(home, options.messages)
    long.fill(options.messages)
    last = f"Answer {options.messages - 1}"
    say("reading the long chat")
    ours = Backscroll(home, folder / "ours")
    ours.sync()
    chrome = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chrome, args=ARGUMENTS)
        done.visits["backscroll"] = measure_visits(
            lambda: our_server(home, ours.library), browser, long.id, last, options.rounds, OURS
        )
        if peer is not None:
            peer.prepare(home, folder / "agentsview")
            peer.sync()
            done.visits["agentsview"] = measure_visits(peer._server, browser, long.id, last, options.rounds, THEIRS)
        sessions = [ViewerSession(home, number) for number in range(LIVE)]
        for session in sessions:
            session.fill(200)
        ours.sync()
        with our_server(home, ours.library) as server:
            time.sleep(2)
            say("all chunks")
            done.memory_after_chunks, done.chunk = measure_chunks(server, long.id, options.messages)
            say("streams")
            done.event = measure_events(server, sessions, options.appends)
            say("append to paint")
            done.paint = measure_paint(server, browser, sessions[0], options.appends)
        browser.close()
    measure_questions(done, folder, options.size, peer, 3)
    return done


def report(done: ViewerRun) -> list[str]:
    """Print it; which aims were missed."""
    print(f"a chat of {done.messages:,} messages, load {done.load:.1f} at the beginning; medians")
    print(f"{'':12}{'cold':>9}{'warm':>9}{'to the end':>12}{'page':>10}{'heap':>9}{'server':>9}")
    for name, one in done.visits.items():
        print(f"{name:12}{one.cold:8.2f}s{one.warm:8.2f}s{one.end:11.2f}s{one.page_bytes / 1e3:7.0f} kB"
              f"{one.heap / 1e6:6.1f} MB{one.server_memory / 1e6:6.0f} MB")  # fmt: skip
    ours, theirs = done.visits["backscroll"], done.visits.get("agentsview")
    assert done.event and done.paint and done.chunk
    print(f"after all chunks the server has had {done.memory_after_chunks / 1e6:.0f} MB at most; a chunk: {done.chunk}")
    print(f"append to event, {STREAMS} streams, {LIVE} sessions: {done.event}\nappend to paint: {done.paint}")
    for kind, doors in done.questions.items():
        cells = [f"{door} {times.median * 1000:.1f} ms" for door, times in doors.items() if times.median is not None]
        print(f"{kind:22} {', '.join(cells)}")
    for name, reason in done.left_out.items():
        print(f"left out: {name}: {reason}")
    aims = {
        "readable, cold": ours.cold < READABLE_AIM,
        "readable, warm": ours.warm < READABLE_AIM,
        "to the end": ours.end < END_AIM,
        "events": done.event.median < EVENT_AIM,
        "paint": done.paint.median < PAINT_AIM,
    }
    if theirs:
        print(f"agentsview / backscroll: cold {theirs.cold / ours.cold:.1f} ×, warm {theirs.warm / ours.warm:.1f} ×,"
              f" to the end {theirs.end / ours.end:.1f} ×")  # fmt: skip
        aims["twice as soon readable"] = theirs.warm >= RATIO_AIM * ours.warm
    return [name for name, is_met in aims.items() if not is_met]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if an aim was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.viewer", description="Read a long chat, side by side.")
    parser.add_argument("--messages", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--appends", type=int, default=100)
    parser.add_argument("--size", type=_size, default=30_000_000, help="of the home that is searched over HTTP")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="the folder for agentsview's venv")
    parser.add_argument("--alone", dest="peer", action="store_false", help="without agentsview")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured there, too")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        done = measure(Path(name), options)
    missed = report(done)
    if options.json:
        options.json.write_text(json.dumps(asdict(done), indent=2), encoding="utf-8")
    for name in missed:
        print(f"missed: {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
