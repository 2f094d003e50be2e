"""How every HTTP server here runs uvicorn."""

from typing import Final, Literal

import uvicorn
from starlette.types import ASGIApp

from backscroll.httpd.connections import Connections

PATIENCE: Final = 2
"""How long responses may continue after Ctrl-C, in seconds."""


def server_config(app: ASGIApp, connections: Connections, *, lifespan: Literal["on", "off"] = "off") -> uvicorn.Config:
    """A quiet server over HTTP/1.1 with our limits."""
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
