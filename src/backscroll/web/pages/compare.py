"""Two branches of a chat beside each other; on a phone, one below the other."""

from collections.abc import Callable
from itertools import groupby
from time import thread_time
from typing import Final

from backscroll.conversation.branches import Branch
from backscroll.conversation.model_names import short_models
from backscroll.errors import NothingFound
from backscroll.library.chats.branch_comparison import (
    MAX_TURNS,
    BranchComparison,
    ComparedBranch,
    ComparedTurn,
    FileChange,
    comparison_of,
)
from backscroll.render.html.chat_head import when_of
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.icons import icon
from backscroll.render.html.outline import first_words, money
from backscroll.render.html.prose import prose
from backscroll.render.html.time_limit import timed
from backscroll.render.reports import duration
from backscroll.render.terminal import plural
from backscroll.web.addresses import address, chat_address, part
from backscroll.web.layout import document
from backscroll.web.requests import PageRequest

MAX_ANSWER_LENGTH: Final = 4_000
"""Characters shown of an answer; the chat has the rest."""
SHORT_PROMPT: Final = 600
MAX_FILES: Final = 200
MAX_CHOICES: Final = 300


def show(request: PageRequest) -> Html:
    """Return the page. `left` and `right` are the numbers of the branches."""
    reader = request.state.open_chats.open(request.library, request.path("chat"))
    count = len(reader.chat.branches)
    left = request.number("left", 1, least=1)
    right = request.number("right", 2 if left == 1 else 1, least=1)
    for number in (left, right):
        if number > count > 1:
            raise NothingFound(f"there is no branch {number}", f"this chat has {count}")
    comparison = comparison_of(request.library, reader, left, right)
    chat = reader.stored.overview
    with timed(thread_time):
        main = el(
            "div",
            el("p", el("a", icon("arrow-left"), first_words(chat.title, 80), href=_branch(chat.id, left, right)),
               class_="back"),
            el("h1", "Compare branches"),
            _choice(reader.chat.branches, left, right),
            _shared(chat.id, comparison),
            el("div", _facts(comparison), _files(comparison), class_="compare-overview"),
            el("div", _column(chat.id, comparison.left, right), _column(chat.id, comparison.right, left),
               class_="compare-columns"),
            class_="compare",
        )  # fmt: skip
    return document(
        f"Compare branches · {chat.title}", main, here="/chats", styles=("code.css", "messages.css", "compare.css"),
        scripts=("compare.js",), body_class="compare-page",
    )  # fmt: skip


def _choice(branches: list[Branch], left: int, right: int) -> Html:
    def field(name: str, chosen: int, label: str) -> Html:
        listed = branches[:MAX_CHOICES]
        options = [
            el("option", _option(branch), value=branch.number,
               selected=True if branch.number == chosen else None)
            for branch in (*listed, *([branches[chosen - 1]] if chosen > len(listed) else ()))
        ]  # fmt: skip
        return el("label", el("span", label), el("select", options, name=name, aria_label=label))

    swap = el("a", "Swap", href=address("", left=right, right=left), class_="button", id="swap", title="Swap (x)")
    return el(
        "form",
        field("left", left, "Left branch"),
        field("right", right, "Right branch"),
        el("button", "Compare", class_="primary"),
        swap,
        class_="compare-choice",
        id="compare-choice",
    )


def _option(branch: Branch) -> str:
    prompts = (turn.head.row.text for turn in branch.turns if turn.head and turn.head.row.text.strip())
    begins = first_words(next(prompts, ""), 60) or "no prompt"
    return f"{branch.number}{' (active)' if branch.number == 1 else ''}: {begins}"


def _shared(chat: str, found: BranchComparison) -> Html:
    if found.fork is None:
        return el("p", "These branches share nothing: each begins on its own.", class_="muted")
    text = f" after “{first_words(found.fork_text, 120)}”" if found.fork_text else ""
    link = el("a", "Show where they part", href=chat_address(chat, found.fork), id="fork")
    sentence = f"They share {plural(found.shared_messages, 'message')} and part{text}."
    return el("p", sentence, " ", link, class_="muted")


def _facts(found: BranchComparison) -> Html:
    left, right = found.left, found.right
    rows: list[tuple[str, Callable[[ComparedBranch], object]]] = [
        ("Prompts", lambda side: f"{side.prompts:,}"),
        ("Answers", lambda side: f"{side.answers:,}"),
        ("Tool calls", lambda side: f"{side.calls:,}"),
        ("Errors", lambda side: f"{side.errors:,}"),
        ("Agents", lambda side: f"{side.agents:,}"),
        ("Files changed", lambda side: f"{len(side.files):,}"),
        ("Lines", _lines),
        ("Cost", lambda side: money(side.cost) if side.cost is not None else "unknown"),
        ("Began", lambda side: when_of(side.started) if side.started else "–"),
        ("Lasted", _lasted),
        ("Models", lambda side: ", ".join(short_models(side.models).values()) or "–"),
    ]
    body = [
        el("tr", el("th", name, scope="row"), el("td", value_of(left)), el("td", value_of(right)))
        for name, value_of in rows
        if (name != "Agents" or left.agents or right.agents) and (name != "Lines" or left.files or right.files)
    ]
    head = el("tr", el("td"), el("th", _name(left), scope="col"), el("th", _name(right), scope="col"))
    table = el(
        "table",
        el("caption", "Totals after the point where they part", class_="unseen"),
        el("thead", head),
        el("tbody", body),
        class_="compare-facts",
    )
    return el("section", el("h2", "After the fork"), table, el("p", "The cost includes agents.", class_="muted"))


def _lines(side: ComparedBranch) -> Html:
    return _counts(FileChange(0, side.added, side.removed))


def _lasted(side: ComparedBranch) -> str:
    if side.started is None or side.ended is None:
        return "–"
    return duration(round((side.ended - side.started).total_seconds()))


def _files(found: BranchComparison) -> Html:
    files = found.files
    if not files:
        return NOTHING  # the totals say so
    rows = [
        el(
            "tr",
            el("th", el("a", file.file, href=f"/files?path={part(file.file)}"), scope="row", class_="mono"),
            el("td", _change(file.left), data_label=_name(found.left)),
            el("td", _change(file.right), data_label=_name(found.right)),
        )
        for file in files[:MAX_FILES]
    ]
    head = el("tr", el("th", "File", scope="col"), el("th", _name(found.left), scope="col"),
              el("th", _name(found.right), scope="col"))  # fmt: skip
    more = len(files) - MAX_FILES
    table = el("table", el("thead", head), el("tbody", rows), class_="compare-files")
    return el(
        "section",
        el("h2", "Files changed"),
        table,
        el("p", f"… and {more:,} more", class_="muted") if more > 0 else None,
    )


def _change(change: FileChange | None) -> Html:
    if change is None:
        return el("span", "–", class_="muted", aria_label="not changed")
    return el("span", _counts(change), " ", el("span", f"in {plural(change.edits, 'edit')}", class_="muted"))


def _counts(change: FileChange) -> Html:
    return el("span", el("span", f"+{change.added:,}", class_="added-count"), " ",
              el("span", f"−{change.removed:,}", class_="removed-count"), class_="counts")  # fmt: skip


def _column(chat: str, side: ComparedBranch, other: int) -> Html:
    link = el("a", "Read from the fork", href=_branch(chat, side.number, other))
    turns: list[Html] = []
    for unanswered, same in groupby(side.turns[:MAX_TURNS], _unanswered_prompt):
        group = list(same)
        if unanswered is None:
            turns += [_turn(chat, side.number, turn) for turn in group]
        else:
            turns.append(_unanswered(chat, side.number, group))
    if len(side.turns) > MAX_TURNS:
        turns.append(el("p", f"… and {plural(len(side.turns) - MAX_TURNS, 'more turn')}", class_="muted"))
    nothing = el("p", "It ends where they part.", class_="muted")
    return el(
        "section",
        el("header", el("h2", _name(side)), link, class_="compare-head"),
        turns or nothing,
        aria_label=_name(side),
        class_="compare-column",
    )


def _unanswered_prompt(turn: ComparedTurn) -> str | None:
    """Return the prompt of a turn in which nothing else happened."""
    is_short = len(turn.prompt) <= SHORT_PROMPT and str(turn.heading.kind) != "compaction"
    is_bare = is_short and not (turn.answer or turn.files or turn.heading.calls or turn.cost)
    return (turn.prompt or "(no text)") if is_bare else None


def _unanswered(chat: str, branch: int, turns: list[ComparedTurn]) -> Html:
    """Return one line for the same prompt without an answer, sent once or several times in a row."""
    first = turns[0]
    text = el("a", first.prompt or "(no text)", href=_message(chat, branch, first.heading.key))
    times = f" × {len(turns):,}" if len(turns) > 1 else ""
    return el("p", text, el("span", f"no answer{times}", class_="muted"), class_="compare-unanswered")


def _turn(chat: str, branch: int, turn: ComparedTurn) -> Html:
    heading = turn.heading
    answer = (
        turn.answer if len(turn.answer) <= MAX_ANSWER_LENGTH else turn.answer[:MAX_ANSWER_LENGTH].rpartition("\n")[0]
    )
    cut = (
        el("p", el("a", "Read all of it", href=_message(chat, branch, turn.answer_key)))
        if answer != turn.answer
        else None
    )
    facts = [
        plural(heading.calls, "tool call") if heading.calls else None,
        el("span", plural(heading.errors, "error"), class_="error") if heading.errors else None,
        money(turn.cost) if turn.cost else None,
        el("a", "Read in the chat", href=_message(chat, branch, heading.key)),
    ]
    if str(heading.kind) == "compaction" and not (answer or turn.files):
        return el("p", el("a", "Compacted", href=_message(chat, branch, heading.key)), class_="compare-compacted")
    names = [file.rsplit("/", 1)[-1] for file in turn.files]
    changed = el("p", icon("file"), ", ".join(names[:6]), f" and {len(names) - 6} more" if len(names) > 6 else "",
                 class_="compare-changed", title="\n".join(turn.files))  # fmt: skip
    return el(
        "article",
        _prompt(turn.prompt, str(heading.kind)),
        el("div", prose(answer), cut, class_="compare-answer text") if answer else None,
        changed if names else None,
        el("p", [el("span", fact) for fact in facts if fact], class_="compare-turn-facts"),
        class_="compare-turn card",
    )


def _prompt(text: str, kind: str) -> Html:
    if kind == "compaction":
        return el("p", "Compacted", class_="compare-prompt muted")
    if kind not in ("prompt", "command", "shell") and not text:
        return NOTHING
    if len(text) <= SHORT_PROMPT:
        return el("p", text or "(no text)", class_="compare-prompt")
    summary = el("summary", first_words(text, SHORT_PROMPT // 2))
    return el("details", summary, el("p", text), class_="compare-prompt")


def _name(side: ComparedBranch) -> str:
    return f"Branch {side.number}{' (active)' if side.number == 1 else ''}"


def _branch(chat: str, branch: int, other: int) -> str:
    return f"{chat_address(chat)}?branch={branch}&from={other}"


def _message(chat: str, branch: int, message: str | None) -> str | None:
    if message is None:
        return None
    at = part(message)
    return f"{chat_address(chat)}?branch={branch}&at={at}#m-{at}"
