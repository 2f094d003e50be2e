"""The sidebar of a chat: its prompts with costs and errors, the size of the context, and its tree."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeVar
from urllib.parse import quote

from backscroll.conversation.agents import Agent
from backscroll.conversation.branches import Branch
from backscroll.conversation.context_window import context_window
from backscroll.conversation.titles import cut_at_word
from backscroll.render.html.element import NOTHING, Html, el, join, text, trusted
from backscroll.render.html.page_data import Links, OutlineItem
from backscroll.render.reports import AT_LEAST, dollars, short
from backscroll.render.terminal import clean_line, plural

T = TypeVar("T")

MAX_NAME_LENGTH: Final = 110
DEEPEST: Final = 6
MAX_BARS: Final = 150
"""Most bars: more would be thinner than a line."""
WIDTH: Final = 300
BARS_HEIGHT: Final = 40
CURVE_HEIGHT: Final = 56
MARK: Final = 4


def money(nanodollars: int | None) -> str:
    """Return an amount in dollars; empty if no price is known."""
    return dollars(round(nanodollars / 1000)) if nanodollars is not None else ""


def first_words(text: str, longest: int = MAX_NAME_LENGTH) -> str:
    """Return the beginning of a text, on one line."""
    return cut_at_word(clean_line(text[: 4 * longest]), longest)


def outline_list(items: Iterable[OutlineItem], address: str, filled: Iterable[int] = ()) -> Html:
    """Return the prompts and compactions as links. `address` is the relative address of the page."""
    here = set(filled)
    return el("ol", [_line(item, address, is_here=item.chunk in here) for item in items], class_="outline")


def _line(item: OutlineItem, address: str, *, is_here: bool) -> Html:
    """Return a line, without `el`: a long chat has thousands of lines, which would take half of its page's time."""
    agents = f"agents {money(item.agents_cost)}" if item.agents_cost else ""
    cost = f"{AT_LEAST if item.is_lower_bound else ''}{money(item.cost)}" if item.cost else ""
    sizes = [cost, agents, plural(item.calls, "call") if item.calls else ""]
    facts = "".join(f"<span>{text(word)}</span>" for word in sizes if word)
    if item.errors:
        facts += f'<span class="error">{text(plural(item.errors, "error"))}</span>'
    at = quote(item.id, safe="")
    href = f"#m-{at}" if is_here else f"{address}&at={at}#m-{at}"
    return trusted(
        f'<li class="outline-{text(item.kind)}"><a href="{text(href)}"'
        f' data-chunk="{item.chunk:d}"><span class="outline-text">{text(_name(item))}</span>'
        f'{f"""<span class="outline-facts">{facts}</span>""" if facts else ""}</a></li>'
    )


def _name(item: OutlineItem, longest: int = MAX_NAME_LENGTH) -> str:
    if item.kind == "compaction":
        return "Compacted"
    return first_words(item.text, longest) or ("Attachment" if item.kind == "prompt" else "Start of the session")


def minimap(items: Sequence[OutlineItem]) -> Html:
    """Return a bar for each turn, as high as its cost, with marks for errors and dividers for compactions."""
    turns = [item for item in items if item.kind != "compaction"]
    if len(items) < 2:
        return NOTHING
    has_costs = any(item.cost for item in items)
    groups = _groups(items)
    sizes = [sum((item.cost or 0) if has_costs else item.messages for item in group) for group in groups]
    most, step = max(sizes) or 1, WIDTH / len(groups)
    drawn: list[Html] = []
    for number, (group, size) in enumerate(zip(groups, sizes, strict=True)):
        x = number * step
        if any(item.kind == "compaction" for item in group):
            drawn.append(_vertical(x + step / 2, BARS_HEIGHT))
        if size or any(item.kind != "compaction" for item in group):
            height = max((BARS_HEIGHT - MARK - 1) * size / most, 1.5)
            place = {"x": f"{x + step * 0.1:.2f}", "width": f"{max(step * 0.8, 0.5):.2f}"}
            errors = sum(item.errors for item in group)
            drawn.append(
                el(
                    "g",
                    el("title", _bar_title(group, errors)),
                    el("rect", class_="turn-hit", x=f"{x:.2f}", y=0, width=f"{step:.2f}", height=BARS_HEIGHT),
                    el(
                        "rect",
                        class_="turn",
                        y=f"{BARS_HEIGHT - MARK - 1 - height:.2f}",
                        height=f"{height:.2f}",
                        **place,
                    ),
                    el("rect", class_="turn-error", y=BARS_HEIGHT - MARK, height=MARK, **place) if errors else None,
                    data_message=group[0].id,
                    data_chunk=group[0].chunk,
                )
            )
    what = "Cost" if has_costs else "Messages"
    label = (
        f"{what} of each of {plural(len(turns), 'turn')}, with {plural(sum(item.errors for item in items), 'error')}"
    )
    picture = el("svg", drawn, viewBox=f"0 0 {WIDTH} {BARS_HEIGHT}", preserveAspectRatio="none", role="img",
                 aria_label=label, class_="minimap")  # fmt: skip
    return el("figure", picture, el("figcaption", f"{what} of each turn"), class_="strip")


def gauge(items: Sequence[OutlineItem], address: str = "") -> Html:
    """Return how full the context was at the end of each turn, and is now; `address` is the page that explains it.

    Where the size of the window is not known, the tokens stand alone.
    """
    known = [item.context for item in items if item.context is not None]
    if not known:
        return NOTHING
    now, most = known[-1], max(known)
    window = _window(items, most)
    if window is None:
        amount = f"{short(now)} tokens"
        meter = NOTHING
    else:
        share = f"{100 * now / window:.0f} %"
        amount = f"{short(now)} of {short(window)} tokens · {share}"
        label = f"Context: {short(now)} of {short(window)} tokens, {share}"
        meter = el("meter", share, value=now, min=0, max=window, high=round(window * 0.8), aria_label=label)
    name = el("a", "Context", href=address) if address else "Context"
    caption = el("figcaption", name, " ", el("span", amount))
    if len(known) < 2:
        return el("figure", meter, caption, class_="strip gauge")
    height = window or most or 1
    groups = _groups(items)
    step = WIDTH / len(groups)
    points, divided = [], []
    for number, group in enumerate(groups):
        if any(item.kind == "compaction" for item in group):
            divided.append(_vertical((number + 0.5) * step, CURVE_HEIGHT))
        values = [item.context for item in group if item.context is not None]
        if values:
            points.append((f"{(number + 0.5) * step:.2f}", f"{CURVE_HEIGHT * (1 - values[-1] / height):.2f}"))
    line = " ".join(f"{x},{y}" for x, y in points)
    area = f"{points[0][0]},{CURVE_HEIGHT} {line} {points[-1][0]},{CURVE_HEIGHT}"
    picture = el(
        "svg",
        el("polygon", points=area, class_="fill"),
        el("polyline", points=line, class_="curve"),
        divided,
        viewBox=f"0 0 {WIDTH} {CURVE_HEIGHT}",
        preserveAspectRatio="none",
        aria_hidden="true",
        class_="context",
    )
    return el("figure", picture, meter, caption, class_="strip gauge")


def _window(items: Sequence[OutlineItem], most: int) -> int | None:
    """Return the context window of the last model, if its name or the largest context tells it."""
    model = next((item.model for item in reversed(items) if item.model), None)
    before = [item.context for item, after in pairwise(items) if after.kind == "compaction" and item.context]
    return context_window(model, most, max(before, default=None))


def _vertical(x: float, height: int) -> Html:
    return el("line", x1=f"{x:.2f}", x2=f"{x:.2f}", y1=0, y2=height, class_="compaction")


def _bar_title(group: Sequence[OutlineItem], errors: int) -> str:
    cost = sum(item.cost or 0 for item in group)
    names = [_name(group[0], 80), f"and {len(group) - 1} more" if len(group) > 1 else ""]
    least = AT_LEAST if any(item.is_lower_bound for item in group) else ""
    names += [f"{least}{money(cost)}" if cost else "", plural(errors, "error") if errors else ""]
    return " · ".join(word for word in names if word)


def _groups(items: Sequence[OutlineItem]) -> list[Sequence[OutlineItem]]:
    """Return the items one by one, or grouped if there are too many to distinguish."""
    size = -(-len(items) // MAX_BARS)
    return [items[start : start + size] for start in range(0, len(items), size)]


def tree(
    sessions: Sequence[str], branches: Sequence[Branch], agents: Sequence[Agent], here: int, address: str, links: Links
) -> Html:
    """Return the branches and agents of a chat. The branch is added to `address`."""
    counts = [plural(len(sessions), "session")] if len(sessions) > 1 else []
    counts += [f"{len(branches)} branches"] if len(branches) > 1 else []
    counts += [plural(len(agents), "agent")] if agents else []
    if not counts:
        return NOTHING
    parts: list[Html] = []
    if len(sessions) > 1:
        parts += [el("p", "Sessions", class_="tree-label"), el("ul", [_session(name, branches) for name in sessions])]
    if len(branches) > 1:
        parts += [el("p", "Branches", class_="tree-label"), _branch_list(branches, here, address)]
    if agents:
        parts += [el("p", "Agents", class_="tree-label"), agent_list(agents, links)]
    return el("details", el("summary", " · ".join(counts)), parts, class_="tree")


def _session(name: str, branches: Sequence[Branch]) -> Html:
    ends = [str(branch.number) for branch in branches if name in branch.sessions]
    ending = f" ends branch {', '.join(ends)}" if ends and len(branches) > 1 else ""
    return el("li", el("code", name[:8], title=name), el("span", ending, class_="muted"))


def _branch_list(branches: Sequence[Branch], here: int, address: str) -> Html:
    holder = {turn: branch.number for branch in branches for turn in branch.turns}
    below: dict[int | None, list[Branch]] = {}
    for branch in branches:
        parent = holder.get(branch.left_at) if branch.left_at else None
        below.setdefault(parent if parent != branch.number else None, []).append(branch)

    def line(branch: Branch) -> Html:
        head = next((turn.head for turn in branch.turns if turn.head and turn.head.row.text), None)
        link = el(
            "a",
            f"{branch.number}. {first_words(head.row.text if head else '', 80) or 'Attachment'}",
            href=f"{address}?branch={branch.number}&from={here}"
            if branch.number != here
            else f"{address}?branch={here}",
            aria_current="true" if branch.number == here else None,
        )
        size = plural(len(branch.turns), "turn") + (", active" if branch.number == 1 else "")
        return join([link, " ", el("span", size, class_="muted")])

    return _nested(below, None, lambda branch: branch.number, line)


def agent_list(agents: Sequence[Agent], links: Links) -> Html:
    """Return the agents as links to their pages, each with the agents that it started below it."""
    known = {id(agent) for agent in agents}
    below: dict[int | None, list[Agent]] = {}
    for agent in agents:
        below.setdefault(id(agent.parent) if id(agent.parent) in known else None, []).append(agent)

    def line(agent: Agent) -> Html:
        what = first_words(agent.description or agent.prompt, 80) or agent.id
        address = links.agent(agent.id)
        kind = el("span", agent.type or "agent", class_="badge")
        return join([kind, " ", el("a", what, href=address) if address else el("span", what)])

    return _nested(below, None, id, line)


def _nested(
    below: Mapping[int | None, Sequence[T]],
    parent: int | None,
    key: Callable[[T], int],
    line: Callable[[T], Html],
    depth: int = 0,
) -> Html:
    """Return a nested list. Very deep levels are flattened, because the width of a page is limited."""
    own = below.get(parent, ())
    if not own:
        return NOTHING
    if depth < DEEPEST:
        return el("ul", [el("li", line(item), _nested(below, key(item), key, line, depth + 1)) for item in own])
    flat, waiting = [], list(reversed(own))
    while waiting:
        item = waiting.pop()
        flat.append(el("li", line(item)))
        waiting.extend(reversed(below.get(key(item), ())))
    return el("ul", flat)
