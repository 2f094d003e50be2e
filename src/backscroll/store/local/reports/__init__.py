"""Questions about the whole library, each a statement with a name.

Every statement may use `:since` and `:until` (microseconds, or null) and `:files` (a JSON array of files that count, or
null for all), and `:ahead`, how many quarters of an hour a zone is ahead of UTC.
"""

from typing import Any, Final

import apsw

from backscroll.store.local.database import select
from backscroll.store.local.reports import cache, context, files, time, tools, usage

STATEMENTS: Final[dict[str, str]] = {
    **usage.STATEMENTS,
    **time.STATEMENTS,
    **tools.STATEMENTS,
    **files.STATEMENTS,
    **context.STATEMENTS,
    **cache.STATEMENTS,
}


def run_report(
    connection: apsw.Connection, name: str, files: str | None, since: int | None, until: int | None, ahead: int
) -> list[tuple[Any, ...]]:
    """The rows of a report."""
    values = {"files": files, "since": since, "until": until, "ahead": ahead}
    return select(connection, STATEMENTS[name], values)
