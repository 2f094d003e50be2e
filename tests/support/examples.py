"""The examples in the documents: what a reader can repeat word for word, because it runs on the sample conversations.

A block in the language `console` has commands, each after `$ `, and below each what it prints on a terminal. A line `…`
stands for lines that are left out, a `…` at the end of a line for the rest of it. A block in the language `sh` has
commands without their output. `./scripts/write-examples` writes the outputs into the pages.
"""

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from backscroll.demo.sandbox import open_sandbox
from tests.support.command import run_command

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md"), *ROOT.glob("deploy/*.md")]
)
COLUMNS: Final = 100
LONGEST: Final = 110
"""A line of output that is longer is cut in the page."""
OUTSIDE: Final = {"TZ": "UTC", "NO_COLOR": "1", "PAGER": "cat"}
"""What else an output depends on."""
REST: Final = "…"
PROMPT: Final = "$ "

BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE: Final = re.compile(r"(?<!`)`((?:\./scripts/)?backscroll [a-z-][^`]*)`(?!`)")
PLACEHOLDER: Final = re.compile(r"\b[A-Z]{3,}$")
WHEN: Final = re.compile(
    r"""
    \d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?)?   # a date, with its time
    | \b\d\d:\d\d(?::\d\d)?\b                                # a time
    | \b\d+\ (?:d|h|min)\ ago\b | \bjust\ now\b | \byesterday\b
    """,
    re.VERBOSE,
)

Run = Callable[[Sequence[str]], "ExampleAnswer"]


@dataclass(frozen=True)
class ExampleAnswer:
    """What a command printed, and how it ended."""

    code: int
    output: str


@dataclass(frozen=True)
class Example:
    """A command in a page, with the lines that the page shows below it; None where it shows none."""

    command: str
    shown: tuple[str, ...] | None

    @property
    def runs_on_sample(self) -> bool:
        """Whether a reader can repeat it."""
        is_whole = not PLACEHOLDER.search(self.command)
        return is_whole and self.command.removeprefix("./scripts/").startswith("backscroll --demo ")


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a page: their language, and what is in them."""
    for found in BLOCK.finditer(text):
        yield found[1], found[2]


def examples(text: str) -> Iterator[Example]:
    """Every command in a page: in its blocks, and those that a sentence names."""
    for language, block in blocks(text):
        if language == "console":
            yield from _with_output(block)
        elif language == "sh":
            for line in block.replace("\\\n", " ").splitlines():
                if list(calls(line)):
                    yield Example(line, None)
    for command in INLINE.findall(BLOCK.sub("", text)):
        yield Example(command, None)


def calls(line: str) -> Iterator[list[str]]:
    """The arguments of each call of backscroll in a line of shell; what it is piped into is not ours."""
    if "backscroll" not in line:
        return
    words = shlex.shlex(line, posix=True, punctuation_chars="|&;()<>")
    words.whitespace_split = True
    words.commenters = "#"
    command: list[str] = []
    for word in [*words, ";"]:
        if set(word) <= set("|&;()<>"):
            yield from _call(command)
            command = [word] if word in ("<", ">", ">>") else []
        else:
            command.append(word)


def _call(words: list[str]) -> Iterator[list[str]]:
    while words and re.match(r"\w+=", words[0]):
        words = words[1:]
    if "--" in words and words[0] == "claude":
        words = words[words.index("--") + 1 :]
    if words[:1] and words[0] in ("backscroll", "./scripts/backscroll"):
        yield words[1:]
    elif words[:3] == ["python", "-m", "backscroll"]:
        yield words[3:]


def _with_output(block: str) -> Iterator[Example]:
    command, shown = None, list[str]()
    for line in [*block.splitlines(), PROMPT]:
        if line.startswith(PROMPT):
            if command is not None:
                yield Example(command, tuple(shown))
            command, shown = line.removeprefix(PROMPT), []
        elif command is None:
            raise ValueError(f"output without a command: {line}")
        else:
            shown.append(line)


@contextmanager
def on_sample() -> Iterator[Run]:
    """Runs commands on the sample, all in one demo: that is made once, and not for each command."""
    with open_sandbox(datetime.now(UTC)) as room:
        own = os.environ | room.environment | OUTSIDE

        def run(arguments: Sequence[str]) -> ExampleAnswer:
            words = [word for word in arguments if word != "--demo"]
            with TemporaryDirectory() as folder:
                done = run_command(*words, cwd=Path(folder), environment=own | {"HOME": folder}, columns=COLUMNS)
            return ExampleAnswer(done.returncode, done.stdout)

        run(["update", "--quiet"])  # else the first example shows how far it is
        yield run


def answer_to(example: Example, run: Run) -> ExampleAnswer:
    """What the one call in an example prints."""
    (arguments,) = calls(example.command)
    return run(arguments)


def difference(shown: Sequence[str], output: str) -> str:
    """How the output differs from what the page shows, apart from dates, times and ages; empty if it does not."""
    expected = _comparable(shown)
    if _matches(expected, _comparable(output.splitlines())):
        return ""
    printed = _comparable(_excerpt(shown, output))
    return "\n".join(unified_diff(expected, printed, "in the page", "printed", lineterm=""))


def _comparable(lines: Sequence[str]) -> list[str]:
    """The lines without trailing spaces, empty ones at the end, and with one word for every date, time and age."""
    return [WHEN.sub("WHEN", line.rstrip()) for line in "\n".join(lines).rstrip().splitlines()]


def _matches(expected: Sequence[str], actual: Sequence[str]) -> bool:
    if not expected:
        return not actual
    if expected[0] == REST:
        return any(_matches(expected[1:], actual[start:]) for start in range(len(actual) + 1))
    return bool(actual) and _is_line(expected[0], actual[0]) and _matches(expected[1:], actual[1:])


def _is_line(expected: str, actual: str) -> bool:
    return expected == actual or (expected.endswith(REST) and actual.startswith(expected.removesuffix(REST)))


def refreshed(text: str, run: Run) -> str:
    """The page with the output that each example has now. What was left out is left out again."""

    def written(block: re.Match[str]) -> str:
        if block[1] != "console":
            return block[0]
        lines = []
        for example in _with_output(block[2]):
            assert example.shown is not None
            answer = answer_to(example, run)
            if answer.code:
                raise ValueError(f"{example.command}\n{answer.output}")
            same = not difference(example.shown, answer.output)
            lines += [PROMPT + example.command, *(example.shown if same else _excerpt(example.shown, answer.output))]
            if not same and example.shown[-1:] == ("",):
                lines.append("")
        return "\n".join(["```console", *lines, "```"])

    return BLOCK.sub(written, text)


def _excerpt(shown: Sequence[str], output: str) -> list[str]:
    """The output, cut where the page cuts it: as many lines before and after `…` as there were."""
    lines = [line.rstrip() for line in output.rstrip().splitlines()]
    lines = [line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + REST for line in lines]
    kept = "\n".join(shown).rstrip().splitlines()
    if REST not in kept:
        return lines
    before, after = kept.index(REST), kept[::-1].index(REST)
    return [*lines[:before], REST, *lines[max(len(lines) - after, before) :]]


if __name__ == "__main__":
    pages = [Path(name) for name in sys.argv[1:]] or PAGES
    with on_sample() as run:
        for page in pages:
            before = page.read_text(encoding="utf-8")
            if (after := refreshed(before, run)) != before:
                page.write_text(after, encoding="utf-8")
                sys.stdout.write(f"{page}\n")
