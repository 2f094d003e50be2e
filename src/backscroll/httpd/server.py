"""How uvicorn is run, for every door."""

from typing import Final, Literal

import uvicorn
from starlette.types import ASGIApp

from backscroll.httpd.connections import Connections

PATIENCE: Final = 2
"""How long an answer may go on after Ctrl-C, in seconds."""


def server_config(app: ASGIApp, connections: Connections, *, lifespan: Literal["on", "off"] = "off") -> uvicorn.Config:
    """A quiet server over HTTP/1.1 with our limits."""
    return uvicorn.Config(
        app,
        http=connections.protocol(),
        ws="none",
        loop="asyncio",
        lifespan=lifespan,
        access_log=False,  # addresses say what is read and searched, and the first one has a code in it
        log_config=None,
        log_level="error",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=PATIENCE,
    )
