"""Responses to refused requests: JSON for the API, a page for browsers."""

from http import HTTPStatus

from starlette.responses import HTMLResponse, Response

from backscroll.httpd.guard import Refusal, RequestHead, refuse_in_plain_text
from backscroll.render.html.element import el, join, trusted
from backscroll.web.api.errors import PREFIX, problem_response


def refuse(request: RequestHead, refusal: Refusal) -> Response:
    """Return the response to a request that the guard refuses."""
    if request.path.startswith(PREFIX):
        return problem_response(refusal, refusal.status, refusal.headers)
    if refusal.status != HTTPStatus.UNAUTHORIZED or request.method != "GET":
        return refuse_in_plain_text(request, refusal)
    # A browser that follows a link from another site, such as webmail, does not send its cookie. This page does.
    page = join([
        trusted("<!doctype html>\n"),
        el("html",
           el("head",
              el("meta", charset="utf-8"),
              el("meta", name="viewport", content="width=device-width, initial-scale=1"),
              el("meta", name="color-scheme", content="light dark"),
              el("title", "backscroll")),
           el("body",
              el("h1", "Key required"),
              el("p", f"{refusal.message[:1].upper()}{refusal.message[1:]}."),
              el("p", f"{refusal.hint[:1].upper()}{refusal.hint[1:]}."),
              el("p", "Have you opened it in this browser before? ",
                 el("a", "Continue", href=request.address_without_code))),
           lang="en"),
    ])  # fmt: skip
    return HTMLResponse(page, refusal.status, refusal.headers)
