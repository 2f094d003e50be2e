"""`backscroll completion`: complete commands, options, ids, projects, fields and tags in a shell; and the man page."""

import click

from backscroll.cli.options import global_options
from backscroll.cli.output import write


@click.command("completion")
@click.argument("kind", type=click.Choice(["bash", "zsh", "fish", "man"]))
@global_options(unused=("home", "library", "demo", "json"), instead="it prints a script")
def command(kind: str) -> None:
    """Print a script that lets your shell complete what you type after `backscroll`; or the man page.

    Commands, options, ids of chats, projects, tags and the fields of a query are completed. Ids and names come from the
    library as of its last update; if anything fails, nothing is completed.

    \b
    Examples:
      backscroll completion bash > ~/.local/share/bash-completion/completions/backscroll
      backscroll completion zsh > ~/.zfunc/_backscroll       (with ~/.zfunc in fpath, before compinit)
      backscroll completion fish > ~/.config/fish/completions/backscroll.fish
      backscroll completion man > ~/.local/share/man/man1/backscroll.1
    """
    from backscroll.cli.main import backscroll

    if kind == "man":
        from backscroll.cli.manual import manual

        write(manual(backscroll))
        return
    from backscroll.cli.completion_values import script

    write(script(backscroll, kind))
