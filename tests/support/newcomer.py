"""The newcomer's path as one walk: the README, the tutorial, and the how-tos in the order in which the README has them.

    PYTHON -m tests.support.newcomer FOLDER

Examples on the sample conversations print what their page shows. The other commands run one after the other on a home
of the user's own, in a HOME that was empty before, as a reader would type them: each must end well, or say that it
found nothing. `tests/test_wheel.py` runs this with the Python of an environment that has the wheel, and no checkout.
"""

import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import backscroll
from backscroll.demo import sample
from tests.support.command import run_command
from tests.support.examples import (
    COLUMNS,
    OUTSIDE,
    ROOT,
    Example,
    answer_to,
    calls,
    difference,
    examples,
    on_sample,
)

LINK: Final = re.compile(r"\((docs/(?:how-to/[\w-]+|tutorial)\.md)\)")
OWN: Final = frozenset(
    {"--version", "archive", "blame", "completion", "doctor", "export", "file", "inspect", "keep", "list", "note"}
    | {"pin", "prices", "prompts", "recall", "recalls", "saved", "search", "show", "sql", "stats", "status"}
    | {"tag", "tree", "update"}
)
"""Commands that end by themselves, and need nothing but a home."""
GIVEN: Final = {
    "answer.md": "Because integers can be summed.",
    "report.sql": "select title from v_chats",
    "prompts.json": '{"prompts": []}',
}
"""What is in the files that commands read."""
NOTHING_FOUND: Final = 3


def pages() -> list[Path]:
    """The pages in the order of the walk."""
    readme = ROOT / "README.md"
    found = [ROOT / name for name in dict.fromkeys(LINK.findall(readme.read_text(encoding="utf-8")))]
    found.sort(key=lambda page: page.name != "tutorial.md")
    missing = set((ROOT / "docs" / "how-to").glob("*.md")) - set(found)
    return [readme, *found, *sorted(missing)]


def is_own(example: Example) -> bool:
    """Whether a reader runs it on conversations of their own, and we can do so here."""
    words = list(calls(example.command))
    is_whole = not re.search(r"\b[A-Z]{2,}\b|/mnt/|\d{4}-\d\d-\d\d-|\| backscroll|install ", example.command)
    return len(words) == 1 and is_whole and OWN.issuperset(words[0][:1]) and not _is_only_named(example)


def _is_only_named(example: Example) -> bool:
    """Whether a sentence speaks of a command, without what it needs to run."""
    names = ("archive forget", "archive restore", "search", "show", "show --json")
    return example.command in {f"backscroll {name}" for name in names}


def walk(folder: Path) -> Iterator[str]:
    """Everything that goes wrong on the way."""
    home = folder / "home"
    home.mkdir()
    sample.unpack(sample.PACKED, home / ".claude", folder / "live", datetime.now(UTC))
    own = {name: value for name, value in os.environ.items() if not name.startswith(("BACKSCROLL_", "CLAUDE_", "XDG_"))}
    own |= OUTSIDE | {"HOME": str(home)}
    with on_sample() as demo:
        for page in pages():
            for example in examples(page.read_text(encoding="utf-8")):
                problem = ""
                if example.runs_on_sample:
                    answer = answer_to(example, demo)
                    shown = difference(example.shown, answer.output) if example.shown is not None else ""
                    problem = f"it ended with {answer.code}:\n{answer.output}" if answer.code else shown
                elif is_own(example):
                    (words,) = calls(example.command)
                    given = next((text for name, text in GIVEN.items() if name in example.command), "")
                    done = run_command(*words, given=given, cwd=home, environment=own, columns=COLUMNS)
                    if done.returncode not in (0, NOTHING_FOUND):
                        problem = f"it ended with {done.returncode}:\n{done.stdout}{done.stderr}"
                if problem:
                    yield f"{page.relative_to(ROOT)}: $ {example.command}\n{problem}"


def main() -> int:
    """Walk; print what goes wrong, and which backscroll that was."""
    problems = list(walk(Path(sys.argv[1])))
    sys.stdout.write("\n\n".join([*problems, f"{len(pages())} pages with {backscroll.__file__}\n"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
