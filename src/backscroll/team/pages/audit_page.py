"""The audit log, for auditors and owners."""

import csv
import io

from starlette.responses import Response

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.team.audit import broken_at, events
from backscroll.team.context import TeamRequest, not_found
from backscroll.team.pages.parts import moment_text, table, team_document

PAGE = 200
MAX_EXPORTED = 1_000_000


def show(request: TeamRequest) -> Html | Response:
    """The newest events, whether the chain is whole, and everything as CSV."""
    person = request.person if request.person.is_auditor else not_found()
    if request.get("format") == "csv":
        return _csv(request)
    before = request.get("before")
    number = int(before) if before.isdecimal() and len(before) < 18 else None
    found = events(request.connection, person.org, before=number, limit=PAGE)
    broken = broken_at(request.connection, person.org)
    said = (
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
        (one.number, moment_text(one.at, is_exact=True), one.actor, one.action, one.about, one.detail) for one in found
    ]
    older = (
        el("p", el("a", "Older events", href=f"/audit?before={found[-1].number}")) if len(found) == PAGE else NOTHING
    )
    return team_document(
        "Audit",
        person,
        "/audit",
        said,
        el("p", el("a", "Download everything as CSV", href="/audit?format=csv", class_="button")),
        table(("#", "When", "Who", "What", "About", "Detail"), rows, "Nothing has happened yet.", "events"),
        older,
        lead="Who did what, and when. It never contains text from a conversation.",
    )


def _csv(request: TeamRequest) -> Response:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("number", "at", "actor", "action", "about", "detail", "sha256"))
    for one in reversed(events(request.connection, request.person.org, limit=MAX_EXPORTED)):
        cells = (one.number, one.at.isoformat(), one.actor, one.action, one.about, one.detail, one.hash.hex())
        writer.writerow(tuple(f"'{cell}" if str(cell)[:1] in "=+-@" else cell for cell in cells))
    headers = {"content-disposition": 'attachment; filename="audit.csv"'}
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)
