"""The lists of the Spend page: cost by part and by dimension, and the dearest chats and turns with reasons."""

from collections.abc import Mapping, Sequence
from typing import Final

from backscroll.library.analytics.cost_parts import PARTS
from backscroll.library.analytics.spend import DIMENSIONS, MAIN, NO_TOOL, UNKNOWN, Spend, SpendGroup, SpentItem
from backscroll.library.analytics.spend_reasons import reasons
from backscroll.library.analytics.spend_summary import least, money, signed
from backscroll.render.html.charts import bar
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.figures import BEFORE, series_class
from backscroll.render.terminal import clean_line, plural
from backscroll.web.addresses import chat_address
from backscroll.web.pages.group_names import group_names
from backscroll.web.pages.spend_request import SpendRequest

SHOWN: Final = 5
"""Number of items shown; the next are folded below them."""
FOLDED: Final = 25
DEAREST: Final = 3
DEAREST_FOLDED: Final = 8
MAX_LINE_LENGTH: Final = 160
COLOURS: Final = {name: number for number, name in enumerate(PARTS)}
TITLES: Final = {"model": "Model", "project": "Project", "chat": "Chat", "agent": "Agent", "tool": "Tool"}
ABOUT: Final = {"tool": "of the answers that call it", "agent": "of its own answers"}


def why(found: Spend) -> Html:
    """Return what the money paid for, in both periods."""
    names = sorted(PARTS, key=lambda name: -found.total.parts[name])
    parts = [name for name in names if found.total.parts[name] or found.before.parts[name]]
    most = max((max(found.total.parts[name], found.before.parts[name]) for name in parts), default=0)
    is_compared, has_change = found.period.before is not None, found.is_comparable
    rows = []
    for name in parts:
        now, before = found.total.parts[name], found.before.parts[name]
        rows.append(
            el(
                "tr",
                el("th", el("span", class_=f"swatch {_colour(name)}", aria_hidden="true"), " ", PARTS[name],
                   el("span", MEANINGS[name], class_="meaning"), scope="row"),
                el("td", bar([now], most, [COLOURS[name]]), bar([before], most, [BEFORE]) if is_compared else NOTHING,
                   class_="bar-cell"),
                _number("Cost", money(now)),
                _number("Share", _share(now, found.total.cost)),
                _number("Before", money(before)) if is_compared else NOTHING,
                _change(now - before) if has_change else NOTHING,
            )
        )  # fmt: skip
    heads = ["Cost", "Share", *(["Before"] if is_compared else []), *(["Change"] if has_change else [])]
    head = [el("th", "Part", scope="col"), el("th", el("span", "As a bar", class_="unseen"), scope="col"),
            *(el("th", name, scope="col", class_="number") for name in heads)]  # fmt: skip
    total = el("tr", el("th", "Total", scope="row"), el("td"), _number("Cost", least(found.total)),
               _number("Share", "100 %"), _number("Before", least(found.before)) if is_compared else NOTHING,
               _change(found.total.cost - found.before.cost) if has_change else NOTHING)  # fmt: skip
    table = el("table", el("caption", "What the money paid for", class_="unseen"), el("thead", el("tr", head)),
               el("tbody", rows), el("tfoot", total), class_="report cards why")  # fmt: skip
    below = "The lower, grey bar is the period before." if is_compared else ""
    return el(
        "section", el("h2", "Why: what the money paid for"), table, el("p", below, class_="muted") if below else NOTHING
    )


def by_dimension(asked: SpendRequest, found: Spend) -> Html:
    """Return a list for each dimension, in which everything is a filter."""
    return el("div", [_panel(asked, found, dimension) for dimension in DIMENSIONS], class_="panels")


def dearest_chats(asked: SpendRequest, found: Spend) -> Html:
    """Return the dearest chats, each with its reasons."""
    groups = [group for group in found.groups["chat"] if group.now.cost][:DEAREST_FOLDED]
    items = []
    for group in groups:
        chat = None if group.name == UNKNOWN else group.name
        title = _line(group.title) or "(no title)"
        name = el("a", title, href=chat_address(chat)) if chat else el("span", "Not part of a chat")
        more = [plural(group.now.answers, "answer")]
        if found.period.before and group.before.cost:
            more.append(f"{money(group.before.cost)} in the period before")
        only = (
            el("a", "Only this chat", href=asked.toggled("chat", group.name))
            if chat and not asked.only.chat
            else NOTHING
        )
        items.append(_dear(found, name, group.now.cost, found.chats.get(group.name, []), more, only))
    return _dearest("Dearest chats", items, sum(1 for group in found.groups["chat"] if group.now.cost), "chat", asked)


def dearest_turns(asked: SpendRequest, found: Spend) -> Html:
    """Return the dearest turns, each with its reasons."""
    items = []
    for turn in [turn for turn in found.turns if turn.cost][:DEAREST_FOLDED]:
        text = _line(turn.prompt.text) if turn.prompt else ""
        where = chat_address(turn.chat, turn.prompt.uuid if turn.prompt else None) if turn.chat != UNKNOWN else None
        words = text or ("Before the first prompt" if not turn.prompt else "(no text)")
        name = el("a", words, href=where) if where else el("span", words)
        more = [plural(len(turn.items), "answer"), f"in “{_line(found.titles.get(turn.chat, ''), 60)}”"]
        items.append(_dear(found, name, turn.cost, turn.items, more, NOTHING))
    return _dearest("Dearest turns", items, sum(1 for turn in found.turns if turn.cost), "turn", asked)


def _with_a_cost(groups: Sequence[SpendGroup], one: str, many: str) -> str:
    """Return how many of some groups cost something in the period, and how much; how many cost nothing then."""
    paid = [group for group in groups if group.now.cost]
    paid_text = f"{len(paid):,} {one if len(paid) == 1 else many}: {money(sum(group.now.cost for group in paid))}"
    free = len(groups) - len(paid)
    if not paid:
        return f"{free:,} {one if free == 1 else many} without a cost in this period"
    return paid_text + (f"; {free:,} without a cost in this period" if free else "")


def _panel(asked: SpendRequest, found: Spend, dimension: str) -> Html:
    groups = found.groups[dimension]
    most = max((max(group.now.cost, group.before.cost) for group in groups), default=0)
    is_compared = found.period.before is not None
    rows: list[Html] = []
    short = group_names(dimension, [group.name for group in groups])
    for group in groups[: SHOWN + FOLDED]:
        name, whole = _named(dimension, group, short), group.name
        is_chosen = getattr(asked.only, dimension) == group.name
        link = el("a", name, href=asked.toggled(dimension, group.name), title=whole if whole != name else None,
                  aria_current="true" if is_chosen else None, class_="bar-name")  # fmt: skip
        before = bar([group.before.cost], most, [BEFORE]) if is_compared else NOTHING
        drawn = el("span", bar([group.now.cost], most), before, class_="pair")
        changed = _changed(group.change) if is_compared and group.is_comparable else NOTHING
        rows.append(el("li", link, el("span", least(group.now), changed, class_="bar-value"), drawn))
    rest, left = groups[SHOWN:], groups[SHOWN + FOLDED :]
    more: Html = NOTHING
    if rest:
        summary = _with_a_cost(rest, "other", "others")
        cut = f"{_with_a_cost(left, 'more', 'more')} are not listed" if left else ""
        more = el(
            "details",
            el("summary", summary),
            el("ul", rows[SHOWN:], class_="bars"),
            el("p", cut, class_="muted") if cut else NOTHING,
            class_="others",
        )
    about = el("span", ABOUT[dimension], class_="chart-note") if dimension in ABOUT else NOTHING
    return el(
        "details",
        el("summary", el("h2", f"By {TITLES[dimension].lower()}", about)),
        el("ul", rows[:SHOWN], class_="bars"),
        more,
        class_="panel",
        data_dimension=dimension,
        data_fold=None if dimension in ("model", "project") else "(max-width: 720px)",
        open=True,
    )


def _dear(found: Spend, name: Html, cost: int, items: Sequence[SpentItem], more: Sequence[str], only: Html) -> Html:
    causes = reasons(items)
    parts: dict[str, int] = {}
    for item in items:
        for part, value in item.parts.items():
            parts[part] = parts.get(part, 0) + value
    ordered = [part for part in PARTS if parts.get(part)]
    drawn = bar([parts[part] for part in ordered], max(cost, 1), [COLOURS[part] for part in ordered])
    lines = [
        el("li", el("span", class_=f"swatch {_colour(cause.part)}", aria_hidden="true"), " ",
           el("strong", f"{cause.title}: {money(cause.cost)} ({100 * cause.share:.0f} %)"), " ", cause.text)
        for cause in causes
    ]  # fmt: skip
    share = _share(cost, found.total.cost)
    return el(
        "li",
        el("div", name, el("span", el("strong", money(cost)), el("span", f" {share}", class_="muted"), class_="cost"),
           class_="dear-head"),
        drawn,
        el("ul", lines, class_="reasons") if lines else NOTHING,
        el("p", " · ".join(more), " · " if only else NOTHING, only, class_="muted"),
    )  # fmt: skip


def _dearest(title: str, items: Sequence[Html], count: int, by: str, asked: SpendRequest) -> Html:
    if not items:
        return NOTHING
    left = count - len(items)
    whole = asked.as_report(by)
    more = (
        el("p", f"{plural(left, f'other {by}')}. ", el("a", "Show all as a table", href=whole)) if left > 0 else NOTHING
    )
    folded = (
        el(
            "details",
            el("summary", f"{plural(len(items) - DEAREST, f'more {by}')}"),
            el("ol", items[DEAREST:], class_="dear", start=DEAREST + 1),
            class_="others",
        )
        if len(items) > DEAREST
        else NOTHING
    )
    visible = el("ol", items[:DEAREST], class_="dear")
    return el("section", el("h2", title), visible, folded, more, id=f"dearest-{by}s")


def _named(dimension: str, group: SpendGroup, short: Mapping[str, str]) -> str:
    if dimension == "agent" and group.name in AGENTS:
        return AGENTS[group.name]
    if dimension == "tool" and group.name == NO_TOOL:
        return "no tool called"
    if group.name == UNKNOWN:
        return "unknown"
    return _line(group.title, 70) if dimension in ("chat", "agent") and group.title else short[group.name]


def _line(text: str, longest: int = MAX_LINE_LENGTH) -> str:
    line = clean_line(" ".join(text.split()))
    return line if len(line) <= longest else line[: longest - 1].rsplit(" ", 1)[0] + "…"


def _number(label: str, text: str) -> Html:
    return el("td", text, class_="number", data_label=label)


def _share(part: int, whole: int) -> str:
    if not whole:
        return "-"
    return "< 1 %" if 0 < part < whole / 200 else f"{100 * part / whole:.0f} %"


def _change(difference: int) -> Html:
    return el("td", _changed(difference), class_="number", data_label="Change")


def _changed(difference: int) -> Html:
    if abs(difference) < 5_000_000:
        return el("span", " ±0", class_="changed same")
    return el("span", " " + signed(difference), class_=f"changed {'up' if difference > 0 else 'down'}")


def _colour(part: str) -> str:
    return series_class(COLOURS[part])


AGENTS: Final = {MAIN: "main conversation", "inline": "agents in the chat's own file"}
MEANINGS: Final = {
    "context": "sent with every answer, read from the cache",
    "new": "prompts, files and tool output, written to the cache",
    "pause": "the cache lasts 5 minutes or an hour; then the context is written again",
    "switch": "each model has a cache of its own",
    "lost": "written again for a reason that transcripts do not show",
    "output": "answers, thinking and tool input",
    "agents": "everything that sub-agents cost",
    "uncached": "input that bypassed the cache",
    "searches": "$0.01 each",
}
