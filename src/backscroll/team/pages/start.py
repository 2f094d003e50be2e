"""The first page: the viewer's own, or, before anything was sent, how to send something."""

from starlette.responses import Response

from backscroll.render.html.element import Html
from backscroll.team.context import see
from backscroll.web.pages import home
from backscroll.web.requests import PageRequest


def show(request: PageRequest) -> Html | Response:
    """The home page of a person; without a chat of theirs, the page that says how to connect a machine."""
    library = request.library
    if not library.is_indexed or not library.totals().chats:
        return see("/devices")
    return home.show(request)
