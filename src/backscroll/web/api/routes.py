"""The routes of the API, below where it is mounted."""

from typing import Final

from starlette.routing import Route

from backscroll.web.api.endpoints import ENDPOINTS
from backscroll.web.api.openapi import describe
from backscroll.web.events import events

ROUTES: Final = [
    *(endpoint.route() for endpoint in ENDPOINTS),
    Route("/events", events, methods=["GET"], name="api-events"),
    Route("/openapi.json", describe, methods=["GET"], name="api-openapi"),
]
