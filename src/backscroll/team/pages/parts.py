"""Parts that the pages of the server share: documents, forms, buttons, tables."""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlencode

from backscroll.errors import BackscrollError
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.terminal import plural
from backscroll.team.people.accounts import Person
from backscroll.web.layout import document, error_html, error_title
from backscroll.web.reader_zone import reader_time


def links_for(person: Person, path: str, owner: str) -> Html:
    """Make the links in the bar of every page; `owner` is the owner of the shown chat, if another person."""
    chat = CHAT_PAGE.fullmatch(path)
    readers = el("a", icon("share"), el("span", "Who can read it", class_="bar-label"), href=f"{path}/audience",
                 title="Who can read it", class_="of-chat")  # fmt: skip
    shared = el("a", icon("share"), el("span", "Shared", class_="bar-label"), href="/shared", title="Shared chats")
    notices = f"{plural(person.notices, 'notice')} about your account" if person.notices else ""
    account = el(
        "a",
        icon("settings"),
        el("span", person.handle, class_="bar-label"),
        el("span", person.notices, class_="badge notices", aria_label=notices) if person.notices else NOTHING,
        href="/account",
        title=f"{person.name}, {person.org_name}" + (f": {notices}" if notices else ""),
        aria_current="page" if path in {address for address, _ in places(person)} else None,
    )
    if owner:
        shared = el("a", icon("share"), f"shared by {owner}", href="/shared", class_="badge owner")
    own = el("span", "You", class_="badge owner of-chat", title="Owner") if chat and not owner else NOTHING
    return join([own, readers if chat and not owner else shared, account])


CHAT_PAGE: Final = re.compile("/chats/[^/]+")


def places(person: Person) -> list[tuple[str, str]]:
    """List the pages of the server that a person may open."""
    pages = [
        ("/shared", "Shared chats"),
        ("/readers", "Who read my chats"),
        ("/devices", "Devices"),
        ("/people", "People and teams"),
        ("/account", "Account"),
    ]
    pages.insert(-1, ("/retention", "Retention and erasures" if person.sees_erasures else "Retention"))
    if person.is_administrator or person.is_auditor or person.leads:
        pages.insert(2, ("/team-spend", "Team spend"))
    if person.is_auditor:
        pages.append(("/audit", "Audit"))
    if person.is_administrator:
        pages += [
            ("/project-rules", "Projects and rules"),
            ("/jobs", "Jobs"),
            ("/storage", "Storage"),
            ("/sign-in-test", "Sign-in test"),
        ]
    return pages


ADMINISTRATION: Final = frozenset("/people /retention /audit /project-rules /jobs /storage /sign-in-test".split())
"""Pages about the server and everyone on it, in a row of their own."""


def _tabs(pages: Sequence[tuple[str, str]], here: str, name: str) -> Html:
    links = [el("a", text, href=address, aria_current="page" if address == here else None) for address, text in pages]
    return el("nav", links, class_="tabs", aria_label=name)


def team_document(
    title: str, person: Person, here: str, *sections: object, lead: str = "", styles: Sequence[str] = ()
) -> Html:
    """Make a page with the tabs of the server's own pages."""
    pages = places(person)
    main = join(
        [
            _tabs([place for place in pages if place[0] not in ADMINISTRATION], here, "Your pages"),
            _tabs([place for place in pages if place[0] in ADMINISTRATION], here, "The server"),
            el("h1", title),
            el("p", lead, class_="lead") if lead else NOTHING,
            *sections,
        ]
    )
    return document(
        title, main, here=here, scripts=("team.js",), styles=(*styles, "pages.css", "team.css"), body_class="team"
    )


def plain_document(title: str, *content: object, is_wide: bool = False) -> Html:
    """Make a page with one small form, for people who are not signed in yet; `is_wide` for one with more text."""
    main = el("section", el("h1", title), *content, class_="small-form wide" if is_wide else "small-form")
    return document(title, main, styles=("pages.css", "team.css"), body_class="team signed-out", bar_search=False)


def refusal_page(error: BackscrollError, after: str = "/") -> Html:
    """Make an error page for people who are not signed in; `after` is the page to go to after sign-in."""
    way = el("a", "Sign in", href=f"/sign-in?{urlencode({'next': after})}", class_="button primary")
    return plain_document(error_title(error), error_html(error), el("p", way))


def field(label: str, name: str, **attributes: str | bool | int | None) -> Html:
    """Make a labelled field of a form."""
    all_attributes = {"type": "text", **attributes}
    return el("label", el("span", label), el("input", name=name, **all_attributes), class_="field")


def button(address: str, label: str, *hidden: tuple[str, str], ask: str = "", about: str = "") -> Html:
    """Make a form that is only a button; with `ask`, the reader confirms that question first.

    In a list, `about` names the row in the label of the button, for screen readers.
    """
    fields = [el("input", type="hidden", name=name, value=value) for name, value in hidden]
    pressed = el("button", label, aria_label=f"{label}: {about}" if about else None)
    return el("form", fields, pressed, method="post", action=address, class_="inline", data_ask=ask or None)


def beside(sentence: object, control: Html, style: str = "") -> Html:
    """Put a sentence and its control side by side."""
    return el("div", el("p", sentence, class_=style or None), control, class_="beside")


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    empty: str,
    style: str = "",
    numbers: Collection[str] = (),
) -> Html:
    """Make a table, or the sentence `empty` without rows; `numbers` are the heads of columns of numbers."""
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
    """Write a time; a script replaces it by “5 min ago” unless it `is_exact`."""
    if when is None:
        return el("span", "never", class_="muted")
    text = f"{reader_time(when):%Y-%m-%d %H:%M}"
    return el("time", text, datetime=when.astimezone(UTC).isoformat(), data_exact=True if is_exact else None)


def secret_box(label: str, secret: str, note: str) -> Html:
    """Make a box with a secret that is shown once."""
    shown = with_copy(el("code", secret, class_="secret"), secret)
    return el("div", el("p", label), shown, el("p", note, class_="muted"), class_="notice")


def with_copy(shown: Html, text: str) -> Html:
    """Add a button that copies a text."""
    copy = el("button", icon("copy"), "Copy", type="button", data_action="copy", data_copy=text, hidden=True)
    return el("div", shown, copy, class_="with-copy")
