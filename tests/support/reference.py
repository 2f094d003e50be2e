"""The reference of all commands and options, made from the commands themselves: docs/reference/commands.md."""

import inspect
from pathlib import Path

import click

from backscroll.cli.main import backscroll
from backscroll.cli.options import UnusedOption

FILE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def reference() -> str:
    """The whole page."""
    context = click.Context(backscroll, info_name="backscroll", **backscroll.context_settings)
    intro = (
        "Made from the commands by `./scripts/write-reference`. Every command takes the options below, before or after"
    )
    pages = [f"# Commands\n\n{intro} its name,\nunless it says otherwise.\n", _options(backscroll, context)]
    pages += _pages(backscroll, context, _names(backscroll, context))
    return "\n".join(page.rstrip() for page in pages) + "\n"


def _pages(group: click.Group, context: click.Context, known: frozenset[str]) -> list[str]:
    """A section for each command, those inside a command right behind it."""
    pages = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inside = click.Context(command, info_name=name, parent=context)
        usage = f"{inside.command_path} {' '.join(command.collect_usage_pieces(inside))}"
        own = _options(command, inside, leave_out=known)
        pages.append(f"\n## `{inside.command_path}`\n\n```\n{usage}\n```\n\n{_help(command)}\n{own}{_unused(command)}")
        if isinstance(command, click.Group):
            pages += _pages(command, inside, known)
    return pages


def _help(command: click.Command) -> str:
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(_paragraph(paragraph) for paragraph in paragraphs)


def _paragraph(text: str) -> str:
    if not text.startswith("\b\n"):
        return text
    title, *lines = text.removeprefix("\b\n").splitlines()
    return "\n".join([title, "", "```sh", *(line.strip() for line in lines), "```"])


def _options(command: click.Command, context: click.Context, leave_out: frozenset[str] = frozenset()) -> str:
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        is_help = "--help" in parameter.opts and command is not backscroll  # click adds it when a command has run
        if record and isinstance(parameter, click.Option) and record[0] not in leave_out and not is_help:
            rows.append(f"| `{record[0]}` | {record[1]} |")
    return "\n".join(["", "| option | |", "|---|---|", *rows, ""]) if rows else ""


def _unused(command: click.Command) -> str:
    names = [f"`{option.opts[0]}`" for option in command.params if isinstance(option, UnusedOption)]
    return f"\nDoes not take {', '.join(names)}.\n" if names else ""


def _names(command: click.Command, context: click.Context) -> frozenset[str]:
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    return frozenset(record[0] for record in records if record)


if __name__ == "__main__":
    FILE.write_text(reference(), encoding="utf-8")
