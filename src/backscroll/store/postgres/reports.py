"""Reports of PostgreSQL."""

from collections.abc import Mapping
from typing import ClassVar

from backscroll.store.sql.reports.stored import STATEMENTS, StoredReports


class PgReports(StoredReports):
    """Runs the statements about some files and a time."""

    statements: ClassVar[Mapping[str, str]] = {
        **STATEMENTS,
        "paths": "select distinct file from blocks where file is not null",
    }
