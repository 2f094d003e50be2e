"""Every example in the documents runs on the sample conversations, and prints what the page shows."""

import os
import re
from collections.abc import Iterator

import click
import pytest

from backscroll.cli.main import backscroll
from backscroll.cli.options import Request
from tests.support.command import run_command
from tests.support.examples import (
    COLUMNS,
    OUTSIDE,
    PAGES,
    ROOT,
    ExampleAnswer,
    Run,
    answer_to,
    blocks,
    calls,
    difference,
    examples,
    on_sample,
    refreshed,
)
from tests.support.newcomer import is_own, pages

REFRESH = "run ./scripts/write-examples, and read what it changed"
TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
WALKED = {str(page.relative_to(ROOT)) for page in pages()}
"""What the newcomer's walk in `tests/test_wheel.py` runs."""
ON_SAMPLE = [
    name for name, text in TEXTS.items() if name not in WALKED and any(one.runs_on_sample for one in examples(text))
]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with on_sample() as run:
        yield run


@pytest.mark.parametrize("page", ON_SAMPLE)
def test_examples_print_what_the_page_shows(page: str, run: Run) -> None:
    wrong = []
    for example in examples(TEXTS[page]):
        if not example.runs_on_sample:
            continue
        answer = answer_to(example, run)
        if answer.code != 0:
            wrong.append(f"$ {example.command}\nended with {answer.code}:\n{answer.output}")
        elif example.shown is not None and (found := difference(example.shown, answer.output)):
            wrong.append(f"$ {example.command}\n{found}")
    assert not wrong, "\n\n".join([f"{page}: {REFRESH}", *wrong])


def test_a_reader_who_types_it_sees_the_same(run: Run) -> None:
    """The examples share one demo; with --demo each command makes one of its own."""
    typed = run_command("--demo", "blame", "shop/export.py", environment=os.environ | OUTSIDE, columns=COLUMNS)
    notice, _, output = typed.stdout.partition("\n")
    assert notice == "demo: sample conversations, not your own"
    assert not difference(output.splitlines(), run(["blame", "shop/export.py"]).output)


@pytest.mark.parametrize("page", TEXTS)
def test_only_what_a_reader_can_repeat_has_an_output(page: str) -> None:
    for language, block in blocks(TEXTS[page]):
        if language != "console":
            assert not re.search(r"^\$ ", block, re.MULTILINE), f"the language of this block is console:\n{block}"
    for example in examples(TEXTS[page]):
        if example.shown is not None:
            assert example.runs_on_sample, f"without --demo nothing can check the output of: {example.command}"


@pytest.mark.parametrize("page", TEXTS)
def test_every_command_and_option_in_the_documents_exists(page: str) -> None:
    for example in examples(TEXTS[page]):
        for arguments in calls(example.command):
            parse(example.command, arguments)


def parse(line: str, arguments: list[str]) -> None:
    """Have click parse a command, without running it: its options exist, and choices are ones that there are."""
    command: click.Command | None = backscroll
    context: click.Context | None = None
    try:
        while command is not None:
            context = click.Context(command, parent=context, obj=Request(), **command.context_settings)
            options, arguments, _ = command.make_parser(context).parse_args(list(arguments))
            for parameter in command.params:
                value = options.get(parameter.name)
                if isinstance(parameter.type, click.Choice) and isinstance(value, str):
                    parameter.type.convert(value, parameter, context)
            if not isinstance(command, click.Group) or not arguments:
                return
            name, *arguments = arguments
            if name.isupper():  # COMMAND stands for any of them
                return
            command = command.get_command(context, name)
    except click.UsageError as error:
        pytest.fail(f"{line}\n{error.format_message()}")
    pytest.fail(f"{line}\nThere is no such command.")


def check_shown(shown: str, output: str, *, same: bool) -> None:
    assert (difference(shown.splitlines(), output) == "") is same


def test_dates_times_and_ages_may_differ_and_nothing_else() -> None:
    check_shown("4f8c  2026-01-05 10:00  shop", "4f8c  2027-02-06 23:59  shop\n", same=True)
    check_shown("Title  shop · 59 d ago · 1 match", "Title  shop · 2027-02-06 · 1 match", same=True)
    check_shown("1 d ago", "23 h ago", same=True)
    check_shown("4f8c  2026-01-05 10:00  shop", "4f8d  2026-01-05 10:00  shop", same=False)
    check_shown("3 matches", "4 matches", same=False)
    check_shown("one\ntwo", "one", same=False)
    check_shown("one", "one\ntwo", same=False)


def test_lines_and_ends_of_lines_may_be_left_out() -> None:
    check_shown("one\n…\nfour", "one\ntwo\nthree\nfour", same=True)
    check_shown("one\n…", "one\ntwo", same=True)
    check_shown("one\n…\nfour", "one\ntwo\nthree", same=False)
    check_shown("a long l…", "a long line", same=True)
    check_shown("a long l…", "a short line", same=False)


PAGE = "```console\n$ backscroll --demo list\nold\n…\nold\n\n$ backscroll --demo doctor\n```\n"


def test_outputs_are_written_as_the_page_cuts_them() -> None:
    def run(arguments: object) -> ExampleAnswer:
        return ExampleAnswer(0, "1\n2\n3\n4\n" if arguments == ["--demo", "list"] else "fine\n")

    written = refreshed(PAGE, run)
    assert written == "```console\n$ backscroll --demo list\n1\n…\n4\n\n$ backscroll --demo doctor\nfine\n```\n"
    assert refreshed(written, run) == written


def test_a_call_is_found_anywhere_in_a_line() -> None:
    check_calls("backscroll list -n 3   # the newest", [["list", "-n", "3"]])
    check_calls("make 2>&1 | tail -20 | ./scripts/backscroll recall -", [["recall", "-"]])
    check_calls("TZ=UTC backscroll stats usage --csv > costs.csv", [["stats", "usage", "--csv"]])
    check_calls("claude mcp add backscroll-demo -- backscroll --demo mcp", [["--demo", "mcp"]])
    check_calls("backscroll search 'a | b' && echo backscroll", [["search", "a | b"]])


def check_calls(line: str, expected: list[list[str]]) -> None:
    assert list(calls(line)) == expected


@pytest.mark.parametrize("line", ["backscroll lst", "backscroll list --since-when 3d", "backscroll show --tools ful"])
def test_a_command_that_does_not_exist_is_noticed(line: str) -> None:
    (arguments,) = calls(line)
    with pytest.raises(pytest.fail.Exception):
        parse(line, arguments)


def test_the_newcomers_path_has_every_how_to_and_most_examples() -> None:
    path = [page.relative_to(ROOT).as_posix() for page in pages()]
    assert path[:2] == ["README.md", "docs/tutorial.md"]
    assert len(path) == len(set(path)) > 15
    walked = [one for page in path for one in examples(TEXTS[page])]
    assert sum(one.runs_on_sample for one in walked) > 50
    assert sum(is_own(one) for one in walked if not one.runs_on_sample) > 20
