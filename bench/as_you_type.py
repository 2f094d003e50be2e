"""How soon results stand under a search field after a key: in the viewer's home and palette, in a real browser.

    python -m bench.as_you_type [--corpus FOLDER] [--rounds 3]

The queries of `bench.relevance` (its half to tune) are typed key by key over its home, each key after the results of
the last one. Time runs in the page: from the event of the key until the list has changed and a frame was drawn.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

from playwright.sync_api import Page, sync_playwright

from bench.decode import find_corpus
from bench.peers import free_port
from bench.relevance.asked import queries
from bench.relevance.engines import our_library
from bench.relevance.home import build_home

BROWSERS: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ARGUMENTS: Final = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
AIM: Final = 0.100
TYPED: Final = 12
"""Queries to type in a round."""
KEYS: Final = 10
"""Keys of each query."""
PATIENCE: Final = 5_000
"""Milliseconds after which a key counts as without results."""
LINK: Final = re.compile(r'"link": "([^"]+)"')

# The time from an `input` event in the field to the frame after the next change of the list.
WATCH: Final = """([field, list]) => {
  const input = document.querySelector(field);
  let began = 0;
  window.took = null;
  input.addEventListener("input", () => { began = performance.now(); window.took = null; }, true);
  new MutationObserver(() => requestAnimationFrame(() => {
    if (began && window.took === null) window.took = performance.now() - began;
  })).observe(document.querySelector(list), { childList: true, subtree: true });
}"""

WAIT: Final = """patience => new Promise(resolve => {
  const until = performance.now() + patience;
  const look = () => {
    if (window.took !== null || performance.now() > until) resolve(window.took ?? patience);
    else requestAnimationFrame(look);
  };
  look();
})"""


@contextmanager
def serving(home: Path, folder: Path) -> Iterator[str]:
    """The viewer of this home, as a user starts it; the link that opens it, once."""
    command = [
        sys.executable,
        "-m",
        "backscroll",
        "--home",
        home,
        "--library",
        folder,
        "open",
        "--no-browser",
        "--json",
    ]
    process = subprocess.Popen(
        [*map(str, command), "--port", str(free_port())], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield next(found[1] for line in process.stdout if (found := LINK.search(line)))
    finally:
        process.terminate()
        process.wait()


def typed(page: Page, field: str, options: str, texts: Sequence[str]) -> list[float]:
    """The seconds after each key."""
    page.evaluate(WATCH, [field, options])
    took = []
    for text in texts:
        page.fill(field, "")
        page.wait_for_timeout(200)
        for key in text[:KEYS]:
            page.locator(field).press_sequentially(key)
            took.append(page.evaluate(WAIT, PATIENCE) / 1000)
    return took


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if the aim is missed, 2 without sessions or a browser."""
    parser = argparse.ArgumentParser(prog="python -m bench.as_you_type", description="How soon results follow a key.")
    parser.add_argument("--corpus", type=Path, help="the folder of real sessions (default: $BACKSCROLL_CORPUS)")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    corpus = options.corpus or find_corpus()
    browser_path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if corpus is None or not corpus.is_dir() or browser_path is None:
        print("real sessions ($BACKSCROLL_CORPUS or --corpus) and Chromium are needed", file=sys.stderr)
        return 2
    texts = [query.text for query in queries() if query.half == "tune" and query.text.isascii()]
    took: dict[str, list[float]] = {"home": [], "palette": []}
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as made:
        folder = Path(made)
        build_home(corpus, folder / "home")
        with our_library(folder / "home", folder / "library"):
            pass  # up to date
        own = os.environ | dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), made)
        with serving(folder / "home", folder / "library") as link, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS, env={**own})
            page = browser.new_page()
            page.goto(link)
            for number in range(options.rounds):
                some = texts[number * TYPED : (number + 1) * TYPED]
                page.goto(urljoin(link, "/"))
                page.locator(HOME_FIELD).click()
                took["home"] += typed(page, HOME_FIELD, ".suggestions", some)
                page.goto(urljoin(link, "/"))
                page.keyboard.press("Control+k")
                took["palette"] += typed(page, "dialog.palette input", "dialog.palette [role=listbox]", some)
            browser.close()
    print(f"load of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for place, seconds in took.items():
        seconds.sort()
        high = seconds[int(len(seconds) * 0.95)]
        line = f"median {1000 * statistics.median(seconds):.0f} ms, 95 % {1000 * high:.0f} ms"
        print(f"{place:8} {len(seconds)} keys: {line}, most {1000 * seconds[-1]:.0f} ms")
    return int(any(statistics.median(seconds) > AIM for seconds in took.values()))


HOME_FIELD: Final = "#search"

if __name__ == "__main__":
    sys.exit(main())
