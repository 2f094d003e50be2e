"""How soon the pages of the viewer can be read in a browser, warm: compared with agentsview, in one run.

    python -m bench.viewer_pages [--home DIR] [--size 250MB] [--rounds 5] [--cache DIR]

A page can be read when its contents are painted: for ours, the part that the user came for; for agentsview, the first
row, message or figure of the page that answers the same question. Each is visited once before it is measured.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright

from bench.generate import _size, generate
from bench.peers import DEFAULT_CACHE, AgentsView, Server, install_peers
from bench.search import Backscroll
from bench.viewer import ARGUMENTS, PATIENCE, our_server

SESSION_BYTES: Final = 1_100_000
AIM: Final = 0.5

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


def visit(browser: Browser, server: Server, path: str, selector: str) -> float:
    """Open a page in a fresh context; seconds from the request until it can be read."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"http://127.0.0.1:{server.port}{path}", wait_until="commit")
    seconds: float = page.evaluate(PAINTED, selector)
    context.close()
    return seconds


def measure(
    browser: Browser, start: Callable[[], AbstractContextManager[Server]], pages: Pages, chat: str, rounds: int
) -> dict[str, list[float]]:
    """The seconds of each page, after one visit that is not measured."""
    found = {}
    with start() as server:
        since = last_days(server) if pages is OURS else ""
        for name, (path, selector) in pages.items():
            spent = [visit(browser, server, path.format(id=chat, since=since), selector) for _ in range(rounds + 1)]
            found[name] = spent[1:]
    return found


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
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="the folder for agentsview's venv")
    options = parser.parse_args()
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
        found = {"backscroll": measure(browser, lambda: our_server(home, ours.library), OURS, chat, options.rounds)}
        peers, left_out = install_peers(options.cache, ["agentsview"])
        for peer in peers:
            if isinstance(peer, AgentsView):
                peer.prepare(home, folder / "peer")
                peer.sync()
                found[f"agentsview {peer.version}"] = measure(browser, peer._server, THEIRS, chat, options.rounds)
        browser.close()
    print(f"load {os.getloadavg()[0]:.1f}; median (smallest–largest) seconds of {options.rounds} warm visits")
    for who, pages in found.items():
        for page, spent in pages.items():
            print(f"{who:20} {page:16} {statistics.median(spent):.2f} ({min(spent):.2f}–{max(spent):.2f})")
    for who, reason in left_out.items():
        print(f"{who} is left out: {reason}")
    return int(any(statistics.median(spent) > AIM for spent in found["backscroll"].values()))


if __name__ == "__main__":
    sys.exit(main())
