"""Reports of the local store."""

from backscroll.store.local.faults import translates_all_errors
from backscroll.store.sql.reports.stored import StoredReports


@translates_all_errors
class LocalReports(StoredReports):
    """Runs the statements on some files and a period."""
