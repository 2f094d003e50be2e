"""`backscroll demo`: try it on sample conversations, in the browser."""

import os
from typing import TYPE_CHECKING

import click

from backscroll.cli.open import write_address
from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import read_demo_first
from backscroll.render.cells import cut
from backscroll.render.terminal import clean_line

if TYPE_CHECKING:
    from backscroll.demo.live import LivePlayer
    from backscroll.web.server import StartedViewer

PROMPT_CELLS = 60


@click.command("demo")
@click.option("--port", type=click.IntRange(1, 65535), metavar="NUMBER", help="Default: 8420, or the next free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--speed", type=click.FloatRange(min=0.1, max=1000), default=1.0, metavar="NUMBER",
    help="How fast the live session is played; 2 is twice as fast.",
)  # fmt: skip
@global_options()
def command(port: int | None, no_browser: bool, speed: float) -> None:
    """Open the viewer on sample conversations, and play one of them live.

    The samples and their library live in a temporary folder, which is removed when you stop the demo. Your own Claude
    Code folder, library and settings are neither read nor changed. To run other commands on the same conversations, use
    --demo: `backscroll --demo search 'flaky test'`.

    \b
    Examples:
      backscroll demo
      backscroll demo --speed 3
      backscroll demo --no-browser --port 9000
    """
    from backscroll.demo.live import LivePlayer
    from backscroll.library.homes import open_homes
    from backscroll.web.server import serve
    from backscroll.web.state import ViewerState

    request = current_request()
    request.demo = True
    player = LivePlayer(request.room(), speed=speed)
    settings = request.settings()
    homes = open_homes(settings)
    read_demo_first(request)
    state = ViewerState(settings, homes)

    def on_ready(served: "StartedViewer") -> None:
        token = served.access.keys.token if served.access.needs_key else None
        write_address(
            request,
            served.url,
            served.link(),
            os.getpid(),
            token,
            browser=not no_browser,
            another="start the demo again for a new one",
            notes=[_live_note(player), "Press Ctrl-C to stop the demo and remove its files."],
        )
        player.start()

    try:
        serve(state, port=port, on_ready=on_ready)
    finally:
        player.stop()
        state.close()


def _live_note(player: "LivePlayer") -> str:
    minutes, seconds = divmod(round(player.seconds), 60)
    prompt = cut(clean_line(player.prompt), PROMPT_CELLS)
    return f"Live, for the next {minutes}:{seconds:02} minutes: “{prompt}”"
