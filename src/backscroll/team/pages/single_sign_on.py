"""Signing in through an identity provider."""

from starlette.responses import Response

from backscroll.team.context import TeamRequest, not_found, see
from backscroll.team.joining import demand_own_session
from backscroll.team.oidc import REQUEST, OidcProvider
from backscroll.team.pages.sign_in_pages import enter, local_path
from backscroll.team.sessions import person_of_session


def start(request: TeamRequest) -> Response:
    """Send the browser to the provider; what it brings back must come from the same browser."""
    provider = _provider(request)
    session = person_of_session(request.connection, request.http.cookies.get(request.context.cookie, ""))
    demand_own_session(request.connection, request.get("link"), session)
    leave = provider.begin(request.connection, local_path(request.get("next", "/")), request.get("link"))
    answer = see(leave.address)
    answer.set_cookie(
        f"{request.context.cookie}-sign-in", leave.state, max_age=round(REQUEST.total_seconds()), path="/",
        secure=request.context.is_secure, httponly=True, samesite="lax",
    )  # fmt: skip
    return answer


def callback(request: TeamRequest) -> Response:
    """Where the provider sends people back."""
    cookie = request.http.cookies.get(f"{request.context.cookie}-sign-in", "")
    person, after = _provider(request).finish(request.connection, request.get("state"), cookie, request.get("code"))
    answer = enter(request, person, after, by_password=False)
    answer.delete_cookie(f"{request.context.cookie}-sign-in", path="/", secure=request.context.is_secure, httponly=True)
    return answer


def _provider(request: TeamRequest) -> OidcProvider:
    return request.context.oidc or not_found()
