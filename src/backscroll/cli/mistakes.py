"""Mistakes on the command line: click's message, and the name that was probably meant."""

import click

from backscroll.cli.groups import UnknownCommand
from backscroll.errors import UsageError

GROUPS = ("stats", "archive")
"""Groups whose commands people type without the name of the group."""


def usage_error(error: click.ClickException) -> UsageError:
    """Return the error in our form: what is wrong, and in the hint what was probably meant."""
    context: click.Context | None = getattr(error, "ctx", None)
    path = context.command_path if context else "backscroll"
    if isinstance(error, UnknownCommand) and context is not None:
        return UsageError(error.message, _hint(_meant_command(context, error.name), path))
    if isinstance(error, click.NoSuchOption):
        meant = _meant_option(context, error.option_name)
        hint = _hint(meant, path)
        if context is not None and any(param.name == "words" for param in context.command.params):
            hint += f"; to search for it, put -- before the words: {path} -- {error.option_name}"
        return UsageError(f"there is no option {error.option_name}", hint)
    return UsageError(error.format_message(), f"see {path} --help")


def _hint(meant: str | None, path: str) -> str:
    return f"did you mean {meant}? See {path} --help" if meant else f"see {path} --help"


def _meant_command(context: click.Context, typed: str) -> str | None:
    from backscroll.query.fields import nearest

    group = context.command
    if not isinstance(group, click.Group):
        return None
    names = group.list_commands(context)
    # `stats` is much more likely than `status` for a person who typed `stat`: the start of a word counts first.
    begun = [name for name in names if len(typed) >= 3 and name.startswith(typed.lower())]
    if meant := begun[0] if begun else nearest(typed.lower(), names):
        return f"{context.command_path} {meant}"
    for below in GROUPS:
        inner = group.get_command(context, below)
        if isinstance(inner, click.Group) and typed in inner.list_commands(context):
            return f"{context.command_path} {below} {typed}"
    return None


def _meant_option(context: click.Context | None, typed: str) -> str | None:
    from backscroll.query.fields import nearest

    if context is None:
        return None
    # Those of the command itself first: of two that are equally near, they are more likely meant.
    names = [name for option in context.command.params for name in option.opts if name.startswith("--")]
    begun = [name for name in names if len(typed) >= 5 and name.startswith(typed.lower())]
    return begun[0] if begun else nearest(typed.lower(), names)
