"""Requests of other machines to forget chats: a section of the settings page with two answers, and a notice above the
chats."""

import threading
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from starlette.responses import RedirectResponse, Response

from backscroll.errors import Busy, NothingFound, UsageError
from backscroll.library.forget_requests import requests_stamp
from backscroll.library.library import Library
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.terminal import clean_line, plural, size
from backscroll.settings import Settings
from backscroll.web.live_updates import LiveUpdates
from backscroll.web.pages.chat_rows import when
from backscroll.web.requests import PageRequest

ACTION: Final = "/settings/forgets"
LISTED: Final = 20
"""Number of chats listed; the two answers to all of them are about every chat."""


def act(request: PageRequest) -> Response:
    """Agree to forget chats, or refuse."""
    from backscroll.library.syncing.forgets import agree, asked_chats, refuse

    settings = request.library.settings
    answer, name = request.form.get("answer", ""), request.form.get("chat", "")
    if answer not in ("agree", "refuse") or not name:
        raise UsageError(f"unknown answer: {answer}", "use the buttons of the settings page")
    chats = [chat for chat in asked_chats(settings) if name in ("all", chat.id)]
    if not chats and name != "all":
        raise NothingFound("no machine asks to forget this chat", "it may have been answered elsewhere")
    if answer == "agree":
        agree(settings, chats)
    else:
        refuse(settings, chats)
    live: LiveUpdates = request.http.app.state.live
    if not live.sync_now() and answer == "agree":
        threading.Thread(target=_forget, args=(settings,), name="forget", daemon=True).start()
    return RedirectResponse("/settings#sync", HTTPStatus.SEE_OTHER)


def asked_section(library: Library) -> Html:
    """Return the chats that wait for an answer."""
    if not requests_stamp(library.settings):
        return NOTHING
    from backscroll.library.syncing.asked_about import subjects_of
    from backscroll.library.syncing.forgets import asked_chats

    chats = asked_chats(library.settings)
    if not chats:
        return NOTHING
    items = []
    for chat, subject in subjects_of(library.settings, chats[:LISTED]):
        where = " · ".join(filter(None, [
            clean_line(subject.project or ""), f"from {', '.join(map(clean_line, chat.machines))}", size(chat.size),
            f"{', '.join(map(clean_line, chat.askers))} asks",
        ]))  # fmt: skip
        items.append(el(
            "li",
            el("p", el("strong", clean_line(subject.title)), " ", when(subject.last_active)),
            el("p", where, class_="muted"),
            _answers(chat.id, "Keep", "Forget here too …", f"“{clean_line(subject.title)}”"),
        ))  # fmt: skip
    more = plural(len(chats) - len(items), "more chat") if len(chats) > len(items) else ""
    return el(
        "div",
        el("h3", _words(library.settings)),
        el("p", "Hidden until you answer, and kept in the archive."),
        el("ul", items),
        el("p", f"… and {more}: ", el("code", "backscroll sync forgets --all")) if more else NOTHING,
        _answers("all", "Keep all", "Forget all here too …", "all of them") if len(chats) > 1 else NOTHING,
        class_="asked", id="forgets",
    )  # fmt: skip


def hidden_notice(library: Library) -> Html:
    """Return a line that says how many chats are hidden; nothing if none is."""
    text = _words(library.settings)
    if not text:
        return NOTHING
    return el("p", text, ", hidden until you answer: ", el("a", "see Settings", href="/settings#forgets"),
              class_="problem", role="status")  # fmt: skip


def _words(settings: Settings) -> str:
    """Return which machines ask to forget how many chats; empty if none does."""
    if not requests_stamp(settings):
        return ""
    from backscroll.library.syncing.forgets import asked_chats, count_by_asker

    counts = count_by_asker(asked_chats(settings))
    return ", ".join(f"{clean_line(name)} asks to forget {plural(count, 'chat')}" for name, count in counts.items())


def _answers(name: str, keeps: str, forgets: str, what: str) -> Html:
    """Return the two answers. Forgetting is for good, so its button is behind another click."""
    chat = el("input", type="hidden", name="chat", value=name)
    keep = el("form", chat, el("button", keeps, name="answer", value="refuse", aria_label=f"Keep {what}"),
              method="post", action=ACTION)  # fmt: skip
    forget = el("form", chat, el("button", "Forget for good", name="answer", value="agree", class_="danger",
                                 aria_label=f"Forget {what} for good"), method="post", action=ACTION)  # fmt: skip
    return el("div", keep, el("details", el("summary", forgets), forget), class_="answers")


def _forget(settings: Settings) -> None:
    """Remove the agreed chats; if the archive is busy, the process that holds it removes them with its next sync."""
    from backscroll.library.syncing.forgets import forget_agreed

    with suppress(Busy):
        forget_agreed(settings)
