"""The OpenAPI 3.1 description, generated from the endpoints and their types."""

from functools import cache
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from backscroll import __version__
from backscroll.web.api.endpoints import ENDPOINTS, Endpoint
from backscroll.web.api.errors import Error
from backscroll.web.requests import STATUS

BASE: Final = "/api/v1"
REFERENCE: Final = "#/components/schemas/{name}"


async def describe(_: Request) -> Response:
    """Return the description as JSON."""
    return Response(msgspec.json.encode(description()), media_type="application/json")


@cache
def description() -> dict[str, Any]:
    """Build the whole description. Callers must not change it."""
    shapes = [endpoint.gives for endpoint in ENDPOINTS]
    schemas, components = msgspec.json.schema_components([*shapes, Error], ref_template=REFERENCE)
    *parameters, error = schemas
    paths = {
        endpoint.path: {"get": _operation(endpoint, schema, error)}
        for endpoint, schema in zip(ENDPOINTS, parameters, strict=True)
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "backscroll",
            "version": __version__,
            "summary": "Every conversation you had with Claude Code.",
            "description": "Responses are what the command line prints with --json. The API is read-only.",
            "license": {"name": "MIT"},
        },
        "servers": [{"url": BASE}],
        "security": [{}, {"token": []}],
        "paths": {**paths, "/events": {"get": EVENTS}, "/openapi.json": {"get": ITSELF}},
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(endpoint: Endpoint, schema: dict[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    failures = {str(int(STATUS[kind])): _answer(HTTPStatus(STATUS[kind]).phrase, error) for kind in endpoint.fails}
    return {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": list(_parameters(endpoint)),
        "responses": {"200": _answer(endpoint.summary, schema), **failures, "default": _answer("Refused", error)},
    }


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    _, components = msgspec.json.schema_components([endpoint.takes], ref_template=REFERENCE)
    shape = components[endpoint.takes.__name__]
    return [_parameter(endpoint, name, dict(schema), shape) for name, schema in shape["properties"].items()]


def _parameter(endpoint: Endpoint, name: str, schema: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    described = {"description": text} if (text := schema.pop("description", "")) else {}
    return {
        "name": name,
        "in": "path" if f"{{{name}}}" in endpoint.path else "query",
        "required": name in shape.get("required", ()),
        **described,
        "schema": schema,
    }


def _answer(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}


EVENTS: Final = {
    "operationId": "events",
    "summary": "Changes as they happen: server-sent events.",
    "description": (
        '`hello` starts the stream; `{"again": true}` means that events may have been missed: fetch everything again.'
        ' `changed` has `{"chats": [ids]}`: fetch what is new in them. During an update, `progress` has'
        ' `{"what", "done", "total", "unit"}`. A client that reconnects with Last-Event-ID misses nothing.'
    ),
    "parameters": [{"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string"}}],
    "responses": {
        "200": {"description": "The stream", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    },
}
ITSELF: Final = {
    "operationId": "openapi",
    "summary": "This description.",
    "responses": {
        "200": {"description": "This description.", "content": {"application/json": {"schema": {"type": "object"}}}}
    },
}
