"""Figures for Prometheus: about the server, never about a person or a conversation."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from backscroll.team.people.context import TeamContext

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

GAUGES = {
    "backscroll_people": ("People who can sign in.", "select count(*) from person where disabled is null"),
    "backscroll_devices": ("Machines that can send.", "select count(*) from device where revoked is null"),
    "backscroll_sent_bytes": ("Bytes that machines have sent.", "select coalesce(sum(sent_bytes), 0) from device"),
    "backscroll_stored_bytes": (
        "Bytes that objects unpack to.",
        "select coalesce(sum(stored_bytes), 0) from device",
    ),
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
    """Answer with all figures, in the text format of Prometheus."""
    context: TeamContext = request.app.state.team

    def run() -> bytes:
        with context.database.transaction() as connection:
            return _text(connection)

    return Response(await run_in_threadpool(run), media_type="text/plain; version=0.0.4; charset=utf-8")


def _text(connection: "Connection") -> bytes:
    from prometheus_client import CollectorRegistry, Gauge, generate_latest
    from prometheus_client.core import CounterMetricFamily, Metric

    registry = CollectorRegistry()
    for name, (description, statement) in GAUGES.items():
        row = connection.execute(statement).fetchone()
        Gauge(name, description, registry=registry).set(float(row[0]) if row else 0)
    waiting = Gauge("backscroll_jobs_by_kind", "Jobs that wait or run, by kind.", ["kind"], registry=registry)
    for kind, count in connection.execute("select kind, count(*) from job group by kind"):
        waiting.labels(kind).set(count)
    totals = connection.execute("select kind, done, failed, seconds from job_total order by kind").fetchall()

    class JobTotals:
        """Totals of jobs, which the database counts for all workers."""

        def collect(self) -> Iterator[Metric]:
            """Yield a family of counters for each column."""
            for column, (name, description) in enumerate(COUNTERS.items(), start=1):
                family = CounterMetricFamily(name, description, labels=["kind"])
                for row in totals:
                    family.add_metric([row[0]], float(row[column]))
                yield family

    registry.register(JobTotals())
    return generate_latest(registry)


COUNTERS = {
    "backscroll_jobs_done": "Jobs that workers have done, by kind.",
    "backscroll_jobs_failed": "Tries of jobs that failed, by kind.",
    "backscroll_job_seconds": "Seconds that workers spent on jobs, by kind.",
}
