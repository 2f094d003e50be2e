"""Pages for signing in and out, for invitations, and for letting a machine in."""

from typing import Final
from urllib.parse import quote, urlencode

from starlette.responses import Response

from backscroll.errors import NothingFound, UsageError
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.team.arrival.devices import approve, deny, waiting
from backscroll.team.pages.parts import field, plain_document, team_document
from backscroll.team.pages.requests import TeamRequest, see
from backscroll.team.people.accounts import Person, find_person, forbids_passwords, person_named, with_password
from backscroll.team.people.failed_sign_ins import LASTS, FailedSignIns, know_browser
from backscroll.team.people.invitations import invited, link_lets_in, set_password, use_link
from backscroll.team.people.passwords import link_for_new_password, must_change_password
from backscroll.team.people.recoveries import (
    begin_recovery_session,
    confirm,
    end_recovery_session,
    open_recovery,
    recovery_of_unproved,
    recovery_with_password,
)
from backscroll.team.people.secrets import SHORTEST_PASSWORD, digest
from backscroll.team.people.sessions import ABSOLUTE, begin_session, end_session

WAITING_PAGE: Final = "/recovery"
"""The only page of an account until it is confirmed."""
OR: Final = el("p", "or with a password", class_="muted or")


def failed_sign_ins_of(request: TeamRequest, handle: str) -> FailedSignIns:
    """Return the failures that count for an attempt with this handle."""
    browser = request.http.cookies.get(request.context.browser_cookie, "")
    return FailedSignIns(request.connection, handle, request.counted_address, browser)


def sign_in(request: TeamRequest) -> Html | Response:
    """Show the sign-in form, or sign in with what it sends."""
    if request.http.method != "POST":
        handle = request.context.demo_links.get(request.get("link"))
        if handle is not None:
            return enter(request, person_named(request.connection, handle), request.get("next", "/"))
        return _sign_in_form(request, request.get("next", "/"))
    handle = request.form.get("handle", "")
    failures = failed_sign_ins_of(request, handle)
    failures.check()
    person = with_password(request.connection, handle, request.form.get("password", ""))
    if person is None:
        waiting = recovery_with_password(request.connection, handle, request.form.get("password", ""))
        if waiting is not None:
            return enter(request, find_person(request.connection, waiting.person)._replace(recovery=waiting.id), "/")
        failures.note_failure()
        return _sign_in_form(request, request.form.get("next", "/"), "The handle or the password is wrong.")
    if person.disabled:
        return _sign_in_form(
            request, request.form.get("next", "/"), "Your account is disabled: ask an administrator to enable it."
        )
    if forbids_passwords(request.connection, person.org):
        return _sign_in_form(
            request,
            request.form.get("next", "/"),
            "Passwords are switched off here: sign in through your organisation.",
        )
    if must_change_password(request.connection, person):
        return see(f"/welcome?link={link_for_new_password(request.connection, person)}")
    return enter(request, person, request.form.get("next", "/"))


def _sign_in_form(request: TeamRequest, after: str, problem: str = "") -> Html:
    if not _any_passwords(request):
        return plain_document(
            "Sign in", _problem(problem), _provider_link(request, next=local_path(after)) or _no_way_in()
        )
    handle = request.form.get("handle", "")[:100]
    form = el(
        "form",
        _problem(problem),
        field("Handle", "handle", value=handle or None, autocomplete="username", required=True, autofocus=not handle,
              autocapitalize="none"),
        field("Password", "password", type="password", autocomplete="current-password", required=True,
              autofocus=bool(handle)),
        el("input", type="hidden", name="next", value=local_path(after)),
        el("button", "Sign in", class_="primary"),
        method="post",
        action="/sign-in",
    )  # fmt: skip
    way = _provider_link(request, next=local_path(after))
    return plain_document("Sign in", way, OR if way else NOTHING, form)


def _problem(problem: str) -> Html:
    return el("p", problem, class_="problem", role="alert") if problem else NOTHING


def _any_passwords(request: TeamRequest) -> bool:
    """Whether there is an organisation whose people sign in with passwords."""
    return request.connection.execute("select 1 from org where not forbids_passwords").fetchone() is not None


def _no_way_in() -> Html:
    return el("p", "Passwords are switched off, and the server was started without an identity provider. Ask its"
              " operator to start it with --oidc-issuer, or to run backscroll server allow-passwords.")  # fmt: skip


def _provider_link(request: TeamRequest, **parameters: str) -> Html:
    """Make the link to the identity provider, if there is one."""
    if request.context.oidc is None:
        return NOTHING
    address = f"/oidc/start?{urlencode(parameters)}"
    return el("p", el("a", "Sign in through your organisation", href=address, class_="button primary"))


def sign_out(request: TeamRequest) -> Response:
    """Sign out: end the session."""
    secret = request.http.cookies.get(request.context.cookie, "")
    end_session(request.connection, secret)
    end_recovery_session(request.connection, secret)
    answer = see("/sign-in")
    answer.delete_cookie(request.context.cookie, path="/", secure=request.context.is_secure, httponly=True)
    return answer


def welcome(request: TeamRequest) -> Html | Response:
    """Show the page of an invitation, and save the password that is chosen there."""
    secret = request.form.get("link") or request.get("link")
    person = invited(request.connection, secret)
    problem = ""
    if forbids_passwords(request.connection, person.org):
        way = _provider_link(request, link=secret) or _no_way_in()
        about = el("p", "Your handle is ", el("strong", person.handle), ".")
        return plain_document(f"Welcome, {person.name}", about, way)
    if request.http.method == "POST":
        try:
            with request.connection.transaction():
                return _choose_password(request, digest(secret))
        except UsageError as error:
            problem = f"{error.message[:1].upper()}{error.message[1:]}."
    form = el(
        "form",
        el("p", "You sign in with the handle ", el("strong", person.handle), "."),
        _before_choosing(request, person, secret),
        el("p", problem, class_="problem", role="alert") if problem else NOTHING,
        el("input", type="hidden", name="link", value=secret),
        el("input", name="username", value=person.handle, autocomplete="username", hidden=True),
        field(f"Choose a password of at least {SHORTEST_PASSWORD} characters", "password", type="password",
              autocomplete="new-password", required=True, minlength=SHORTEST_PASSWORD, autofocus=True),
        el("button", "Save the password and sign in", class_="primary"),
        method="post",
        action="/welcome",
    )  # fmt: skip
    way = _provider_link(request, link=secret)
    title = "Choose a new password" if must_change_password(request.connection, person) else f"Welcome, {person.name}"
    return plain_document(title, way, OR if way else NOTHING, form)


def _before_choosing(request: TeamRequest, person: Person, secret: str) -> Html:
    """Explain how choosing a password differs from a new account."""
    if must_change_password(request.connection, person):
        return el("p", "This server was updated: passwords from before the update could have been read. Do not use the"
                       " old one again.")  # fmt: skip
    if not link_lets_in(request.connection, secret, person):
        return el("p", "This account was used before. The new password shows nothing of it until you confirm that it is"
                       " yours: the next page says how.")  # fmt: skip
    return NOTHING


def _choose_password(request: TeamRequest, link: bytes) -> Response:
    """Use an invitation with a password. For an account in use, an open session of the person confirms it."""
    connection, password = request.connection, request.form.get("password", "")
    person, lets_in = use_link(connection, link)
    if lets_in:
        return enter(request, set_password(connection, person, link, password), "/")
    number = open_recovery(connection, person, link, password=password)
    if request.asker is None or request.asker.id != person.id:
        return enter(request, person._replace(recovery=number), "/")
    confirm(connection, number, person.handle, keeps=digest(request.http.cookies.get(request.context.cookie, "")))
    return see("/account")


def enter(request: TeamRequest, person: Person, after: str, *, by_password: bool = True) -> Response:
    """Begin a session of the person, or of the recovery that has to be confirmed first."""
    browser = request.http.headers.get("user-agent", "")
    waiting = person.recovery or recovery_of_unproved(request.connection, person)
    if waiting:
        secret = begin_recovery_session(request.connection, waiting, browser, by_password=by_password)
    else:
        secret = begin_session(request.connection, person, browser, by_password=by_password)
    answer = see(WAITING_PAGE if waiting else "/account" if person.notices else local_path(after))
    answer.set_cookie(
        request.context.cookie, secret, max_age=round(ABSOLUTE.total_seconds()), path="/",
        secure=request.context.is_secure, httponly=True, samesite="lax",
    )  # fmt: skip
    if by_password and not waiting:
        remember_browser(request, person, answer)
    return answer


def remember_browser(request: TeamRequest, person: Person, answer: Response) -> None:
    """Remember this browser, so that guesses from elsewhere do not slow it down."""
    name = request.context.browser_cookie
    secret = know_browser(request.connection, person.id, request.http.cookies.get(name, ""))
    answer.set_cookie(
        name, secret, max_age=round(LASTS.total_seconds()), path="/", secure=request.context.is_secure, httponly=True,
        samesite="strict",
    )  # fmt: skip


def connect(request: TeamRequest) -> Html | Response:
    """Approve or refuse a machine."""
    code = request.form.get("code") or request.get("code")
    person = request.person
    if request.http.method == "POST" and request.form.get("answer") in ("yes", "no"):
        if request.form["answer"] == "yes":
            approve(request.connection, person, code)
            return see("/devices?connected=1")
        deny(request.connection, person, code)
        return see("/devices")
    problem = ""
    if code:
        try:
            return _ask_about(person, waiting(request.connection, code), code)
        except NothingFound as error:
            problem = f"{error.message[:1].upper()}{error.message[1:]}: {error.hint}."
    form = el(
        "form",
        el("p", problem, class_="problem", role="alert") if problem else NOTHING,
        field("Code shown in the terminal", "code", required=True, autofocus=True, autocomplete="off",
              placeholder="BCDF-GHJK"),
        el("button", "Continue", class_="primary"),
        action="/connect", class_="row-form",
    )  # fmt: skip
    return team_document("Connect a machine", person, "/devices", form)


def _ask_about(person: Person, machine: str, code: str) -> Html:
    question = el(
        "div",
        el("p", "A machine named ", el("strong", machine), " wants to connect. Its terminal shows the code"),
        el("p", code, class_="code"),
        el("p", "Approve it only if your terminal shows the same code. The machine can then send conversations to this"
           " server in your name, and read and remove what it has sent itself, but nothing else."),
        el("form",
           el("input", type="hidden", name="code", value=code),
           el("button", "Approve this machine", name="answer", value="yes", class_="primary"),
           el("button", "Refuse", name="answer", value="no"),
           method="post", action="/connect", class_="buttons"),
        class_="notice",
    )  # fmt: skip
    return team_document("Connect a machine", person, "/devices", question)


def local_path(address: str) -> str:
    """Return an address if it is one of this server, else the first page: a link must not lead to another site."""
    is_local = address.startswith("/") and not address.startswith(("//", "/\\")) and "\\" not in address
    return quote(address, safe="/?=&%:@!$'()*+,;~-._#") if is_local else "/"
