"""Handlers for signing in through an identity provider."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from backscroll.team.pages.requests import TeamRequest, not_found, see
from backscroll.team.pages.sign_in_pages import enter, local_path
from backscroll.team.people.context import TeamContext
from backscroll.team.people.invitations import require_own_session
from backscroll.team.people.oidc import REQUEST, BegunSignIn, OidcProvider
from backscroll.team.people.sessions import person_of_session


def before_start(request: Request, context: TeamContext) -> None:
    """Fetch the addresses of the provider, outside of a transaction."""
    del request
    _provider(context).describe_recently()


def start(request: TeamRequest) -> Response:
    """Send the browser to the provider. The same browser must return with the answer."""
    provider = _provider(request.context)
    session = person_of_session(request.connection, request.http.cookies.get(request.context.cookie, ""))
    require_own_session(request.connection, request.get("link"), session)
    leave = provider.begin(request.connection, local_path(request.get("next", "/")), request.get("link"))
    answer = see(leave.address)
    answer.set_cookie(
        f"{request.context.cookie}-sign-in", leave.state, max_age=round(REQUEST.total_seconds()), path="/",
        secure=request.context.is_secure, httponly=True, samesite="lax",
    )  # fmt: skip
    return answer


def before_callback(request: Request, context: TeamContext) -> tuple[BegunSignIn, dict[str, Any]]:
    """Redeem the code that a browser brings back, outside of a transaction: the provider may take long to answer."""
    provider = _provider(context)
    state, code = (request.query_params.get(name, "") for name in ("state", "code"))
    cookie = request.cookies.get(f"{context.cookie}-sign-in", "")
    with context.database.transaction() as connection:
        begun = provider.come_back(connection, state, cookie)
    return begun, provider.redeem(begun, code)


def callback(request: TeamRequest) -> Response:
    """Sign in a person whom the provider sent back."""
    begun, claims = request.before
    person = _provider(request.context).finish(request.connection, begun, claims)
    answer = enter(request, person, begun.after, by_password=False)
    answer.delete_cookie(f"{request.context.cookie}-sign-in", path="/", secure=request.context.is_secure, httponly=True)
    return answer


def _provider(context: TeamContext) -> OidcProvider:
    return context.oidc or not_found()
