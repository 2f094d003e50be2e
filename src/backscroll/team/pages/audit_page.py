"""The page with the audit log, for auditors and owners."""

import csv
import io

from starlette.responses import Response

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.team.database.audit import broken_at, events
from backscroll.team.pages.parts import moment_text, table, team_document
from backscroll.team.pages.requests import TeamRequest, not_found

PAGE = 200
MAX_EXPORTED = 1_000_000


def show(request: TeamRequest) -> Html | Response:
    """Show the newest events, and whether the chain is whole; or answer with all events as CSV."""
    person = request.person if request.person.is_auditor else not_found()
    if request.get("format") == "csv":
        return _csv(request)
    before = request.get("before")
    number = int(before) if before.isdecimal() and len(before) < 18 else None
    page = events(request.connection, person.org, before=number, limit=PAGE)
    broken = broken_at(request.connection, person.org)
    chain = (
        el("p", "The hash chain is intact: no event was changed or removed.", class_="notice")
        if broken is None
        else el(
            "p",
            f"The hash chain is broken at event {broken}: it was changed, or an event before it was removed.",
            class_="problem",
            role="alert",
        )
    )
    rows = [
        (event.number, moment_text(event.at, is_exact=True), event.actor, event.action, event.about, event.detail)
        for event in page
    ]
    older = el("p", el("a", "Older events", href=f"/audit?before={page[-1].number}")) if len(page) == PAGE else NOTHING
    return team_document(
        "Audit",
        person,
        "/audit",
        chain,
        el("p", el("a", "Download everything as CSV", href="/audit?format=csv", class_="button")),
        table(("#", "When", "Who", "What", "About", "Detail"), rows, "Nothing has happened yet.", "events"),
        older,
        lead="Who did what, and when. It never contains text from a conversation.",
    )


def _csv(request: TeamRequest) -> Response:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("number", "at", "actor", "action", "about", "detail", "sha256"))
    for event in reversed(events(request.connection, request.person.org, limit=MAX_EXPORTED)):
        cells = (
            event.number,
            event.at.isoformat(),
            event.actor,
            event.action,
            event.about,
            event.detail,
            event.hash.hex(),
        )
        writer.writerow(tuple(f"'{cell}" if str(cell)[:1] in "=+-@" else cell for cell in cells))
    headers = {"content-disposition": 'attachment; filename="audit.csv"'}
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)
