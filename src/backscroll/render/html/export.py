"""Export a chat as a file: a self-contained page, Markdown, or JSON.

The page looks like the viewer's and works from a disk, offline: its style and its script stand in it and are named by
their checksums in its Content-Security-Policy, so that nothing else can run in it or be loaded by it.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Final, Literal

from backscroll.conversation.agents import Agent, by_call
from backscroll.conversation.branches import Branch
from backscroll.conversation.chat import Chat
from backscroll.conversation.headings import is_lower_bound
from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import Message
from backscroll.records.content import Image, Text
from backscroll.records.decode import value_of
from backscroll.records.record import Record
from backscroll.render.html.chat_head import unrecorded_fact
from backscroll.render.html.element import NOTHING, Html, el, text, trusted
from backscroll.render.html.export_branches import MAX_SWITCHABLE_BRANCHES, Segment, forks_of, outlines_of, segments_of
from backscroll.render.html.export_documents import Shareable, json_document, markdown_document
from backscroll.render.html.icons import icon
from backscroll.render.html.images import detect_media_type
from backscroll.render.html.messages import messages_html
from backscroll.render.html.outline import first_words, gauge, minimap, money, outline_list
from backscroll.render.html.page_data import Detail, OutlineItem, View
from backscroll.render.html.pictures import pictures_of
from backscroll.render.parts import WITHOUT_SESSION, PartFilter
from backscroll.render.reports import AT_LEAST
from backscroll.render.terminal import moment, plural

Format = Literal["html", "md", "json"]
LEVELS: Final = (("everything", "Everything"), ("normal", "Normal"), ("talk", "Prompts and answers"))
CHUNK: Final = 50
MAX_CHARTED_BRANCHES: Final = 20
"""Number of branches that have their own charts."""


@dataclass(frozen=True)
class Assets:
    """The style and script of a page."""

    style: str
    script: str


def exported(
    shared: Shareable,
    form: Format,
    assets: Assets,
    *,
    detail: Detail | None = None,
    branch: int | None = 1,
    back: str | None = None,
    choice: PartFilter | None = None,
) -> Iterator[str]:
    """Yield the file, piece by piece. Markdown holds one branch (None: all), or with `everything` all; the others hold
    all.

    `back` links to the list of chats that has this chat. `choice` overrides what Markdown includes.
    """
    if form == "html":
        return page_of(shared, assets, detail=detail or "everything", back=back)
    if form == "md":
        return markdown_document(shared, detail or "normal", branch, choice)
    return json_document(shared)


def page_of(
    shared: Shareable, assets: Assets, *, detail: Detail, back: str | None = None, author: str = "You"
) -> Iterator[str]:
    """Yield the chat as one page. `detail` limits its contents; a reader can choose to see less. `author` typed the
    prompts."""
    chat = shared.chat
    by_branch = {branch.number: list(shared.messages(branch)) for branch in chat.branches}
    messages = {number: _only(some, detail) for number, some in by_branch.items()}
    segments = segments_of(chat, messages)
    outlines = outlines_of(by_branch, shared.answer_costs, chat.agents)
    agents = {} if detail == "talk" else {agent.id: agent for agent in chat.agents}
    inline = Inline(shared, agents)
    view = View(
        links=FileLinks(chat),
        costs={name: answer.cost for name, answer in shared.answer_costs.items()},
        agents=by_call(agents.values()),
        inline=inline,
        whole=True,
        clock=shared.clock,
        forks=forks_of(chat, (message for each in messages.values() for message in each)),
        author=author,
    )
    inline.view = view
    yield from _begin(shared.title, assets, branch_style(chat.branches), back)
    yield text(_head(shared, detail))
    yield '<div class="chat-body">'
    yield text(_side(chat.branches, segments, outlines))
    level = "normal" if detail == "everything" else detail
    yield f'<div class="chat-middle"><div id="messages" data-level="{level}">'
    for segment in segments:
        yield from _segment(segment, view, chat)
    listed = {agent.id for agent in chat.shown_agents}
    lost = [agent for agent in agents.values() if agent.id in listed and agent.id not in inline.shown]
    if chat.is_without_session and lost:
        yield el("p", WITHOUT_SESSION, class_="muted")
    yield from _lost_agents(lost, inline)
    yield "</div></div></div>"
    yield text(footer(is_redacted=shared.is_redacted))
    yield "</div></main></body></html>\n"


def _begin(title: str, assets: Assets, style: str, back: str | None) -> Iterator[str]:
    """Yield everything before the contents of a page, up to the start of its `div.chat`."""
    yield from page_head(title, assets, style)
    way = el("nav", el("a", "All chats", href=back)) if back else NOTHING
    yield '<body class="exported">'
    yield el("a", "Skip to content", class_="skip", href="#main")
    yield page_bar(way)
    yield '<main id="main" tabindex="-1"><div class="chat" id="chat">'


def page_bar(way: Html = NOTHING) -> Html:
    """Return the bar at the top of a page, with a way back if there is one."""
    theme = el(
        "button",
        icon("theme"),
        type="button",
        class_="quiet icon-only",
        id="theme",
        aria_label="Switch theme",
        hidden=True,
    )
    return el(
        "header", el("span", "backscroll", class_="brand"), way, el("div", theme, class_="bar-tools"), class_="bar"
    )


def page_head(title: str, assets: Assets, style: str = "") -> Iterator[str]:
    """Yield the head of a page that may only load and run its own contents."""
    styles = [sheet for sheet in (assets.style, style) if sheet]
    policy = (
        f"default-src 'none'; style-src {' '.join(map(checksum, styles))}; script-src {checksum(assets.script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    yield '<!doctype html>\n<html lang="en"><head>'
    yield el("meta", charset="utf-8")
    yield el("meta", http_equiv="Content-Security-Policy", content=policy)
    yield el("meta", name="viewport", content="width=device-width, initial-scale=1")
    yield el("meta", name="color-scheme", content="light dark")
    yield el("meta", name="referrer", content="no-referrer")
    yield el("meta", name="generator", content="backscroll")
    yield el("title", first_words(title, 200))
    yield '<link rel="icon" href="data:,">'  # else a browser may look for one beside the file
    for sheet in styles:
        yield el("style", trusted(sheet))  # our own files, and numbers
    yield el("script", trusted(assets.script))
    yield "</head>"


def checksum(content: str) -> str:
    """Return the hash of an inline style or script, as written in the policy."""
    return f"'sha256-{base64.b64encode(sha256(content.encode()).digest()).decode()}'"


def branch_style(branches: Sequence[Branch]) -> str:
    """Return the style that hides the rest of a file while one branch is read. Without scripts no branch is chosen, and
    everything is seen."""
    rules = (
        f':root[data-branch="{branch.number}"] [data-branches]:not([data-branches~="{branch.number}"])'
        for branch in branches
    )
    is_chosen = 1 < len(branches) <= MAX_SWITCHABLE_BRANCHES
    return "".join(f"{rule} {{ display: none; }}\n" for rule in rules) if is_chosen else ""


def footer(*, is_redacted: bool) -> Html:
    """Return the facts about the file, for its reader."""
    masking = "Recognised secrets are masked." if is_redacted else "Secrets are not masked."
    return el("footer", el("p", f"Exported by backscroll. {masking}"), class_="export-foot muted")


def _head(shared: Shareable, detail: Detail) -> Html:
    chat = shared.overview
    times = list(
        dict.fromkeys(moment(when)[:16].replace("T", " ") for when in (chat.started, chat.last_active) if when)
    )
    cost = sum(answer.cost or 0 for answer in shared.answer_costs.values())
    least = AT_LEAST if any(map(is_lower_bound, shared.answer_costs.values())) else ""
    facts: list[object] = [
        el("span", chat.project, class_="mono") if chat.project else None,
        " – ".join(times),
        ", ".join(chat.models[:3]),
        f"version {' – '.join(dict.fromkeys([chat.versions[0], chat.versions[-1]]))}" if chat.versions else None,
        plural(chat.messages, "message"),
        f"{least}{money(cost)}" if cost else None,
        unrecorded_fact(*shared.unrecorded) if shared.unrecorded[0] else None,
    ]
    tags = [el("span", tag, class_="tag") for tag in dict.fromkeys([*chat.tags, *shared.tags])]
    return el(
        "header",
        el("h1", el("span", first_words(shared.title, 300), class_="title")),
        el("p", [el("span", fact) for fact in facts if fact], class_="chat-facts"),
        el("div", tags, class_="chat-marks") if tags else NOTHING,
        el("div", _branch_choice(shared.chat), _levels(detail), class_="chat-tools"),
        class_="chat-head",
    )


def _branch_choice(chat: Chat) -> Html:
    if len(chat.branches) < 2:
        return NOTHING
    if len(chat.branches) > MAX_SWITCHABLE_BRANCHES:
        return el("p", f"{len(chat.branches):,} branches, one after the other", class_="branch-choice muted")
    options = []
    for branch in chat.branches:
        prompts = (turn.head.row.text for turn in branch.turns if turn.head and turn.head.row.text.strip())
        words = first_words(next(prompts, ""), 60) or "no prompt"
        name = f"{branch.number} of {len(chat.branches)}{' (active)' if branch.number == 1 else ''}: {words}"
        options.append(el("option", name, value=branch.number))
    select = el("select", options, id="branch", autocomplete="off")
    return el("label", "Branch ", select, class_="branch-choice", hidden=True)


def _levels(detail: Detail) -> Html:
    names = [name for name, _ in LEVELS]
    levels = LEVELS[names.index(detail) :]
    if len(levels) < 2:
        return NOTHING
    chosen = "normal" if detail == "everything" else detail
    return el(
        "fieldset",
        el("legend", "Detail"),
        [
            el("label", el("input", type="radio", name="level", value=name, checked=name == chosen), el("span", title))
            for name, title in levels
        ],
        id="levels",
        class_="levels",
        hidden=True,
    )


def _side(
    branches: Sequence[Branch], segments: Sequence[Segment], outlines: Mapping[int, Sequence[OutlineItem]]
) -> Html:
    strips = [
        el("div", minimap(outlines[branch.number]), gauge(outlines[branch.number]), data_branches=branch.number)
        for branch in branches[:MAX_CHARTED_BRANCHES]
    ]
    lists = []
    for segment in segments:
        here = {message.key for message in segment.messages}
        items = [item for item in outlines[segment.branches[0]] if item.id in here]
        if here:
            lists.append(el("div", outline_list(items, "", (0,)), data_branches=segment.names))
    button = el("button", "Outline", type="button", popovertarget="side", class_="side-button")
    parts = [*strips[:1], *[strip for strip in strips[1:] if len(branches) > 1], el("h2", "Prompts"), *lists]
    side = el("nav", parts, id="side", popover="auto", class_="side", aria_label="Outline of this chat")
    return el("div", button, side, class_="chat-side")


def _segment(segment: Segment, view: View, chat: Chat) -> Iterator[str]:
    yield f'<section class="segment" data-branches="{segment.names}">'
    if segment.is_beginning:
        number = segment.branches[0]
        name = f"Branch {number} of {len(chat.branches)}"
        yield el("p", name, class_="branch-mark muted", id=f"branch-{number}")
    before: Message | None = None
    messages = iter(segment.messages)
    while part := list(islice(messages, CHUNK)):
        yield '<div class="chunk">'
        yield messages_html(part, view, before)
        yield "</div>"
        before = part[-1]
    yield "</section>"


def _lost_agents(agents: Sequence[Agent], inline: "Inline") -> Iterator[str]:
    """Yield the messages of agents whose call is unknown."""
    if not agents:
        return
    yield '<section class="lost-agents" data-detail="normal"><h2>Other agents</h2>'
    for agent in agents:
        talk = inline.get(agent.id)
        name = f"{agent.type or 'agent'}: {first_words(agent.description or agent.prompt) or agent.id}"
        if talk is not None:
            yield el("details", el("summary", name), el("div", talk, class_="agent-messages"), class_="agent-talk")
    yield "</section>"


class FileLinks:
    """Links of a file: only to its own messages; images are embedded."""

    def __init__(self, chat: Chat) -> None:
        self._records: dict[str, Record | None] = {uuid: node.row.record for uuid, node in chat.tree.nodes.items()}
        self._records |= {row.uuid: row.record for agent in chat.agents for row in agent.rows}
        self._last: tuple[str, list[Image]] | None = None
        """The images of the last requested row: a row may have thousands."""

    def message(self, message: str) -> str:
        """Return the address of a message of this file."""
        return f"#m-{message}"

    def picture(self, row: str, number: int) -> str | None:
        """Return the image as a data URL, if it is valid."""
        if self._last is None or self._last[0] != row:
            self._last = (row, pictures_of(self._records.get(row)))
        images = self._last[1]
        source = images[number].source if 0 <= number < len(images) else None
        data = value_of(source.data) if source else None
        try:
            content = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
        except (binascii.Error, ValueError):
            return None
        kind = detect_media_type(content)
        return f"data:{kind};base64,{base64.b64encode(content).decode()}" if kind else None

    def agent(self, agent: str) -> None:
        """Return None: an agent has no separate page."""

    agent_messages = raw = prompt = whole = file = agent


class Inline(Mapping[str, Html]):
    """The messages of agents, rendered on demand; each only once, so that no message is repeated."""

    def __init__(self, shared: Shareable, agents: Mapping[str, Agent]) -> None:
        self.view: View | None = None
        self.shown: set[str] = set()
        self._shared = shared
        self._agents = agents

    def __getitem__(self, name: str) -> Html:
        if name in self.shown or name not in self._agents or self.view is None or len(self.shown) > MAX_AGENTS:
            raise KeyError(name)
        self.shown.add(name)
        return messages_html(self._shared.agent_messages(self._agents[name]), self.view)

    def __iter__(self) -> Iterator[str]:
        return iter(self._agents)

    def __len__(self) -> int:
        return len(self._agents)


def _only(messages: Iterable[Message], detail: Detail) -> list[Message]:
    """Return the messages visible at this detail level."""
    if detail == "everything":
        return list(messages)
    if detail == "normal":
        return [message for message in messages if message.kind not in QUIET]
    kept = []
    for message in messages:
        if message.kind in TALK:
            if message.kind is RowKind.ANSWER:
                reduced = Message(message.id, message.kind, message.rows[0])
                reduced.rows = message.rows
                reduced.blocks = [block for block in message.blocks if isinstance(block, Text) and block.text.strip()]
                if not reduced.blocks:
                    continue
                message = reduced
            kept.append(message)
    return kept


QUIET: Final = frozenset(
    {RowKind.HOOK, RowKind.META, RowKind.NOTE, RowKind.ATTACHMENT, RowKind.PROGRESS, RowKind.UNKNOWN}
)
TALK: Final = frozenset(
    {RowKind.PROMPT, RowKind.QUEUED, RowKind.COMMAND, RowKind.SHELL, RowKind.ANSWER, RowKind.COMPACTION}
)
MAX_AGENTS: Final = 10_000
