"""How soon the pages of the viewer can be read in a browser, warm: compared with agentsview, in one run.

    python -m bench.viewer_pages [--home DIR] [--size 250MB] [--rounds 5] [--cache DIR]

A page can be read when its contents are painted: for ours, the part that the user came for; for agentsview, the first
row, message or figure of the page that answers the same question. Each is visited once before it is measured. The CPU
time that the server spends on a visit does not depend on what else the machine does. `--counted` writes to a session
before each visit, so that nothing is shown that was counted for the visit before.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from urllib.request import urlopen
from uuid import uuid4

from playwright.sync_api import Browser, sync_playwright

from bench.generate import _size, generate
from bench.peers import DEFAULT_CACHE, AgentsView, Server, install_peers
from bench.search import Backscroll
from bench.viewer import ARGUMENTS, PATIENCE, our_server

SESSION_BYTES: Final = 1_100_000
AIM: Final = 0.5
DISTURBED: Final = "d157b2ed-0000-4000-8000-000000000000"
"""The session that is written to between visits."""

Pages = dict[str, tuple[str, str]]
"""The path of each page, and what must be painted."""

OURS: Final[Pages] = {
    "home": ("/", ".items > li"),
    "chats": ("/chats", "main tbody tr"),
    "a chat": ("/chats/{id}", "#messages article"),
    "Spend, 30 days": ("/spend?since={since}", "#dearest-chats li"),
    "Spend, all time": ("/spend?period=all", "#dearest-chats li"),
    "Stats, 30 days": ("/stats?since={since}", ".findings > li"),
    "Stats, all time": ("/stats?since=all", ".findings > li"),
    "search": ("/search?q=error", ".passages > *"),
}
THEIRS: Final[Pages] = {
    "home": ("/", ".session-item, [class*=session-row], .virtual-row"),
    "a chat": ("/sessions/{id}", ".virtual-row"),
    "Spend, 30 days": ("/usage", "svg, canvas, table tbody tr"),
}

PAINTED: Final = """selector => new Promise(resolve => {
  const look = () => {
    const found = [...document.querySelectorAll(selector)].some(one => one.getBoundingClientRect().height > 0);
    if (found) requestAnimationFrame(() => setTimeout(() => resolve(performance.now() / 1000)));
    else requestAnimationFrame(look);
  };
  look();
})"""


class Visit(NamedTuple):
    """Seconds from the request until the page can be read, and the CPU seconds of the server."""

    seconds: float
    cpu: float


def visit(browser: Browser, server: Server, path: str, selector: str) -> Visit:
    """Open a page in a fresh context."""
    before = server.cost().cpu
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"http://127.0.0.1:{server.port}{path}", wait_until="commit")
    seconds: float = page.evaluate(PAINTED, selector)
    context.close()
    return Visit(seconds, server.cost().cpu - before)


def measure(
    browser: Browser,
    start: Callable[[], AbstractContextManager[Server]],
    pages: Pages,
    chat: str,
    rounds: int,
    disturb: Callable[[Server], object] = lambda _: None,
) -> dict[str, list[Visit]]:
    """The visits to each page, after one that is not measured; `disturb` is done before each."""
    found = {}
    with start() as server:
        since = last_days(server) if pages is OURS else ""
        for name, (path, selector) in pages.items():
            visits = []
            for _ in range(rounds + 1):
                disturb(server)
                visits.append(visit(browser, server, path.format(id=chat, since=since), selector))
            found[name] = visits[1:]
    return found


def append_prompt(home: Path, server: Server) -> None:
    """Write a prompt to a session, and wait until the server has read it."""
    file = home / "projects" / "-home-ada-shop" / f"{DISTURBED}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    word, now = f"disturbance{time.time_ns()}", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.000Z}"
    row = {"type": "user", "uuid": str(uuid4()), "parentUuid": None, "sessionId": file.stem, "timestamp": now,
           "cwd": "/home/ada/shop", "version": "2.1.72", "message": {"role": "user", "content": word}}  # fmt: skip
    with file.open("a") as opened:
        opened.write(json.dumps(row) + "\n")
    address = f"http://127.0.0.1:{server.port}/api/v1/search?q={word}"
    while not json.loads(urlopen(address).read())["chats"]:
        time.sleep(0.05)
    time.sleep(0.5)  # what follows a change is done


def last_days(server: Server) -> str:
    """The day 30 days before the last that has something: the dates of a generated home are fixed."""
    last = server.get("/api/v1/chats", limit=1)["chats"][0]["last_active"]
    return str(date.fromisoformat(last[:10]) - timedelta(days=30))


def long_session(home: Path) -> str:
    """One that is larger than nine tenths of the others."""
    files = sorted((path for path in home.glob("projects/*/*.jsonl") if "agent-" not in path.name),
                   key=lambda path: path.stat().st_size)  # fmt: skip
    return files[len(files) * 9 // 10].stem


def main() -> int:
    """The command line; returns 1 if one of our pages takes longer than the aim."""
    parser = argparse.ArgumentParser(prog="python -m bench.viewer_pages", description=__doc__.partition("\n")[0])
    parser.add_argument("--home", type=Path, help="a home to measure on; else one is generated")
    parser.add_argument("--size", type=_size, default=250_000_000, help="of the generated home")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--counted", action="store_true", help="write to a session before each visit to one of ours")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="the folder for agentsview's venv")
    options = parser.parse_args()
    if options.counted and options.home:
        parser.error("--counted writes to a session, and does so only in a generated home")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        home = options.home or folder / "home"
        if options.home is None:
            generate(home, sessions=max(1, options.size // SESSION_BYTES), total_bytes=options.size, seed=7)
        chat = long_session(home)
        chrome = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chrome, args=ARGUMENTS)
        ours = Backscroll(home, folder / "ours")
        ours.sync()
        disturb = partial(append_prompt, home) if options.counted else lambda _: None
        start = partial(our_server, home, ours.library)
        found = {"backscroll": measure(browser, start, OURS, chat, options.rounds, disturb)}
        peers, left_out = install_peers(options.cache, ["agentsview"])
        for peer in peers:
            if isinstance(peer, AgentsView):
                peer.prepare(home, folder / "peer")
                peer.sync()
                found[f"agentsview {peer.version}"] = measure(browser, peer._server, THEIRS, chat, options.rounds)
        browser.close()
    print(f"load {os.getloadavg()[0]:.1f}; median (smallest–largest) seconds of {options.rounds} warm visits")
    for who, pages in found.items():
        for page, visits in pages.items():
            spent, cpu = [one.seconds for one in visits], statistics.median(one.cpu for one in visits)
            told = f"{statistics.median(spent):.2f} ({min(spent):.2f}–{max(spent):.2f})"
            print(f"{who:20} {page:16} {told}, CPU {cpu:.2f}")
    for who, reason in left_out.items():
        print(f"{who} is left out: {reason}")
    return int(any(statistics.median(one.seconds for one in visits) > AIM for visits in found["backscroll"].values()))


if __name__ == "__main__":
    sys.exit(main())
