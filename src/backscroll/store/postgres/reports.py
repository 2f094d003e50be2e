"""The reports of a store in PostgreSQL."""

from collections.abc import Mapping
from typing import ClassVar

from backscroll.store.sql.reports.stored import STATEMENTS, StoredReports


class PgReports(StoredReports):
    """Runs the statements on some files and a period."""

    statements: ClassVar[Mapping[str, str]] = {
        **STATEMENTS,
        "paths": "select distinct file from blocks where file is not null",
    }
