"""Every change to a file: when, in which chat, for which prompt, and which lines."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from backscroll.library.analytics.file_calls import FileCallRow, PromptFinder, TypedPrompt, input_of, result_of
from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.render.html.code import code
from backscroll.render.html.diffs import DiffHunk, diff, diff_texts
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.terminal import clean_line, moment
from backscroll.web.addresses import chat_address
from backscroll.web.pages.chat_rows import when
from backscroll.web.pages.stats_links import call_address, file_address
from backscroll.web.requests import PageRequest

ON_A_PAGE: Final = 30
OPEN_LINES: Final = 40
"""Changes with more lines are collapsed."""
KEPT: Final = 200
"""The library keeps this many characters of a prompt; one this long was cut."""
LONGEST_TEXT: Final = 60_000
ENDS: Final = {"error": "failed", "denied": "was denied", "interrupted": "was interrupted", None: "has no result"}


class ChangedTurn(NamedTuple):
    """The changes that one prompt made to a file, in the chat itself or through an agent."""

    chat: str | None
    agent: str | None
    prompt: TypedPrompt | None
    calls: list[FileCallRow]


def changes(request: PageRequest, file: str, calls: Sequence[FileCallRow]) -> Html:
    """Return the changes, the newest first; with `reads=1` in the address, reads too."""
    with_reads = request.get("reads") == "1"
    wanted = [call for call in calls if call.changes or with_reads]
    wanted.sort(key=lambda call: call.time or 0, reverse=True)
    page = request.number("page", 1, 1, 100_000)
    here = wanted[(page - 1) * ON_A_PAGE : page * ON_A_PAGE]
    titles = request.library.titles()
    with request.library.texts() as texts:
        turns = [_turn(texts, file, turn, titles) for turn in _turns(request.library, here)]
    more = {"reads": "1"} if with_reads else {}
    switch = el("a", "Hide reads" if with_reads else "Show reads",
                href=file_address(file) if with_reads else file_address(file, reads="1"), class_="button")  # fmt: skip
    steps = [
        el("a", "Newer", class_="button", href=file_address(file, page=str(page - 1), **more)) if page > 1 else None,
        el("a", "Older", class_="button", href=file_address(file, page=str(page + 1), **more))
        if page * ON_A_PAGE < len(wanted)
        else None,
    ]
    nothing = el("p", "No changes: this file was only read.", class_="muted") if not here else NOTHING
    return join([
        el("p", switch),
        nothing,
        turns,
        el("nav", [step for step in steps if step], class_="steps", aria_label="Pages") if any(steps) else NOTHING,
    ])  # fmt: skip


def prompt_text(prompt: TypedPrompt) -> str:
    """Return the start of the prompt, on one line."""
    return clean_line(prompt.text) + ("…" if len(prompt.text) >= KEPT else "")


def _turns(library: Library, calls: Sequence[FileCallRow]) -> list[ChangedTurn]:
    """Group consecutive calls that belong to the same prompt."""
    prompts = PromptFinder(library)
    turns: list[ChangedTurn] = []
    for call in calls:
        prompt = prompts.of(call)
        last = turns[-1] if turns else None
        if last and (last.chat, last.agent, last.prompt) == (call.chat, call.agent, prompt):
            last.calls.append(call)
        else:
            turns.append(ChangedTurn(call.chat, call.agent, prompt, [call]))
    return turns


def _turn(texts: Texts, file: str, turn: ChangedTurn, titles: dict[str, str]) -> Html:
    title = clean_line(titles.get(turn.chat or "", "")) or (turn.chat or "unknown chat")[:8]
    link = el("a", title[:120], href=chat_address(turn.chat)) if turn.chat else el("span", title)
    prompt = NOTHING
    if turn.prompt and turn.chat:
        prompt = el(
            "blockquote",
            el("a", prompt_text(turn.prompt) or "(empty)", href=chat_address(turn.chat, turn.prompt.uuid)),
            class_="asked-for",
        )
    head = el(
        "header",
        link,
        el("span", "by an agent", class_="badge") if turn.agent else None,
        el("span", "rewound", class_="badge warn") if all(call.is_abandoned for call in turn.calls) else None,
    )
    return el("article", head, prompt, [_change(texts, file, call) for call in turn.calls], class_="turn card")


def _change(texts: Texts, file: str, call: FileCallRow) -> Html:
    where = call_address(call)
    then = file_address(file, view="versions", at=moment(call.when)) if call.when and call.changes else None
    links = [
        el("a", "show in chat", href=where) if where else None,
        el("a", "file at this point", href=then) if then and call.is_done else None,
    ]
    led = el("span", join(_without_none(links), " · "), class_="links")
    if not call.is_done or not call.changes:
        ended = NOTHING if call.is_done else el("span", ENDS.get(call.state, "failed"), class_="badge error")
        return el("div", led, join([el("strong", call.tool), when(call.when), ended], " "), class_="change")
    got = result_of(texts, call)
    count = sum(len(hunk.lines) for hunk in got.hunks)
    if got.hunks:
        body = diff(_numbered_hunks(got.hunks), file)
    else:
        body, count = _requested(texts, file, call)
    head = [
        el("strong", call.tool),
        when(call.when),
        el("span", f"+{got.added}", class_="added-lines"),
        el("span", f"−{got.removed}", class_="removed-lines"),
        el("span", "edited by you", class_="badge") if got.by_user else None,
    ]
    details = el("details", el("summary", join(_without_none(head), " ")), body, open=count <= OPEN_LINES)
    return el("div", led, details, class_="change")


def _numbered_hunks(hunks: Iterable[tuple[int, tuple[str, ...]]]) -> Iterator[DiffHunk]:
    """Yield hunks with line numbers for both sides."""
    moved = 0
    for start, lines in hunks:
        yield DiffHunk(start, start + moved, lines)
        moved += sum(line.startswith("+") for line in lines) - sum(line.startswith("-") for line in lines)


def _requested(texts: Texts, file: str, call: FileCallRow) -> tuple[Html, int]:
    """Return the change as requested, for results that do not contain its lines; and its number of lines."""
    requested = input_of(texts, call)
    if requested.content is not None:
        text = requested.content[:LONGEST_TEXT]
        cut = el("p", "The rest is not shown.", class_="muted") if len(text) < len(requested.content) else NOTHING
        return join([code(text, file=file, first_line=1), cut]), text.count("\n") + 1
    if not requested.replacements:
        return el("p", "The changed lines are not recorded.", class_="muted"), 0
    diffs = [diff_texts(edit.old[:LONGEST_TEXT], edit.new[:LONGEST_TEXT], file) for edit in requested.replacements]
    return join(diffs), sum(edit.old.count("\n") + edit.new.count("\n") + 2 for edit in requested.replacements)


def _without_none(parts: Sequence[Html | None]) -> Iterator[Html]:
    return (part for part in parts if part is not None)
