"""The options that set the token of a server."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from backscroll.errors import UsageError


def token_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a `token` to a command: from --token-file, else from the environment, else None."""

    @click.option("--token", hidden=True, help="Removed; use --token-file.")
    @click.option(
        "--token-file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Read the token from this file, which only you may read. Default: $BACKSCROLL_TOKEN, else a random one.",
    )
    @wraps(command)
    def with_token(*arguments: Any, token: str | None, token_file: Path | None, **options: Any) -> Any:  # noqa: ANN401
        from backscroll.httpd.keys import OTHER_WAYS, chosen_token

        if token is not None:
            raise UsageError("--token was removed: other users of this machine could read it", OTHER_WAYS)
        return command(*arguments, token=chosen_token(token_file), **options)

    return with_token
