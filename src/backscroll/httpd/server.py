"""The uvicorn configuration of every HTTP server here."""

from typing import Final, Literal

import uvicorn
from starlette.types import ASGIApp

from backscroll.httpd.connections import Connections

PATIENCE: Final = 2
"""Seconds that responses may continue after Ctrl-C."""


def server_config(app: ASGIApp, connections: Connections, *, lifespan: Literal["on", "off"] = "off") -> uvicorn.Config:
    """Return a quiet server over HTTP/1.1 with our limits."""
    return uvicorn.Config(
        app,
        http=connections.protocol(),
        ws="none",
        loop="asyncio",
        lifespan=lifespan,
        access_log=False,  # URLs show what is read and searched, and the first one contains a code
        log_config=None,
        log_level="error",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=PATIENCE,
    )
