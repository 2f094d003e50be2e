"""The banner of a chat with branches: which branch the page shows, and where it left its parent."""

from collections.abc import Sequence
from typing import Final

from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.html.outline import first_words
from backscroll.render.html.page_data import BranchOrigin

MAX_LISTED: Final = 3
MAX_ORIGIN_LENGTH: Final = 90


def branch_banner(branch: int, origins: Sequence[BranchOrigin], address: str) -> Html:
    """Return the banner; nothing for a chat with one branch. `origins` are those of all branches but the first."""
    if not origins:
        return NOTHING
    count = len(origins) + 1
    own = next((origin for origin in origins if origin.number == branch), None)
    name = el("strong", f"Branch {branch} of {count}" + (", the active one" if branch == 1 else ""))
    if own is not None:
        other = own.parent or 1
        where = _after(own) if own.parent else "before its first prompt"
        description: list[object] = [f" leaves branch {other} {where}"]
        links = [_go(address, branch, other, "Where it leaves"), _go(address, other, branch, f"Read branch {other}")]
    else:
        other = origins[0].number
        listed = [
            join([_go(address, origin.number, 1, f"branch {origin.number}"), f" leaves {_after(origin)}"])
            for origin in origins[:MAX_LISTED]
        ]
        more = len(origins) - len(listed)
        description = [" · ", join(listed, " · "), f" · {more:,} more in the outline" if more else ""]
        links = []
    both = f"{address}/compare?left={other}&right={branch}"
    name_of_link = el("span", "Compare", el("span", f" with branch {other}", class_="roomy"))
    compare = el(
        "a", icon("branch"), name_of_link, href=both, id="compare", class_="button", title="Compare branches (b)"
    )
    return el(
        "div",
        el("p", icon("branch"), el("span", name, description)),
        el("p", links, compare, class_="branch-links"),
        class_="branch-banner",
        role="note",
        aria_label="Branch",
    )


def _after(origin: BranchOrigin) -> str:
    return f"after “{first_words(origin.text, MAX_ORIGIN_LENGTH)}”" if origin.text else "at the start"


def _go(address: str, branch: int, other: int, name: str) -> Html:
    return el("a", name, href=f"{address}?branch={branch}&from={other}")
