"""How fast answers become HTML: pyromark and nh3, compared with markdown-it-py.

    python -m bench.markdown [--texts 3000] [--rounds 5]

Takes the answers of the real sessions in `$BACKSCROLL_CORPUS` (else `../shared/corpus`). Rounds are interleaved and the
best counts, in CPU time.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import nh3
import pyromark
from markdown_it import MarkdownIt

CORPUS: Final = Path(os.environ.get("BACKSCROLL_CORPUS") or Path(__file__).parents[1].parent / "shared" / "corpus")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    texts = answers(asked.texts)
    if not texts:
        print(f"no sessions in {CORPUS}: set BACKSCROLL_CORPUS", file=sys.stderr)
        return 1
    pages = [pyromark.html(text) for text in texts]
    peer = MarkdownIt("commonmark").enable("table")
    contestants: dict[str, Callable[[], Any]] = {
        "pyromark": lambda: [pyromark.html(text) for text in texts],
        "nh3, of what pyromark made": lambda: [nh3.clean(page) for page in pages],
        "markdown-it-py": lambda: [peer.render(text) for text in texts],
    }
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(asked.rounds):
        for name, run in contestants.items():
            began = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - began)
    print(f"{len(texts):,} answers, {sum(map(len, texts)) / 1e6:.1f} MB")
    for name, seconds in best.items():
        print(f"{name:<28} {len(texts) / seconds:>9,.0f} answers a second")
    return 0


def answers(limit: int) -> list[str]:
    """The texts of answers, as they come."""
    found: list[str] = []
    for path in sorted(CORPUS.rglob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            if b'"type":"assistant"' not in line:
                continue
            try:
                content = json.loads(line)["message"]["content"]
            except (ValueError, KeyError, TypeError):
                continue
            blocks = content if isinstance(content, list) else []
            found += [block["text"] for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
            if len(found) >= limit:
                return found[:limit]
    return found


if __name__ == "__main__":
    sys.exit(main())
