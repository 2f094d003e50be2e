"""The context of a chat: the parts that filled the window at every turn, compactions, and what they removed."""

from collections.abc import Mapping, Sequence
from typing import Final

from backscroll.conversation.context_window import context_window
from backscroll.library.analytics.context_fill import (
    PARTS,
    CompactedContext,
    ContextFill,
    FilledTurn,
    Tokens,
    context_fill,
)
from backscroll.library.analytics.moments import local
from backscroll.library.analytics.reports import ReportRequest
from backscroll.render.html.charts import Axis, Level, Series, bar, stacked_bars
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.figures import series_class
from backscroll.render.html.icons import icon
from backscroll.render.html.reports import notes_list
from backscroll.render.reports import short
from backscroll.render.terminal import clean_line, plural
from backscroll.web.addresses import chat_address
from backscroll.web.layout import document, empty_state
from backscroll.web.reader_zone import READER_ZONE
from backscroll.web.requests import PageRequest

COLOURS: Final = {
    "system": 6, "summary": 4, "prompt": 2, "answer": 0, "thinking": 5, "input": 8, "output": 1, "agents": 3,
    "other": 7, "unknown": -1,
}  # fmt: skip
MAX_TURNS: Final = 400
TOOLS: Final = 6


def show(request: PageRequest) -> Html:
    """Return the page; `turn` selects a turn, by default the last."""
    stored = request.library.find(request.path("chat"))
    chat = stored.overview.id
    fill = context_fill(request.library, chat)
    title = clean_line(stored.overview.title) or "(no title)"
    head = join([
        el("p", el("a", icon("arrow-left"), title, href=chat_address(chat)), class_="back"),
        el("h1", "What fills the context"),
    ])  # fmt: skip
    if not fill.turns:
        main = join([head, empty_state("chart", "No answer of this chat says how many tokens it had before it.")])
        return document("Context", main, here="/chats", styles=("stats.css", "spend.css"))
    at = min(request.number("turn", len(fill.turns), least=1) - 1, len(fill.turns) - 1)
    main = join([
        head,
        _chart(fill),
        _turn(fill, at, chat),
        _compactions(fill),
        el("details", el("summary", "What is counted, and what is estimated"), notes_list(_notes(fill)),
           class_="counted"),
    ])  # fmt: skip
    return document("Context", main, here="/chats", styles=("stats.css", "spend.css"), scripts=("stats.js",))


def grouped(parts: Mapping[str, int]) -> Tokens:
    """Sum the parts, with the outputs of all tools together."""
    sums: Tokens = {}
    for name, tokens in parts.items():
        sums[name.partition(":")[0]] = sums.get(name.partition(":")[0], 0) + tokens
    return sums


def _chart(found: ContextFill) -> Html:
    turns = found.turns[-MAX_TURNS:]
    sums = [grouped(turn.parts) for turn in turns]
    first = len(found.turns) - len(turns) + 1
    axis = Axis([f"turn {first + number}" for number in range(len(turns))])
    names = [name for name in PARTS if any(parts.get(name) for parts in sums)]
    series = [Series(PARTS[name], [float(parts.get(name, 0)) for parts in sums], COLOURS[name]) for name in names]
    before = max((cut.stated.before or sum(cut.before.values()) for cut in found.compacted), default=None)
    window = context_window(turns[-1].model, max(found.largest, before or 0), before)
    level = Level(float(window), "Window") if window else None
    note = f"Turns {first} to {len(found.turns)}, each before its last answer. Totals are counted, parts are estimated."
    if not window:
        note += " The size of the window is not known."
    if first > 1:
        note += f" {plural(first - 1, 'earlier turn')} not drawn."
    return stacked_bars(axis, series, label="Context by turn", measure="context_tokens", note=note, level=level)


def _turn(found: ContextFill, at: int, chat: str) -> Html:
    turn = found.turns[at]
    steps = [
        el("a", text, href=f"{chat_address(chat)}/context?turn={number + 1}", class_="button", rel=way)
        if 0 <= number < len(found.turns) else el("span", text, class_="button off")
        for text, number, way in (("Earlier turn", at - 1, "prev"), ("Later turn", at + 1, "next"))
    ]  # fmt: skip
    prompt = clean_line(" ".join(turn.prompt.text.split()))[:200] if turn.prompt else "Before the first prompt"
    where = chat_address(chat, turn.prompt.uuid) if turn.prompt else chat_address(chat)
    return el(
        "section",
        el("h2", f"Turn {at + 1} of {len(found.turns)}: {short(turn.tokens)} tokens"),
        el("p", el("a", prompt or "(no text)", href=where)),
        el("p", join(steps, " "), id="turn-steps", class_="steps"),
        _parts_table(turn),
    )


def _parts_table(turn: FilledTurn) -> Html:
    tools = sorted(
        ((name.partition(":")[2], tokens) for name, tokens in turn.parts.items() if name.startswith("output:")),
        key=lambda item: -item[1],
    )
    sums = grouped(turn.parts)
    most = max(sums.values(), default=0)
    rows = []
    for name in sorted((name for name in PARTS if sums.get(name)), key=lambda name: -sums[name]):
        meaning = MEANINGS.get(name, "")
        if name == "output":
            meaning = ", ".join(f"{tool} {short(tokens)}" for tool, tokens in tools[:TOOLS])
            meaning += f", {plural(len(tools) - TOOLS, 'other tool')}" if len(tools) > TOOLS else ""
        rows.append(
            el("tr",
               el("th", el("span", class_=f"swatch {series_class(COLOURS[name])}", aria_hidden="true"), " ",
                  PARTS[name], el("span", meaning, class_="meaning"), scope="row"),
               el("td", bar([sums[name]], most, [COLOURS[name]]), class_="bar-cell"),
               el("td", f"{sums[name]:,}", class_="number", data_label="Tokens"),
               el("td", f"{100 * sums[name] / turn.tokens:.0f} %", class_="number", data_label="Share"))
        )  # fmt: skip
    total = el("tr", el("th", "Total, counted", scope="row"), el("td"),
               el("td", f"{turn.tokens:,}", class_="number", data_label="Tokens"),
               el("td", "100 %", class_="number", data_label="Share"))  # fmt: skip
    head = [el("th", "Part, estimated", scope="col"), el("th", el("span", "As a bar", class_="unseen"), scope="col"),
            el("th", "Tokens", scope="col", class_="number"),
            el("th", "Share", scope="col", class_="number")]  # fmt: skip
    return el("table", el("caption", "Parts of the context", class_="unseen"), el("thead", el("tr", head)),
              el("tbody", rows), el("tfoot", total), class_="report cards why")  # fmt: skip


def _compactions(found: ContextFill) -> Html:
    if not found.compacted:
        return NOTHING
    return el("section", el("h2", "Where it was compacted"), el("ol", [_compaction(cut) for cut in found.compacted]))


def _compaction(cut: CompactedContext) -> Html:
    before, after = sum(cut.before.values()), sum(cut.after.values())
    lost = {name: tokens for name, tokens in grouped(cut.before).items() if name != "system" and tokens}
    parts = ", ".join(
        f"{PARTS[name].lower()} {short(lost[name])}" for name in sorted(lost, key=lambda name: -lost[name])
    )
    when = f"{local(ReportRequest(zone=READER_ZONE.get()), cut.time):%Y-%m-%d %H:%M}"
    stated = f" The transcript says {short(cut.stated.before)} before it." if cut.stated.before else ""
    size = f"{when}: from {short(before)} before the last answer to {short(after)} before the next one.{stated}"
    return el("li", f"{size} Replaced by a summary, about: {parts}.")


def _notes(found: ContextFill) -> Sequence[str]:
    notes = [
        "totals are counted: input, cache reads and cache writes of the last answer of a turn",
        "parts are estimated, and add up to the total: what is new before an answer is divided by its characters",
        (
            "the system prompt, the tools and CLAUDE.md are not in the transcript: they are what the first answer had "
            "besides the prompt, at 4 characters a token"
        ),
        "thinking counts where its text is in the transcript; since Claude Code 2.1 it mostly is not",
        "of a chat with branches, turns follow each other in time, whatever branch they are on",
        "agents have contexts of their own, which are not included; what they answered is",
    ]
    if found.shrunk:
        times = f"{plural(found.shrunk, 'time')} the context became smaller without a compaction"
        notes.append(f"{times}: all parts but the first shrink alike there, because it is not known what was left out")
    return notes


MEANINGS: Final = {
    "system": "not in the transcript; estimated at the first answer",
    "summary": "what a compaction left of the conversation, and files that were read again",
    "answer": "what Claude wrote",
    "input": "what tools were called with",
    "agents": "what sub-agents returned",
    "unknown": "came to the context without a passage in the transcript",
}
