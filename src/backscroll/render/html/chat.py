"""The page of a chat, and of a sub-agent: all that stands in `<main>`.

It is whole as it is; scripts fill what is not loaded yet, follow what is being written, and bring the keyboard.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final
from urllib.parse import quote

from backscroll.conversation.agents import Agent
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.outline import first_words, gauge, minimap, money, outline_list, tree
from backscroll.render.html.page_data import ChatPageData
from backscroll.render.reports import duration, short
from backscroll.render.terminal import moment, plural

STATES: Final = {
    "working": "Claude is working",
    "waiting": "Waiting for you",
    "idle": "End of the chat",
}
LEVELS: Final = (("everything", "Everything"), ("normal", "Normal"), ("talk", "Prompts and answers"))
FORMS: Final = (("html", "Web page"), ("md", "Markdown"), ("json", "JSON"), ("jsonl", "Original rows (JSONL)"))


def chat_page(shown: ChatPageData) -> Html:
    """A chat: what it is, its outline, and its messages as far as they are loaded."""
    address = _address(shown.overview.id)
    return el(
        "div",
        _head(shown, address),
        _toolbar(shown, address),
        el(
            "div",
            _side(shown, address),
            el("div", _messages(shown, address), state_line(shown.state, is_live=shown.is_live), class_="chat-middle"),
            class_="chat-body",
        ),
        el(
            "div",
            el("button", type="button", id="pill", class_="pill", hidden=True),
            aria_live="polite",
            class_="pill-place",
        ),
        id="chat",
        class_="chat",
        data_chat=shown.overview.id,
        data_address=address,
        data_branch=shown.branch,
        data_branches=len(shown.branches),
        data_cursor=shown.cursor,
        data_live=shown.is_live,
        data_state=shown.state,
        data_resume=shown.resume,
    )


def agent_page(agent: Agent, messages: Html, shown_title: str, back: str) -> Html:
    """A sub-agent's conversation. `back` leads to the call that started it, in the chat of that title."""
    facts: list[object] = [agent.type, ", ".join(agent.models), _when(agent.started) if agent.started else None]
    facts.append(plural(len(agent.calls), "tool call") if agent.calls else None)
    tokens = agent.usage
    total = tokens.input_tokens + tokens.output_tokens
    total += tokens.cache_creation_input_tokens + tokens.cache_read_input_tokens
    facts.append(f"{short(total)} tokens" if total else None)
    head = el(
        "header",
        el("p", el("a", f"← {first_words(shown_title, 80)}", href=back), class_="back"),
        el("h1", first_words(agent.description or agent.prompt, 200) or f"Agent {agent.id}"),
        el("p", [el("span", fact) for fact in facts if fact], class_="chat-facts"),
        class_="chat-head",
    )
    said = el("section", messages, class_="chunk filled")
    return el("div", head, el("div", said, id="messages", data_level="normal"), class_="chat agent-page")


def state_line(state: str, *, is_live: bool) -> Html:
    """What stands below the last message."""
    state = state if is_live else "idle"
    return el(
        "p",
        el("span", class_="dot", aria_hidden="true"),
        el("span", STATES[state], class_="state-text"),
        id="chat-state",
        class_="chat-state",
        data_state=state,
        role="status",
    )


def _address(chat: str) -> str:
    return f"/chats/{quote(chat, safe='')}"


def _head(shown: ChatPageData, address: str) -> Html:
    badges = [
        el("span", "live", class_="badge live", id="live-badge", hidden=not shown.is_live),
        el("span", "archived", class_="badge", title="Deleted by Claude Code; kept in the archive")
        if shown.is_archived
        else None,
        el("span", "pinned", class_="badge", id="pinned-badge", hidden=not shown.is_pinned),
    ]
    return el(
        "header",
        el(
            "h1",
            el("span", first_words(shown.title, 300), class_="title"),
            " ",
            el("span", join(badges, " "), class_="badges"),
            id="chat-title",
        ),
        _told(shown),
        el("div", _tags(shown, address), [el("p", note, class_="note") for note in shown.notes], class_="chat-marks"),
        class_="chat-head",
    )


def beside(shown: ChatPageData) -> Html:
    """What changes beside the messages as a chat goes on, to be put into the page."""
    return join([_told(shown), _outline(shown, _address(shown.overview.id))])


def _told(shown: ChatPageData) -> Html:
    return el("p", [el("span", fact) for fact in _facts(shown)], class_="chat-facts")


def _facts(shown: ChatPageData) -> Iterator[object]:
    chat = shown.overview
    if chat.project:
        yield el("a", chat.project, href=f"/chats?q={quote(_project_query(chat.project), safe='')}", class_="mono")
    if chat.started:
        last = chat.last_active or chat.started
        same_day = moment(last)[:10] == moment(chat.started)[:10]
        yield _when(last) if same_day else join([_when(chat.started), " – ", _when(last)])
    if chat.active_seconds:
        yield f"{duration(chat.active_seconds)} active"
    if chat.models:
        yield _several([model.removeprefix("claude-") for model in chat.models])
    if chat.versions:
        both = [chat.versions[0], *chat.versions[-1:]] if len(chat.versions) > 1 else chat.versions
        yield el("span", "version " + " – ".join(both), title=", ".join(chat.versions))
    if chat.git_branches:
        yield el("span", "⎇ ", _several(chat.git_branches), class_="mono")
    if len(chat.sessions) > 1:
        yield plural(len(chat.sessions), "session")
    yield plural(chat.messages, "message")
    if shown.tokens:
        yield f"{short(shown.tokens)} tokens"
    if shown.cost is not None:
        yield money(shown.cost)
    for link in chat.pull_requests:
        if link.pr_url and link.pr_url.startswith("https://"):
            yield el(
                "a", f"#{link.pr_number}" if link.pr_number else "pull request", href=link.pr_url, rel="noreferrer"
            )


def _project_query(project: str) -> str:
    return f'project:"{project}"'


def _several(names: list[str]) -> Html:
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return el("span", ", ".join(names[:2]) + more, title=", ".join(names) if more else None)


def _when(when: datetime) -> Html:
    exact = moment(when)
    return el("time", f"{exact[:10]} {exact[11:16]}", datetime=exact)


def _tags(shown: ChatPageData, address: str) -> Html:
    own = [
        el("form", el("input", type="hidden", name="untag", value=tag), el("span", tag),
           el("button", "×", class_="quiet", aria_label=f"Remove tag {tag}"),
           method="post", action=f"{address}/marks", class_="tag", data_mark=True)
        for tag in shown.tags
    ]  # fmt: skip
    return join([*own, *[el("span", tag, class_="tag") for tag in shown.overview.tags if tag not in shown.tags]])


def _toolbar(shown: ChatPageData, address: str) -> Html:
    marks, export = f"{address}/marks", f"{address}/export?branch={shown.branch}"
    pin = el(
        "form",
        el("button", "Unpin" if shown.is_pinned else "Pin", name="pin", value=0 if shown.is_pinned else 1, id="pin"),
        method="post", action=marks, data_mark=True,
    )  # fmt: skip
    tools = [
        pin,
        _field(marks, "tag", "Tag", "New tag"),
        _field(marks, "note", "Note", "New note"),
        _button("copy-resume", "Copy resume command", title=f"Copy: {shown.resume}") if shown.resume else None,
        _button("copy-markdown", "Copy Markdown", title="Copy the chat as Markdown"),
        el(
            "details",
            el("summary", "Export", class_="button"),
            el("ul", [el("li", el("a", name, href=f"{export}&format={form}", download=True)) for form, name in FORMS]),
            class_="menu",
        ),
    ]  # fmt: skip
    levels = el(
        "fieldset",
        el("legend", "Detail"),
        [el("label", el("input", type="radio", name="level", value=level, checked=level == "normal"), el("span", name))
         for level, name in LEVELS],
        id="levels", class_="levels", hidden=True,
    )  # fmt: skip
    find = el(
        "form",
        el("input", type="search", name="q", id="find", placeholder="Find in this chat", autocomplete="off",
           aria_label="Find in this chat", enterkeyhint="search"),
        el("span", id="find-count", class_="find-count", role="status"),
        el("button", "↑", type="button", id="find-previous", class_="quiet", aria_label="Previous match"),
        el("button", "↓", type="button", id="find-next", class_="quiet", aria_label="Next match"),
        id="find-form", class_="find-form", role="search", aria_label="Find in this chat", hidden=True,
    )  # fmt: skip
    return el("div", el("div", tools, class_="chat-actions"), levels, find, class_="chat-tools")


def _button(action: str, name: str, title: str | None = None) -> Html:
    return el("button", name, type="button", data_action=action, title=title, hidden=True)


def _field(address: str, name: str, label: str, what: str) -> Html:
    """A menu with one field in it."""
    field = el("input", type="text", name=name, required=True, aria_label=what, placeholder=what, autocomplete="off")
    form = el("form", field, el("button", "Save"), method="post", action=address, data_mark=True)
    return el("details", el("summary", label, class_="button"), form, class_="menu")


def _side(shown: ChatPageData, address: str) -> Html:
    # On a phone it lies over the page when it is called; where there is room, it always stands beside it.
    button = el("button", "Outline", type="button", popovertarget="side", class_="side-button")
    return el("div", button, _outline(shown, address), class_="chat-side")


def _outline(shown: ChatPageData, address: str) -> Html:
    way = tree(shown.overview.sessions, shown.branches, shown.agents, shown.branch, address, shown.links)
    if shown.outline is None:  # of a long chat: the messages come first
        later = el("a", "Outline", href=f"{address}/side?branch={shown.branch}", data_later=True)
        parts: list[Html] = [way, el("h2", "Prompts"), el("p", later, class_="muted")]
    else:
        listed = outline_list(shown.outline, f"?branch={shown.branch}", shown.filled)
        nothing = el("p", "No prompts.", class_="muted")
        parts = [
            minimap(shown.outline),
            gauge(shown.outline),
            way,
            el("h2", "Prompts"),
            listed if shown.outline else nothing,
        ]
    return el("nav", parts, id="side", popover="auto", class_="side", aria_label="Outline of this chat")


def _messages(shown: ChatPageData, address: str) -> Html:
    chunks, before = [], 0
    for chunk in shown.chunks:
        filled = shown.filled.get(chunk.number)
        first, before = before + 1, before + chunk.messages
        at = quote(chunk.first, safe="")
        link = f"{address}?branch={shown.branch}&at={at}#m-{at}"
        chunks.append(
            el(
                "section",
                filled
                if filled is not None
                else el("a", f"Messages {first:,}–{before:,}", href=link, class_="chunk-link"),
                class_="chunk filled" if filled is not None else "chunk",
                data_chunk=chunk.number,
                data_first=chunk.first,
                data_messages=chunk.messages,
            )
        )
    return el("div", chunks or NOTHING, id="messages", data_level="normal")
