"""The part of Account where one changes one's own password."""

from collections.abc import Mapping

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.team.context import TeamRequest
from backscroll.team.pages.parts import field
from backscroll.team.passwords import password_of
from backscroll.team.secrets import LONGEST_PASSWORD, SHORTEST_PASSWORD


def password_form(request: TeamRequest, wrong: Mapping[str, str]) -> Html:
    """The form, or how the person signs in without a password. `wrong` says what is wrong, by the name of the field."""
    if why := password_of(request.connection, request.person).why_none:
        return el("p", why)
    return el(
        "form",
        el("p", "Your other sessions end when you change it. Keys and machines keep working."),
        el("input", name="username", value=request.person.handle, autocomplete="username", hidden=True),
        _field("Current password", "current", wrong, autocomplete="current-password"),
        _field(f"New password, {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters", "new", wrong,
               autocomplete="new-password", minlength=SHORTEST_PASSWORD),
        _field("New password again", "again", wrong, autocomplete="new-password"),
        el("button", "Change the password", class_="primary"),
        method="post", action="/account/password", class_="column-form",
    )  # fmt: skip


def _field(label: str, name: str, wrong: Mapping[str, str], **attributes: str | int) -> Html:
    problem = wrong.get(name, "")
    told = el("p", problem, class_="problem", id=f"{name}-problem") if problem else NOTHING
    return el(
        "div",
        field(label, name, type="password", required=True, aria_invalid="true" if problem else None,
              aria_describedby=f"{name}-problem" if problem else None, autofocus=bool(problem), **attributes),
        told,
    )  # fmt: skip
