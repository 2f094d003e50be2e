"""How fast a database of early clients is read: `__store.db` with 20,000 rows, and what a second look costs.

    python -m bench.early_history [--rows 20000] [--rounds 5]

Lists the sessions, reads every row of each as a record, then updates a library with it, twice: the second update finds
the database as it was. The best round counts, in CPU time.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.support.early import Said, write_database

from backscroll.files.discovery import HomeFile, discover
from backscroll.files.early_sessions import CACHE
from backscroll.files.homes import Home
from backscroll.files.inside import find_inside
from backscroll.library.indexing.sources import records_in
from backscroll.library.local import local_library
from backscroll.settings import Settings

AIM: Final = 1.0
"""Seconds for 20 MB of rows."""
TEXT: Final = "The price of {0} is in the list, and the basket adds it up. " * 20


def main() -> int:
    """Measure, print, and say whether the aim was reached."""
    parser = argparse.ArgumentParser(prog="bench early_history", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        said = [Said(f"s{at // 40}", TEXT.format(at), ("user", "assistant")[at % 2]) for at in range(arguments.rows)]
        path = write_database(home / "__store.db", said)
        size = path.stat().st_size
        reading = min(_seconds(lambda: _read(home, arguments.rows)) for _ in range(arguments.rounds))
        settings = Settings(homes=(home,), library=Path(folder, "library"), file=Path(folder, "settings.toml"))
        first = _seconds(lambda: _update(settings, home))
        second = min(_seconds(lambda: _update(settings, home)) for _ in range(arguments.rounds))
    share = reading * 20_000_000 / size
    print(f"{arguments.rows:,} rows, {size / 1e6:.1f} MB")
    print(f"read as records      {reading:6.2f} s, {share:.2f} s for 20 MB (aim: {AIM:.0f} s)")
    print(f"first update         {first:6.2f} s")
    print(f"update, unchanged    {second:6.2f} s")
    return 0 if share < AIM else 1


def _read(home: Path, rows: int) -> None:
    CACHE.clear()
    (database,) = discover(Home(home)).files
    found = 0
    for session in find_inside(database):
        assert isinstance(session, HomeFile)
        with session.open() as reading:
            found += sum(1 for _ in records_in(reading))
    assert found == rows


def _update(settings: Settings, home: Path) -> None:
    CACHE.clear()
    with local_library(settings, [Home(home)]) as library:
        library.update()


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


if __name__ == "__main__":
    sys.exit(main())
