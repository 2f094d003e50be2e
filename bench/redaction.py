"""How much of the planted secrets is masked, how much else is, and how fast.

    python -m bench.redaction [--seeds 5] [--masks] [FOLDER …]

First the planted set (tests/redaction/secrets.txt): the half for tuning and the half that was not tuned on. Then all
text files below each FOLDER, else the real sessions in `$BACKSCROLL_CORPUS` (else `../shared/corpus`): megabytes a
second of CPU time and how many places are masked, by rule; with `--masks` also what stands around each.
Exits with 1 if less than 95 of 100 planted secrets are masked.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.redaction.planted_set import planted_set

from backscroll.redaction.redactor import Redactor, redact

CORPUS: Final = Path(os.environ.get("BACKSCROLL_CORPUS") or Path(__file__).parents[1].parent / "shared" / "corpus")
LARGEST: Final = 2_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--masks", action="store_true")
    asked = parser.parse_args()
    is_good = planted(asked.seeds)
    for folder in asked.folders or [CORPUS]:
        texts(folder, show=asked.masks)
    return 0 if is_good else 1


def planted(seeds: int) -> bool:
    """Mask the planted set with values of several seeds, and say how many secrets are hidden."""
    shares = []
    for is_for_tuning in (True, False):
        cases = [
            case for seed in range(1, seeds + 1) for case in planted_set(seed) if case.is_for_tuning == is_for_tuning
        ]
        hidden = sum(not case.leaks(redact(case.text)[0]) for case in cases)
        shares.append(hidden / len(cases))
        name = "for tuning" if is_for_tuning else "not tuned on"
        print(f"planted, {name}: {hidden} of {len(cases)} hidden ({shares[-1]:.1%})")
    return min(shares) >= 0.95


def texts(folder: Path, *, show: bool) -> None:
    """Mask everything below a folder."""
    size, seconds, redactor = 0, 0.0, Redactor()
    for path, length, value in values(folder):
        began = time.process_time()
        hidden = redactor.value(value)
        seconds += time.process_time() - began
        size += length
        if show and hidden is not value:
            told(path, hidden)
    if size:
        places = redactor.places
        rate = size / 1e6 / max(seconds, 1e-9)
        print(f"{folder}: {size / 1e6:.0f} MB, {rate:.1f} MB/s, {places.total()} masks {dict(places)}")


def values(folder: Path) -> Iterator[tuple[Path, int, Any]]:
    """Every record of the sessions and every other text below a folder, with its size."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        if path.suffix == ".jsonl":
            for line in path.read_bytes().splitlines():
                try:
                    yield path, len(line), json.loads(line)
                except ValueError:
                    continue
        elif path.stat().st_size <= LARGEST:
            data = path.read_bytes()
            try:
                text = data.decode()
            except UnicodeDecodeError:
                continue
            if "\0" not in text:
                yield path, len(data), text


def told(path: Path, hidden: Any) -> None:  # noqa: ANN401
    """Print each mask with its context."""
    text = hidden if isinstance(hidden, str) else json.dumps(hidden, ensure_ascii=False)
    at = text.find("[redacted: ")
    while at >= 0:
        print(f"{path}: {text[max(0, at - 60) : at + 50]!r}")
        at = text.find("[redacted: ", at + 1)


if __name__ == "__main__":
    sys.exit(main())
