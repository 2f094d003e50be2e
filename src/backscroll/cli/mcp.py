"""`backscroll mcp`: the MCP server."""

import sys
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import Request, current_request, global_options
from backscroll.cli.output import read_demo_first, write, write_json, write_no_history, write_note
from backscroll.cli.token_options import token_options
from backscroll.errors import NothingFound, UsageError
from backscroll.render.terminal import clean
from backscroll.system import return_freed_memory

if TYPE_CHECKING:
    from backscroll.library import Home
    from backscroll.mcp.transports import StartedMcpServer
    from backscroll.settings import Settings


@click.command("mcp")
@click.option(
    "--http", "over_http", is_flag=True, help="Listen for HTTP on this machine instead of standard input and output."
)
@click.option("--port", type=click.IntRange(1, 65535), metavar="NUMBER", help="With --http. Default: 8421.")
@token_options
@global_options()
def command(over_http: bool, port: int | None, token: str | None) -> None:
    """Serve your chats to Claude Code or any other MCP client, so that it can recall earlier work.

    The client starts it and talks to it over standard input and output. With --http it runs until you stop it, for
    clients on this machine that send the token as `Authorization: Bearer TOKEN`: set BACKSCROLL_TOKEN or use
    --token-file to choose it. Its tools only read. It brings the library up to date in the background.

    \b
    Examples:
      claude mcp add backscroll -- backscroll mcp
      backscroll mcp --http
      backscroll mcp --http --port 9000 --json | jq -r .token
    """
    from backscroll.mcp.pool import RefreshedPool
    from backscroll.mcp.transports import PORT, serve_child, serve_http

    request = current_request()
    if port is not None and not over_http:
        raise UsageError("--port is for --http", "write backscroll mcp --http --port NUMBER")
    settings = request.settings()
    return_freed_memory()
    pool = RefreshedPool(settings, _homes(settings))
    write_no_history(request)
    read_demo_first(request)
    try:
        if over_http:
            serve_http(pool, port=port or PORT, token=token, on_ready=lambda served: _write_address(request, served))
        else:
            if sys.stdin.isatty() and not request.quiet:
                write_note(
                    "An MCP client runs this: claude mcp add backscroll -- backscroll mcp. Press Ctrl-D to stop."
                )
            serve_child(pool, request.end_at_once if request.demo else None)
    finally:
        pool.close()


def _homes(settings: "Settings") -> "list[Home]":
    """Return the homes to read. A missing home is fine: the client that starts us creates it with its first session."""
    from backscroll.library import Home
    from backscroll.library.homes import open_homes

    try:
        return open_homes(settings)
    except NothingFound as error:
        write_note(f"backscroll: {clean(error.message)}\n  next: {clean(error.hint)}")
        return [Home(path.expanduser().resolve()) for path in settings.homes]


def _write_address(request: Request, served: "StartedMcpServer") -> None:
    if request.json:
        write_json({"url": served.url, "token": served.token})
    else:
        write(served.url)
        write(served.token)
    sys.stdout.flush()
    if not request.quiet:
        write_note("Clients send the second line as Authorization: Bearer TOKEN. Press Ctrl-C to stop.")
