"""The page until a recovery is confirmed, and the notices about recoveries on Account."""

from datetime import datetime

from starlette.responses import Response

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.team.pages.parts import button, moment_text, plain_document, with_copy
from backscroll.team.pages.requests import TeamRequest, not_found, see
from backscroll.team.people.context import RECOVERY
from backscroll.team.people.recoveries import (
    OPERATOR,
    OWNER_FOR,
    SERVER,
    Recovery,
    confirm,
    dismiss,
    notices_of,
    recovery_of,
    refuse,
)
from backscroll.team.people.secrets import digest


def show(request: TeamRequest) -> Html | Response:
    """Show how to confirm the account, before anything of it is shown."""
    waiting: Recovery | None = request.http.scope.get(RECOVERY)
    if waiting is None:
        return see("/")
    command = f"backscroll connect {request.context.url} --confirm {waiting.code}"
    return plain_document(
        "Confirm that this account is yours",
        el("p", "The account ", el("strong", waiting.handle), " was used before. ", _begun_by(waiting),
           " Nothing in it is shown until it is confirmed. Do one of these:"),
        el(
            "ul",
            el("li", "On a machine that sends to this server in your name, run:",
               with_copy(el("pre", command, class_="command", tabindex=0), command)),
            el("li", "In a browser in which you are still signed in, or sign in with your old password: open ",
               el("strong", "Account"), " and confirm it."),
            _provider(request, waiting),
            _owners(waiting),
            el("li", "Ask the operator of the server to run ",
               el("code", f"backscroll server recover {waiting.handle}"), "."),
            class_="ways",
        ),
        el("p", el("a", "I have confirmed it: continue", href="/", class_="button primary")),
        button("/sign-out", "Sign out"),
        is_wide=True,
    )  # fmt: skip


def _begun_by(waiting: Recovery) -> str:
    if waiting.made_by == SERVER:
        return "This server was updated, and its audit log does not say how you came to sign in this way."
    return f"You opened a link that {waiting.made_by} made."


def _provider(request: TeamRequest, waiting: Recovery) -> Html:
    linked = request.connection.execute(
        "select 1 from person where id = %s and subject is not null and not unproved", (waiting.person,)
    ).fetchone()
    if request.context.oidc is None or linked is None:
        return NOTHING
    way = el("a", "Sign in through your organisation", href="/oidc/start?next=/account")
    return el("li", way, ", as before, and confirm it on ", el("strong", "Account"), ".")


def _owners(waiting: Recovery) -> Html:
    if not waiting.counts_as_owner:
        return NOTHING
    return el("li", f"Ask an owner other than {waiting.made_by}, who has been one for {OWNER_FOR.days} days, to approve"
                    " it under ", el("strong", "People and teams"), ".")  # fmt: skip


def notices(request: TeamRequest) -> Html:
    """Make the notices on Account, which stay until the person dismisses them."""
    recoveries = notices_of(request.connection, request.person)
    return el("div", [_notice(recovery) for recovery in recoveries], class_="recoveries") if recoveries else NOTHING


def _notice(recovery: Recovery) -> Html:
    address = f"/account/recoveries/{recovery.id}"
    yes = button(address, "Confirm: it was me", ("answer", "yes"), about=recovery.made_by,
                 ask="Confirm it? The new password opens this account, and your other sessions end.")  # fmt: skip
    no = button(address, "Refuse", ("answer", "no"), about=recovery.made_by)
    away = button(address, "Dismiss", ("answer", "dismiss"), about=recovery.made_by)
    buttons = [yes, no] if recovery.is_waiting else [no] if recovery.is_unopened else [away]
    return el(
        "div", el("p", _description(recovery)), el("div", buttons, class_="buttons"), class_="notice", role="status"
    )


def _description(recovery: Recovery) -> list[object]:
    """Describe a recovery, and what follows from it."""
    begun: list[object] = [el("strong", _by(recovery)), " made a link for your account on ", _at(recovery.made)]
    if recovery.is_unopened:
        return [*begun, ". It was not opened yet. Refuse it if you did not ask for it."]
    if recovery.opened is None:
        return [*begun, ". It was never opened, and no longer works."]
    opened: list[object] = [*begun, ". It was opened on ", _at(recovery.opened)]
    if recovery.made_by == SERVER:
        opened = ["A sign-in to your account began on ", _at(recovery.made), ", which the audit log could not explain"]
    if recovery.has_password:
        opened.append(", and a new password was chosen")
    if recovery.is_waiting:
        return [*opened, ". It shows nothing of your account unless you confirm it. If this was not you, refuse it."]
    after = "ince then it opens everything in your account."
    if recovery.is_confirmed and recovery.made_by == OPERATOR:
        return [*opened, f". S{after}"]
    if recovery.is_confirmed:
        return [
            *opened,
            ". ",
            el("strong", recovery.decided_by or ""),
            " confirmed it on ",
            _at(recovery.decided),
            f": s{after}",
        ]
    return [*opened, ". It was not confirmed, and showed nothing of your account."]


def _at(when: datetime | None) -> Html:
    return moment_text(when, is_exact=True)


def _by(recovery: Recovery) -> str:
    return "The operator of the server" if recovery.made_by == OPERATOR else recovery.made_by


def answer(request: TeamRequest) -> Response:
    """Confirm or refuse a recovery of the person's own account, or dismiss the notice about it."""
    person, choice = request.person, request.form.get("answer", "")
    recovery = recovery_of(request.connection, person, request.number("recovery"))
    if choice == "yes":
        session = request.http.cookies.get(request.context.cookie, "")
        confirm(request.connection, recovery.id, person.handle, keeps=digest(session))
    elif choice == "no":
        refuse(request.connection, recovery.id, person.handle)
    elif choice == "dismiss":
        dismiss(request.connection, person, recovery.id)
    else:
        not_found()
    return see("/account")
