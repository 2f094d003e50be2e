"""The pages of a chat and of a sub-agent: the contents of `<main>`.

The page is complete without scripts; they fill the chunks that are not loaded yet, follow a growing chat, and add keys.
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from backscroll.conversation.agents import Agent
from backscroll.conversation.model_names import short_models
from backscroll.render.html.branch_banner import branch_banner
from backscroll.render.html.chat_head import chat_facts, chat_head, chat_toolbar, when_of
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.html.outline import agent_list, first_words, gauge, minimap, outline_list, tree
from backscroll.render.html.page_data import ChatPageData, Links
from backscroll.render.parts import WITHOUT_SESSION
from backscroll.render.reports import short
from backscroll.render.terminal import plural

STATES: Final = {
    "working": "Claude is working",
    "waiting": "Waiting for you",
    "permission": "Waiting for your permission",
    "idle": "End of the chat",
}


def chat_page(shown: ChatPageData) -> Html:
    """Return a chat: its head, its outline, and the messages loaded so far."""
    address = _address(shown.overview.id)
    return el(
        "div",
        chat_head(shown, address),
        chat_toolbar(),
        branch_banner(shown.branch, shown.origins, address),
        el(
            "div",
            _side(shown, address),
            el(
                "div",
                _messages(shown, address),
                state_line(shown.state, shown.asked_tool, is_live=shown.is_live),
                class_="chat-middle",
            ),
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
    """Return a sub-agent's conversation. `back` links to the call that started it, in the chat with this title."""
    facts: list[object] = [
        agent.type,
        ", ".join(short_models(agent.models).values()),
        when_of(agent.started) if agent.started else None,
    ]
    facts.append(plural(len(agent.calls), "tool call") if agent.calls else None)
    tokens = agent.usage
    total = tokens.input_tokens + tokens.output_tokens
    total += tokens.cache_creation_input_tokens + tokens.cache_read_input_tokens
    facts.append(f"{short(total)} tokens" if total else None)
    head = el(
        "header",
        el("p", el("a", icon("arrow-left"), first_words(shown_title, 80), href=back), class_="back"),
        el("h1", first_words(agent.description or agent.prompt, 200) or f"Agent {agent.id}"),
        el("p", [el("span", fact) for fact in facts if fact], class_="chat-facts"),
        class_="chat-head",
    )
    talk = el("section", messages, class_="chunk filled")
    return el("div", head, el("div", talk, id="messages", data_level="normal"), class_="chat agent-page")


def state_line(state: str, asked_tool: str = "", *, is_live: bool) -> Html:
    """Return the line below the last message."""
    state, asked_tool = (state, asked_tool) if is_live else ("idle", "")
    return el(
        "p",
        el("span", class_="dot", aria_hidden="true"),
        el("span", f"{STATES[state]}: {asked_tool}" if asked_tool else STATES[state], class_="state-text"),
        id="chat-state",
        class_="chat-state",
        data_state=state,
        role="status",
    )


def _address(chat: str) -> str:
    return f"/chats/{quote(chat, safe='')}"


def beside(shown: ChatPageData) -> Html:
    """Return the parts outside the messages that change as a chat continues, to be inserted into the page."""
    return join([chat_facts(shown), _outline(shown, _address(shown.overview.id))])


def _side(shown: ChatPageData, address: str) -> Html:
    # On a phone it lies over the page when it is called; where there is room, it always stands beside it.
    button = el("button", "Outline", type="button", popovertarget="side", class_="side-button")
    return el("div", button, _outline(shown, address), class_="chat-side")


def _outline(shown: ChatPageData, address: str) -> Html:
    way = tree(shown.overview.sessions, shown.branches, shown.agents, shown.branch, address, shown.links)
    if shown.outline is None:  # of a long chat: the messages come first
        later = el("a", "Outline", href=f"{address}/side?branch={shown.branch}", data_later=True)
        waiting = el("div", [el("span") for _ in range(9)], class_="skeleton-lines", aria_hidden="true")
        parts: list[Html] = [way, el("h2", "Prompts"), el("p", later, class_="muted"), waiting]
    else:
        listed = outline_list(shown.outline, f"?branch={shown.branch}", shown.filled)
        nothing = el("p", "No prompts.", class_="muted")
        parts = [
            minimap(shown.outline),
            gauge(shown.outline, f"{address}/context"),
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
    if shown.agent_messages is not None:
        chunks = [_without_session(shown.agents, shown.agent_messages, shown.links)]
    return el("div", chunks or NOTHING, id="messages", data_level="normal")


def _without_session(agents: Sequence[Agent], messages: Html, links: Links) -> Html:
    """Return the page for a session whose file is not there: its first agent, and links to the others."""
    first, *others = agents
    return el(
        "section",
        el("p", WITHOUT_SESSION, class_="note"),
        el("h2", first_words(first.description or first.prompt, 80) or f"Agent {first.id}"),
        messages,
        [el("h2", "Other agents"), agent_list(others, links)] if others else NOTHING,
        class_="chunk filled",
    )
