"""The man page, from the help of the commands."""

import re
from collections.abc import Iterator

import click

from backscroll import __version__


def manual(program: click.Group) -> str:
    """Return the page in roff, for `man`."""
    context = click.Context(program, info_name="backscroll")
    lines = [
        f'.TH BACKSCROLL 1 "" "backscroll {__version__}"',
        ".SH NAME",
        "backscroll \\- keep, find, read and count every conversation you had with Claude Code",
        ".SH SYNOPSIS",
        ".B backscroll",
        "[OPTIONS] COMMAND [ARGUMENTS]",
        ".SH DESCRIPTION",
        *_help(program),
        ".SH OPTIONS",
        "Every command takes these, before or after its name.",
        *_options(program, context, set()),
        ".SH COMMANDS",
    ]
    common = {option.name or "" for option in program.params}
    for command, inner in _commands(program, context):
        usage = " ".join(command.collect_usage_pieces(inner))
        lines += [f".SS {_text(inner.command_path)} {_text(usage)}", *_help(command), *_options(command, inner, common)]
    lines += [".SH SEE ALSO", "The guides and the reference come with the source of backscroll, below docs/."]
    return "\n".join(lines)


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _commands(command, inner)


def _help(command: click.Command) -> Iterator[str]:
    """Yield paragraphs; those after a `\\b` line for line."""
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        if lines[:1] == ["\b"]:
            yield from (".PP", ".nf", *map(_text, lines[1:]), ".fi")
        else:
            yield from (".PP", _text(" ".join(lines)))


def _options(command: click.Command, context: click.Context, left_out: set[str]) -> Iterator[str]:
    for option in command.params:
        record = option.get_help_record(context)
        if isinstance(option, click.Option) and record is not None and option.name not in left_out:
            yield from (".TP", f".B {_text(record[0])}", _text(record[1]))


def _text(text: str) -> str:
    """Return a line of text in roff, in which a leading dot or quote would be a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text[:1] in (".", "'") else text
