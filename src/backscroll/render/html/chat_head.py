"""The head of a chat's page: title, facts and marks, actions, and the level of detail."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final
from urllib.parse import quote

from backscroll.conversation.model_names import short_models
from backscroll.render.html.element import Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.html.outline import first_words, money
from backscroll.render.html.page_data import ChatPageData
from backscroll.render.projects import project_name
from backscroll.render.reports import AT_LEAST, duration, short
from backscroll.render.terminal import moment, plural

LEVELS: Final = (
    ("everything", "Everything", "All"),
    ("normal", "Normal", "Normal"),
    ("talk", "Prompts and answers", "Talk"),
)
"""Levels of detail: the value, the name, and the name where there is little room."""


def chat_head(shown: ChatPageData, address: str) -> Html:
    """Return the title, facts and actions of the chat: one primary action, the rest in a menu."""
    badges = [
        el("span", "live", class_="badge live", id="live-badge", hidden=not shown.is_live),
        el("span", "archived", class_="badge", title="Deleted by Claude Code; kept in the archive")
        if shown.is_archived
        else None,
        el("span", "pinned", class_="badge", id="pinned-badge", hidden=not shown.is_pinned),
    ]
    title = el("h1", el("span", first_words(shown.title, 300), class_="title"), id="chat-title")
    return el(
        "header",
        el("div", pane_buttons(), title, _actions(shown, address), class_="chat-top"),
        el("div", el("span", join(badges, " "), class_="badges"), chat_facts(shown), class_="chat-about"),
        el("div", _tags(shown, address), [el("p", note, class_="note") for note in shown.notes], class_="chat-marks"),
        class_="chat-head",
    )


def pane_buttons() -> Html:
    """Return the buttons that open the list of chats: as a column that was closed, or as a drawer."""
    label = "Show the list of chats"
    return join([
        el("button", icon("pane"), type="button", data_action="pane", class_="quiet icon-only pane-open",
           aria_label=label, title=f"{label} ( l )", hidden=True),
        el("button", icon("pane"), type="button", popovertarget="pane", class_="quiet icon-only pane-drawer",
           aria_label=label),
    ])  # fmt: skip


def chat_toolbar() -> Html:
    """Return the controls for the level of detail and for finding text in the chat."""
    levels = el(
        "fieldset",
        el("legend", "Detail"),
        [el("label", el("input", type="radio", name="level", value=level, checked=level == "normal", aria_label=name),
            el("span", el("span", name, class_="roomy"), el("span", short, class_="tight")))
         for level, name, short in LEVELS],
        id="levels", class_="levels", hidden=True,
    )  # fmt: skip
    find = el(
        "form",
        el("button", icon("search"), type="button", id="find-open", class_="quiet icon-only",
           aria_label="Find in this chat"),
        el("input", type="search", name="q", id="find", placeholder="Find in this chat", autocomplete="off",
           aria_label="Find in this chat", enterkeyhint="search"),
        el("span", id="find-count", class_="find-count", role="status"),
        el("button", icon("arrow-up"), type="button", id="find-previous", class_="quiet icon-only",
           aria_label="Previous match"),
        el("button", icon("arrow-down"), type="button", id="find-next", class_="quiet icon-only",
           aria_label="Next match"),
        id="find-form", class_="find-form", role="search", aria_label="Find in this chat", hidden=True,
    )  # fmt: skip
    return el("div", levels, find, class_="chat-tools")


def chat_facts(shown: ChatPageData) -> Html:
    """Return project, time, size and cost, which change as a chat goes on."""
    return el("p", [el("span", fact) for fact in _facts(shown)], class_="chat-facts")


def _facts(shown: ChatPageData) -> Iterator[object]:
    chat = shown.overview
    if chat.project:
        address = f"/chats?q={quote(_project_query(chat.project), safe='')}"
        yield el("a", icon("folder"), project_name(chat.project), href=address, title=chat.project)
    if chat.started:
        last = chat.last_active or chat.started
        same_day = moment(last)[:10] == moment(chat.started)[:10]
        yield when_of(last) if same_day else join([when_of(chat.started), " – ", when_of(last)])
    yield plural(chat.messages, "message")
    tokens = f"{short(shown.tokens)} tokens" if shown.tokens else ""
    if shown.cost is not None:
        least = AT_LEAST if any(item.is_lower_bound for item in shown.outline or ()) else ""
        yield el("span", f"{least}{money(shown.cost)}", title=tokens or None)
    elif tokens:
        yield tokens
    if shown.unrecorded_tokens:
        yield unrecorded_fact(shown.unrecorded_tokens, shown.unrecorded_cost)
    if chat.active_seconds:
        yield f"{duration(chat.active_seconds)} active"
    if chat.models:
        models = _several(list(short_models(chat.models).values()))
        yield el("span", models, title=f"Claude Code {', '.join(chat.versions)}" if chat.versions else None)
    if shown.holders:
        yield el("span", "from ", el("code", _several(list(shown.holders))))
    if chat.git_branches:
        yield el("span", icon("branch"), _several(chat.git_branches))
    if len(chat.sessions) > 1:
        yield plural(len(chat.sessions), "session")
    for link in chat.pull_requests:
        if link.pr_url and link.pr_url.startswith("https://"):
            yield el(
                "a", f"#{link.pr_number}" if link.pr_number else "pull request", href=link.pr_url, rel="noreferrer"
            )


def unrecorded_fact(tokens: int, cost: int | None) -> Html:
    """Return the usage of requests without a record, beside that of the answers of a chat."""
    amount = f"{short(tokens)} tokens" if cost is None else money(cost)
    title = (
        f"{plural(tokens, 'token')} in requests without a record (compactions, titles, searches inside tools), by the "
        "totals of Claude Code: in no other cost here"
    )
    return el("span", f"+ {amount} without a record", title=title, class_="unrecorded")


def _project_query(project: str) -> str:
    return f'project:"{project}"'


def _several(names: list[str]) -> Html:
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return el("span", ", ".join(names[:2]) + more, title=", ".join(names) if more else None)


def when_of(when: datetime) -> Html:
    """Return a time as an element; a script replaces it by how long ago it was."""
    exact = moment(when)
    return el("time", f"{exact[:10]} {exact[11:16]}", datetime=exact)


def _tags(shown: ChatPageData, address: str) -> Html:
    own = [
        el("form", el("input", type="hidden", name="untag", value=tag), el("span", tag),
           el("button", icon("close"), class_="quiet icon-only", aria_label=f"Remove tag {tag}"),
           method="post", action=f"{address}/marks", class_="tag", data_mark=True)
        for tag in shown.tags
    ]  # fmt: skip
    return join([*own, *[el("span", tag, class_="tag") for tag in shown.overview.tags if tag not in shown.tags]])


def _actions(shown: ChatPageData, address: str) -> Html:
    resume = el(
        "a", icon("play"), "Resume", href=f"{address}/resume?branch={shown.branch}", id="resume",
        class_="button primary", data_dialog="resume", title="Resume in Claude Code (R)",
    )  # fmt: skip
    branch = shown.branch if len(shown.branches) > 1 and shown.branch != 1 else "all"
    share = el(
        "a", icon("share"), el("span", "Share"), href=f"{address}/share?branch={branch}", id="share", class_="button",
        data_dialog="share", title="Share this chat (S)",
    )  # fmt: skip
    return el("div", resume, share, _menu(shown, address), class_="chat-actions")


def _menu(shown: ChatPageData, address: str) -> Html:
    marks = f"{address}/marks"
    pin = el(
        "form",
        el("button", icon("pin"), el("span", "Unpin" if shown.is_pinned else "Pin"), name="pin", class_="item",
           value=0 if shown.is_pinned else 1, id="pin"),
        method="post", action=marks, data_mark=True,
    )  # fmt: skip
    copy = el(
        "button", icon("copy"), "Copy Markdown", type="button", data_action="copy-markdown", class_="item",
        title="Copy the chat as Markdown", hidden=True,
    )  # fmt: skip
    opener = el(
        "summary", icon("menu"), class_="button icon-only", aria_label="More actions", title="More actions ( . )"
    )
    items = [
        pin,
        _field(marks, "tag", "tag", "New tag"),
        _field(marks, "note", "note", "New note"),
        el("hr"),
        copy,
    ]
    return el("details", opener, el("div", items), id="more", class_="menu")


def _field(address: str, name: str, drawing: str, what: str) -> Html:
    """Return a field in a menu; Enter saves it."""
    field = el("input", type="text", name=name, required=True, aria_label=what, placeholder=what, autocomplete="off")
    return el("form", el("label", icon(drawing), field, class_="item"), method="post", action=address, data_mark=True)
