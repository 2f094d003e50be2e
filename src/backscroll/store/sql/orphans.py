"""Rows that point to rows which do not exist."""

from typing import Final

from backscroll.store.sql.statements import RowReader, select


def orphans(rows: RowReader) -> list[str]:
    """Return the kinds of orphans with their number of rows; empty if there are none."""
    problems = []
    for what, statement in ORPHANS.items():
        count = select(rows, statement)[0][0]
        if count:
            problems.append(f"{count:,} {what}")
    return problems


ORPHANS: Final = {
    "records without their file": "select count(*) from records where file not in (select id from files)",
    "passages without their record": "select count(*) from blocks"
    " where record is not null and record not in (select id from records)",
    "tool calls without their passage": "select count(*) from calls where id not in (select id from blocks)"
    " or result is not null and result not in (select id from blocks)",
    "files without their chat": "select count(*) from files"
    " where chat is not null and chat not in (select id from chats)",
}
