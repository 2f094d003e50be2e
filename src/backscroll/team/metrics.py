"""Figures for Prometheus: about the server, never about a person or a conversation."""

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from backscroll.team.context import TeamContext

if TYPE_CHECKING:
    from backscroll.team.database import Connection

GAUGES = {
    "backscroll_people": ("People who can sign in.", "select count(*) from person where disabled is null"),
    "backscroll_devices": ("Machines that can send.", "select count(*) from device where revoked is null"),
    "backscroll_sent_bytes": ("Bytes that machines have sent.", "select coalesce(sum(sent_bytes), 0) from device"),
    "backscroll_stored_bytes": ("Bytes of objects.", "select coalesce(sum(stored_bytes), 0) from device"),
    "backscroll_jobs": ("Jobs that wait or run.", "select count(*) from job"),
    "backscroll_failing_jobs": (
        "Jobs that have failed and are tried again.",
        "select count(*) from job where problem <> ''",
    ),
    "backscroll_oldest_job_seconds": (
        "Age of the oldest job.",
        "select coalesce(extract(epoch from now() - min(created)), 0) from job",
    ),
    "backscroll_shares": ("Chats that are shared.", "select count(*) from share where revoked is null"),
}


async def metrics(request: Request) -> Response:
    """All figures, in the text format of Prometheus."""
    context: TeamContext = request.app.state.team

    def run() -> bytes:
        with context.database.transaction() as connection:
            return _text(connection)

    return Response(await run_in_threadpool(run), media_type="text/plain; version=0.0.4; charset=utf-8")


def _text(connection: "Connection") -> bytes:
    from prometheus_client import CollectorRegistry, Gauge, generate_latest

    registry = CollectorRegistry()
    for name, (told, statement) in GAUGES.items():
        row = connection.execute(statement).fetchone()
        Gauge(name, told, registry=registry).set(float(row[0]) if row else 0)
    return generate_latest(registry)
