"""Output of `backscroll prompts`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.output import heading, write
from backscroll.cli.paging import width
from backscroll.render.layout import Column
from backscroll.render.tables import fit
from backscroll.render.terminal import clean, clean_line, plural

if TYPE_CHECKING:
    from backscroll.library.prompts.prompt import SavedPrompt


def prompt_as_json(prompt: "SavedPrompt", runs: int | None = None) -> dict[str, Any]:
    """Return a prompt without its text. `runs` are those of its slash command in the chats."""
    return {
        "name": prompt.name,
        "description": prompt.description,
        "tags": prompt.tags,
        "variables": list(prompt.variables),
        "uses": prompt.uses + (runs or 0),
        "filled": prompt.uses,
        **({"commands": runs} if runs is not None else {}),
        "last_filled": prompt.used or None,
        "created": prompt.created or None,
        "changed": prompt.changed or None,
        "source": {"chat": prompt.source.chat, "message": prompt.source.message} if prompt.source else None,
    }


def write_prompts(prompts: Sequence["SavedPrompt"], runs: Mapping[str, int]) -> None:
    """Print a table of prompts."""
    columns = [Column("PROMPT"), Column("USES", True), Column("TAGS"), Column("ABOUT")]
    rows = [
        (prompt.name, prompt.uses + runs.get(prompt.key, 0), ", ".join(prompt.tags), prompt.description or prompt.text)
        for prompt in prompts
    ]
    head, *lines = fit(columns, rows, width()).lines
    write(heading(head))
    for line in lines:
        write(line)


def write_prompt(prompt: "SavedPrompt", runs: int) -> None:
    """Print a prompt and its facts."""
    about = f"  {clean_line(prompt.description)}" if prompt.description else ""
    write(heading(clean_line(prompt.name)) + about)
    if prompt.tags:
        write(f"tags: {', '.join(map(clean_line, prompt.tags))}")
    if prompt.variables:
        write(f"variables: {', '.join(map(clean_line, prompt.variables))}")
    if prompt.source:
        write(f"from: {clean_line(prompt.source.chat[:8])}/{clean_line(prompt.source.message[:8])}")
    write(
        f"used: {plural(prompt.uses + runs, 'time')}"
        + (f", {runs:,} of them as /{clean_line(prompt.name)}" if runs else "")
    )
    click.echo()
    write(clean(prompt.text))
