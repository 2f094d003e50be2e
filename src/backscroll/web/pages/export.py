"""Export a chat as a file."""

from typing import Final, get_args
from urllib.parse import quote

from starlette.responses import Response

from backscroll.errors import UsageError
from backscroll.library.sharing.share import redactor, rows_of, share
from backscroll.render.html.export import Format, exported
from backscroll.web.export_assets import export_assets
from backscroll.web.requests import PageRequest

KINDS: Final = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
}
REDACTED: Final = frozenset({"html", "md"})
"""Formats made for others to read: secrets are masked unless `redact=0` is given."""


def show(request: PageRequest) -> Response:
    """The file, as a download."""
    form = request.get("format", "html")
    if form not in KINDS:
        raise UsageError(f"unknown format {form}", f"use one of {', '.join(KINDS)}")
    stored = request.library.find(request.path("chat"))
    hiding = redactor() if request.get("redact", "1" if form in REDACTED else "0") != "0" else None
    if form == "jsonl":
        content = b"".join(rows_of(request.library, stored, hiding))
    else:
        shared = share(request.library, stored, hiding)
        kind = next(one for one in get_args(Format) if one == form)
        branch = request.number("branch", 1, least=1)
        content = "".join(exported(shared, kind, export_assets(), branch=branch)).encode("utf-8", "replace")
    name = f"{quote(stored.overview.id[:8], safe='')}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=KINDS[form], headers=headers)
