"""The cost of a scope: the same queries over everything, and over one of two homes.

    python -m bench.scope [--bytes 30MB] [--runs 9]

Makes two homes of that size and one library of both. The scopes take turns; the median CPU time counts.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from backscroll.files.homes import Home
from backscroll.library.local import local_library
from backscroll.query.parse import parse
from backscroll.settings import Settings
from backscroll.store.reader import EVERYTHING, Scope, StoreReader
from bench.generate import _size, generate

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
WORDS: Final = ("parser", "error test", "function*", '"the file"', "database migration")


def questions(keys: list[int], names: list[str]) -> dict[str, Callable[[StoreReader], object]]:
    """The queries, about these chats."""
    return {
        "search, 5 queries": lambda ask: [
            ask.search(parse(words, NOW), sort="relevance", limit=20, offset=0, hits=3) for words in WORDS
        ],
        "list, 50 chats": lambda ask: ask.chats(None, sort="newest", limit=50, offset=0),
        "find, 20 ids": lambda ask: [ask.find(name) for name in names],
        "shape, 10 chats": lambda ask: [ask.chat_shape(key) for key in keys[:10]],
        "totals": lambda ask: ask.totals(),
        "similar words": lambda ask: ask.similar("databse"),
        "usage by model": lambda ask: ask.reports(None).usage_by("model"),
        "tool calls": lambda ask: ask.reports(None).tool_calls(),
        "file calls": lambda ask: ask.reports(None).file_calls(),
        "context": lambda ask: ask.reports(None).context_parts(),
        "moments": lambda ask: list(ask.reports(None).moments()),
        "answers": lambda ask: ask.reports(None).answers(),
    }


def measure(folder: Path, size: int, runs: int) -> dict[str, tuple[float, float]]:
    """Milliseconds of each question, within everything and within one home."""
    homes = [folder / "one", folder / "two"]
    for seed, home in enumerate(homes, 3):
        generate(home, sessions=max(1, size // 250_000), total_bytes=size, seed=seed)
    settings = Settings(homes=tuple(homes), library=folder / "library", file=folder / "settings.toml")
    with local_library(settings, [Home(home) for home in homes]) as library:
        library.update()
        mine = frozenset({(library.machine.id, str(homes[0]))})
        readers = [library.store.within(EVERYTHING), library.store.within(Scope(mine))]
        chats = readers[1].chats(None, sort="newest", limit=20, offset=0)
        found = {}
        for name, ask in questions([chat.key for chat in chats], [chat.overview.id for chat in chats]).items():
            times: list[list[float]] = [[], []]
            for _ in range(runs):
                for reader, taken in zip(readers, times, strict=True):
                    start = time.process_time()
                    ask(reader)
                    taken.append(1000 * (time.process_time() - start))
            found[name] = (statistics.median(times[0]), statistics.median(times[1]))
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.scope", description="CPU time of questions within a scope.")
    parser.add_argument("--bytes", type=_size, default=30_000_000, help="size of each of the two homes")
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'CPU ms':20}{'everything':>12}{'one home':>12}{'ratio':>8}")
        for name, (everything, one) in measure(Path(folder), options.bytes, options.runs).items():
            print(f"{name:20}{everything:>12.2f}{one:>12.2f}{one / max(everything, 1e-6):>8.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
