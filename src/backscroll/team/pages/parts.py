"""What the pages of the server have in common."""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlencode

from backscroll.errors import BackscrollError
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.terminal import plural
from backscroll.team.people import Person
from backscroll.web.layout import document, error_html, error_title
from backscroll.web.reader_zone import reader_time


def links_for(person: Person, path: str, owner: str) -> Html:
    """What the bar of every page has for the person who asks; `owner` is whose chat it shows, if another's."""
    chat = CHAT_PAGE.fullmatch(path)
    readers = el("a", icon("share"), el("span", "Who can read it", class_="bar-label"), href=f"{path}/audience",
                 title="Who can read it", class_="of-chat")  # fmt: skip
    shared = el("a", icon("share"), el("span", "Shared", class_="bar-label"), href="/shared", title="Shared chats")
    told = f"{plural(person.notices, 'notice')} about your account" if person.notices else ""
    account = el(
        "a",
        icon("settings"),
        el("span", person.handle, class_="bar-label"),
        el("span", person.notices, class_="badge notices", aria_label=told) if person.notices else NOTHING,
        href="/account",
        title=f"{person.name}, {person.org_name}" + (f": {told}" if told else ""),
        aria_current="page" if path in {address for address, _ in places(person)} else None,
    )
    if owner:
        shared = el("a", icon("share"), f"shared by {owner}", href="/shared", class_="badge owner")
    own = el("span", "You", class_="badge owner of-chat", title="Owner") if chat and not owner else NOTHING
    return join([own, readers if chat and not owner else shared, account])


CHAT_PAGE: Final = re.compile("/chats/[^/]+")


def places(person: Person) -> list[tuple[str, str]]:
    """The pages of the server that a person may open."""
    found = [
        ("/shared", "Shared chats"),
        ("/readers", "Who read my chats"),
        ("/devices", "Devices"),
        ("/people", "People and teams"),
        ("/account", "Account"),
    ]
    found.insert(-1, ("/retention", "Retention and erasures" if person.sees_erasures else "Retention"))
    if person.is_administrator or person.is_auditor or person.leads:
        found.insert(2, ("/team-spend", "Team spend"))
    if person.is_auditor:
        found.append(("/audit", "Audit"))
    if person.is_administrator:
        found += [
            ("/project-rules", "Projects and rules"),
            ("/jobs", "Jobs"),
            ("/storage", "Storage"),
            ("/sign-in-test", "Sign-in test"),
        ]
    return found


ADMINISTRATION: Final = frozenset("/people /retention /audit /project-rules /jobs /storage /sign-in-test".split())
"""The pages about the server and everyone on it: they stand in a row of their own."""


def _tabs(found: Sequence[tuple[str, str]], here: str, name: str) -> Html:
    links = [el("a", text, href=address, aria_current="page" if address == here else None) for address, text in found]
    return el("nav", links, class_="tabs", aria_label=name)


def team_document(
    title: str, person: Person, here: str, *sections: object, lead: str = "", styles: Sequence[str] = ()
) -> Html:
    """A page with the server's own pages beside it."""
    found = places(person)
    main = join(
        [
            _tabs([place for place in found if place[0] not in ADMINISTRATION], here, "Your pages"),
            _tabs([place for place in found if place[0] in ADMINISTRATION], here, "The server"),
            el("h1", title),
            el("p", lead, class_="lead") if lead else NOTHING,
            *sections,
        ]
    )
    return document(
        title, main, here=here, scripts=("team.js",), styles=(*styles, "pages.css", "team.css"), body_class="team"
    )


def plain_document(title: str, *content: object, is_wide: bool = False) -> Html:
    """A page with one small form, for people who are not signed in yet; `is_wide` for one with more text."""
    main = el("section", el("h1", title), *content, class_="small-form wide" if is_wide else "small-form")
    return document(title, main, styles=("pages.css", "team.css"), body_class="team signed-out", bar_search=False)


def refusal_page(error: BackscrollError, after: str = "/") -> Html:
    """What went wrong, for someone who is not signed in; `after` is where signing in leads."""
    way = el("a", "Sign in", href=f"/sign-in?{urlencode({'next': after})}", class_="button primary")
    return plain_document(error_title(error), error_html(error), el("p", way))


def field(label: str, name: str, **attributes: str | bool | int | None) -> Html:
    """A labelled field of a form."""
    given = {"type": "text", **attributes}
    return el("label", el("span", label), el("input", name=name, **given), class_="field")


def button(address: str, label: str, *hidden: tuple[str, str], ask: str = "", about: str = "") -> Html:
    """A form that is only a button; with `ask`, the reader confirms that question first.

    In a list, `about` tells those who do not see the row which of many equal buttons this is.
    """
    fields = [el("input", type="hidden", name=name, value=value) for name, value in hidden]
    pressed = el("button", label, aria_label=f"{label}: {about}" if about else None)
    return el("form", fields, pressed, method="post", action=address, class_="inline", data_ask=ask or None)


def beside(told: object, control: Html, style: str = "") -> Html:
    """A sentence, and what to do about it."""
    return el("div", el("p", told, class_=style or None), control, class_="beside")


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    empty: str,
    style: str = "",
    numbers: Collection[str] = (),
) -> Html:
    """A table, or a sentence where there is nothing; `numbers` are the heads of columns of numbers."""
    aligned = dict.fromkeys(numbers, "number")
    body = [
        el("tr", [el("td", cell, class_=aligned.get(head), data_label=head)
                  for head, cell in zip(heads, row, strict=True)])
        for row in rows
    ]  # fmt: skip
    if not body:
        return el("p", empty, class_="muted")
    head = el("thead", el("tr", [el("th", name, scope="col", class_=aligned.get(name)) for name in heads]))
    return el("div", el("table", head, el("tbody", body), class_=style or None), class_="table-scroll", tabindex=0,
              role="region", aria_label=heads[0])  # fmt: skip


def moment_text(when: datetime | None, *, is_exact: bool = False) -> Html:
    """A time; a script replaces it by “5 min ago” unless it `is_exact`."""
    if when is None:
        return el("span", "never", class_="muted")
    shown = f"{reader_time(when):%Y-%m-%d %H:%M}"
    return el("time", shown, datetime=when.astimezone(UTC).isoformat(), data_exact=True if is_exact else None)


def secret_box(label: str, secret: str, note: str) -> Html:
    """A secret that is shown once."""
    shown = with_copy(el("code", secret, class_="secret"), secret)
    return el("div", el("p", label), shown, el("p", note, class_="muted"), class_="notice")


def with_copy(shown: Html, text: str) -> Html:
    """A text to be used elsewhere, with a button that copies it."""
    copy = el("button", icon("copy"), "Copy", type="button", data_action="copy", data_copy=text, hidden=True)
    return el("div", shown, copy, class_="with-copy")
