"""Messages as HTML: author, time, cost and contents."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from backscroll.conversation.kinds import HUMAN, RowKind
from backscroll.conversation.messages import Message, OtherText
from backscroll.conversation.model_names import short_model
from backscroll.conversation.parts import PartStart
from backscroll.conversation.usage import SYNTHETIC
from backscroll.records.content import Usage
from backscroll.records.kinds import Assistant, ChainRecord
from backscroll.render.html.ansi import terminal_html
from backscroll.render.html.answers import answer_detail, answer_parts
from backscroll.render.html.asides import aside_of, raw_link
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.html.page_data import Detail, Fork, View
from backscroll.render.html.pictures import media
from backscroll.render.html.plain import has_headings, time_html, truncate, typed_text
from backscroll.render.html.prose import prose
from backscroll.render.html.time_limit import timed
from backscroll.render.html.tools import call_html
from backscroll.render.html.tools.shell import command_line
from backscroll.render.parts import PART_STARTS
from backscroll.render.reports import dollars, short
from backscroll.render.terminal import moment

__all__ = ["call_html", "message_html", "messages_html"]


class PreviousMessage(NamedTuple):
    """Facts that the previous messages showed already and that are not repeated."""

    is_answer: bool = False
    model: str | None = None
    version: str | None = None
    message: Message | None = None


class ArticleContent(NamedTuple):
    """The contents of a message's article."""

    who: str
    parts: Iterable[Html]
    detail: Detail
    tone: str = ""
    drawing: str = ""


def message_html(message: Message, view: View, before: Message | None = None) -> Html:
    """Return a message. `before` is the previous one; without it, nothing is marked as changed."""
    with timed(view.clock):
        return _message(message, view, _behind(before, PreviousMessage()) if before else PreviousMessage())


def messages_html(messages: Iterable[Message], view: View, before: Message | None = None) -> Html:
    """Return several messages, which share the time limit for highlighting."""
    known = _behind(before, PreviousMessage()) if before else PreviousMessage()
    articles = []
    with timed(view.clock):
        for message in messages:
            articles.append(_message(message, view, known))
            known = _behind(message, known)
    return join(articles)


def _behind(message: Message, known: PreviousMessage) -> PreviousMessage:
    is_answer = message.kind is RowKind.ANSWER or (message.kind in UNSEEN and known.is_answer)
    model = message.model if message.model and message.model != SYNTHETIC else known.model
    return PreviousMessage(is_answer, model, _version(message) or known.version, message)


def _message(message: Message, view: View, before: PreviousMessage) -> Html:
    content = _told(message, view)
    is_continued = message.kind is RowKind.ANSWER and before.is_answer
    day = _day(message, before.message, view)
    classes = [
        "message",
        str(message.kind),
        content.tone,
        "continued" if is_continued else "",
        "new-day" if day else "",
    ]
    classes.append("starts-part" if message.starts_part else "")
    return el(
        "article",
        el("p", el("span", day), class_="day") if day else NOTHING,
        _part_start(message.starts_part) if message.starts_part is not None else NOTHING,
        _fork(view.forks[message.key]) if message.key in view.forks else NOTHING,
        _head(message, view, before, content),
        el("div", content.parts, class_="message-body"),
        *(_conflict(other) for other in message.conflicts),
        class_=" ".join(filter(None, classes)),
        id=f"m-{message.key}",
        data_kind=str(message.kind),
        data_detail=content.detail,
        data_time=moment(message.when) if message.when else None,
    )


def _part_start(start: PartStart) -> Html:
    """Return the divider before a part of the conversation."""
    text = PART_STARTS[start]
    return el("p", text[0].upper() + text[1:], class_="part-start", role="separator")


def _conflict(other: OtherText) -> Html:
    """Return the text that another machine has in the place of a message."""
    title = el("summary", f"{other.machine} has another text here")
    return el("details", title, el("div", prose(other.text), class_="message-body"), class_="conflict", open=True)


def _day(message: Message, before: Message | None, view: View) -> str:
    """Return the date if a new day begins here. It depends on these two alone: a page is made in pieces, and in any
    order."""
    if view.local is None or message.when is None or (before is not None and before.when is None):
        return ""
    day = view.local(message.when).date()
    if before is not None and before.when is not None and view.local(before.when).date() == day:
        return ""
    return f"{day:%A}, {day.day} {day:%B %Y}"


def _told(message: Message, view: View) -> ArticleContent:
    kind, text = message.kind, message.text
    row = message.rows[0]
    if kind is RowKind.ANSWER or (kind is RowKind.API_ERROR and message.blocks):
        is_own = message.model == SYNTHETIC
        detail = "normal" if kind is RowKind.API_ERROR else answer_detail(message)
        return ArticleContent(
            "Claude Code" if is_own else "Claude",
            answer_parts(message, view),
            detail,
            "error" if kind is RowKind.API_ERROR else "",
            "spark",
        )
    if kind in (RowKind.PROMPT, RowKind.QUEUED):
        is_task = row.is_sidechain
        body = prose(text) if is_task or has_headings(text) else _typed(text, view)
        who = "Task" if is_task else view.author
        parts = [body if text.strip() else NOTHING, *media(message.blocks, row.uuid, view)]
        return ArticleContent(who, parts, "talk", drawing="agent" if is_task else "person")
    if kind is RowKind.COMMAND:
        name, _, arguments = text.partition(" ")
        body = el("p", el("code", name, class_="command-name"), " ", arguments, class_="typed-text")
        return ArticleContent("Command", [body, *media(message.blocks, row.uuid, view)], "talk", drawing="slash")
    if kind is RowKind.SHELL:
        return ArticleContent("Shell", [command_line(text)], "talk", drawing="terminal")
    if kind in (RowKind.COMMAND_OUTPUT, RowKind.SHELL_OUTPUT):
        return ArticleContent("Output", [_output(text, view)], "normal" if _says_something(text) else "everything")
    aside = aside_of(message, view)
    line = el("summary", aside.line) if aside.folded else el("p", aside.line, class_="aside-line")
    body = el("details", line, el("div", aside.folded, class_="aside-body")) if aside.folded else line
    return ArticleContent("", [body], aside.detail, f"aside {aside.tone}".strip())


def _typed(text: str, view: View) -> Html:
    begin, lines = (text, 0) if view.whole else truncate(text, MAX_PROMPT_LINES, MAX_PROMPT_CHARS)
    if not lines:
        return typed_text(text)
    rest = text[len(begin) :]
    excerpt, cut_lines = truncate(rest, 5000, 200_000)
    more = el("p", "See the raw row for the rest.", class_="muted") if cut_lines else NOTHING
    left = lines - begin.count("\n") - 1
    folded = el("details", el("summary", f"{left:,} more lines" if left > 1 else f"{len(rest):,} more characters"),
                typed_text(excerpt), more, class_="typed-rest")  # fmt: skip
    return join([typed_text(begin), folded])


def _output(text: str, view: View) -> Html:
    if not _says_something(text):
        return el("p", "no output", class_="muted aside-line")
    excerpt, lines = (text, 0) if view.whole else truncate(text)
    if not lines:
        return terminal_html(excerpt)
    return join(
        [
            terminal_html(excerpt),
            el("details", el("summary", f"All {lines:,} lines"), terminal_html(truncate(text, 5000, 200_000)[0])),
        ]
    )


def _says_something(text: str) -> bool:
    return text.strip() not in ("", "(no content)")  # the client's own words for nothing


def _head(message: Message, view: View, before: PreviousMessage, told: ArticleContent) -> Html:
    model, version = message.model, _version(message)
    facts = []
    if message.kind is RowKind.QUEUED:
        facts.append(el("span", "sent while Claude was working", class_="badge"))
    if model and model not in (SYNTHETIC, before.model):
        facts.append(el("span", short_model(model), class_="model", title=_model_title(message, before)))
    if version and before.version and version != before.version:
        title = f"Claude Code was updated from {before.version} to {version}"
        facts.append(el("span", f"Claude Code {version}", class_="version", title=title))
    drawing = icon(told.drawing) if told.drawing else NOTHING
    name = el("span", drawing, told.who, class_="who") if told.who else NOTHING
    address = view.links.message(message.key)
    when = el("a", time_html(message.when, view.local), href=address, class_="when") if message.when else NOTHING
    spent = _spent(message, view)
    return el(
        "header",
        name,
        facts,
        el("span", when, spent, class_="when-and-cost"),
        _tools(message, view),
        class_="message-head",
    )


def _spent(message: Message, view: View) -> Html:
    usage = message.usage
    if usage is None or message.model == SYNTHETIC:
        return NOTHING
    context = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    known = message.id in view.costs
    cost = view.costs.get(message.id)
    sizes = f"{short(context)} in · {short(usage.output_tokens)} out"
    if known:
        sizes += f" · {dollars(cost // 1000) if cost is not None else 'unknown price'}"
    return el("span", sizes, class_="spent", title=_usage_title(usage))


def _usage_title(usage: Usage) -> str:
    return (
        f"Tokens of this answer: {usage.input_tokens:,} input, {usage.cache_read_input_tokens:,} read from the cache, "
        f"{usage.cache_creation_input_tokens:,} written to the cache, {usage.output_tokens:,} output"
    )


def _tools(message: Message, view: View) -> Html:
    is_run = message.kind is RowKind.API_ERROR and not message.blocks  # then each attempt has its own, in the list
    rows = message.rows[:1] if is_run else message.rows
    addresses = [address for row in rows if (address := view.links.raw(row.uuid))]
    raw = [raw_link(address, number) for number, address in enumerate(addresses, 1)]
    link = el("a", "#", href=view.links.message(message.key), aria_label="Link to this message", data_link=True)
    return el("div", link, _save_prompt(message, view), raw, class_="message-tools")


def _save_prompt(message: Message, view: View) -> Html:
    is_typed = message.kind in HUMAN and not message.rows[0].is_sidechain and message.text.strip()
    where = view.links.prompt(message.key) if is_typed else None
    if where is None:
        return NOTHING
    return el("a", "save prompt", href=where, data_dialog="prompt", data_title="Save this prompt")


def _fork(fork: Fork) -> Html:
    """Return the branches from here, side by side."""
    ways = fork.ways
    here = min(max(fork.here, 0), len(ways) - 1)

    def step(to: int, drawing: str, name: str) -> Html:
        if not 0 <= to < len(ways):
            return el("span", icon(drawing), class_="step", aria_hidden="true")
        branch, first, text = ways[to]
        return el("a", icon(drawing), href=_way(branch, first), class_="step", title=text, aria_label=name)

    # Each way lists all others: of very many only those around it, or a page would hold the square of their number.
    begin = max(0, min(here - MAX_LISTED_BRANCHES // 2, len(ways) - MAX_LISTED_BRANCHES))
    listed = ways[begin : begin + MAX_LISTED_BRANCHES]
    items = [
        el(
            "li",
            el("a", text or "Attachment", href=_way(branch, first), aria_current="true" if number == here else None),
        )
        for number, (branch, first, text) in enumerate(listed, begin)
    ]
    what = "You rewound" if fork.is_rewind else "Forked"
    left = len(ways) - len(listed)
    more = el("p", f"{left:,} more branches not listed", class_="muted") if left else NOTHING
    count = el(
        "details",
        el("summary", f"{here + 1} of {len(ways)}"),
        el("ol", items, start=begin + 1 if begin else None),
        more,
    )
    return el("nav", step(here - 1, "chevron-left", "Previous branch"), count,
              step(here + 1, "chevron-right", "Next branch"),
              el("span", f"{what} here: branch {ways[here][0]}", _instead(ways, here), class_="muted"),
              _compare(fork, here),
              class_="fork", aria_label="Branches from here")  # fmt: skip


def _instead(ways: Sequence[tuple[int, str, str]], here: int) -> str:
    """Return the other branch from here, if there is one."""
    if len(ways) != 2:
        return ""
    branch, _, text = ways[1 - here]
    short = text if len(text) <= LONGEST_WAY else f"{text[:LONGEST_WAY].rpartition(' ')[0] or text[:LONGEST_WAY]} …"
    return f" · branch {branch} goes on with “{short.strip()}”"


def _compare(fork: Fork, here: int) -> Html:
    """Return a link that compares this branch with the one before it."""
    other = fork.ways[here - 1 if here else 1][0]
    if fork.compare is None or other == fork.ways[here][0]:
        return NOTHING
    return el("a", "Compare", href=f"{fork.compare}?left={other}&right={fork.ways[here][0]}")


def _way(branch: int, message: str) -> str:
    return f"?branch={branch}#m-{message}"


def _version(message: Message) -> str | None:
    record = message.rows[0].record
    return record.version if isinstance(record, ChainRecord) else None


def _model_title(message: Message, before: PreviousMessage) -> str:
    record = message.rows[0].record
    effort = record.effort if isinstance(record, Assistant) else None
    models = [model for model in (before.model, message.model) if model]
    return " → ".join(models) + (f", effort {effort}" if effort else "")


UNSEEN: Final = frozenset(
    {RowKind.HOOK, RowKind.META, RowKind.NOTE, RowKind.ATTACHMENT, RowKind.PROGRESS, RowKind.UNKNOWN}
)
"""Kinds between two answers that do not separate them."""
MAX_LISTED_BRANCHES: Final = 50
LONGEST_WAY: Final = 50
MAX_PROMPT_LINES: Final = 40
MAX_PROMPT_CHARS: Final = 5000
