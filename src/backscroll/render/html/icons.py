"""Icons: our own line drawings, 16 by 16, in the colour of the text beside them. `base.css` gives them their stroke."""

from functools import cache
from typing import Final

from backscroll.render.html.element import Html, el


@cache
def icon(name: str) -> Html:
    """Return a drawing without a label of its own: the text beside it has one."""
    return el("svg", el("path", d=DRAWINGS[name]), viewBox="0 0 16 16", class_=f"icon icon-{name}", aria_hidden="true")


@cache
def mark() -> Html:
    """Return the mark of backscroll: lines of a conversation, and the way back up through them."""
    return el(
        "svg",
        el("rect", x=1, y=1, width=22, height=22, rx=6, class_="mark-ground"),
        el("path", d="M6.5 7.5h6M6.5 12h4M6.5 16.5h6", class_="mark-lines"),
        el("path", d="M16.5 17V7.5m-3 3 3-3 3 3", class_="mark-way"),
        viewBox="0 0 24 24", class_="mark", aria_hidden="true",
    )  # fmt: skip


DRAWINGS: Final = {
    "agent": "M4.5 6.5h7a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-4a1 1 0 0 1 1-1ZM8 6.5V3.5M6.5 9.5h.01"
    "M9.5 9.5h.01",
    "archive": "M2.5 3.5h11v3h-11ZM3.5 6.5v6h9v-6M6.5 9h3",
    "arrow-down": "M8 3.5v9m-3.5-3.5L8 12.5 11.5 9",
    "arrow-left": "M12.5 8h-9m3.5-3.5L3.5 8 7 11.5",
    "arrow-right": "M3.5 8h9M9 4.5 12.5 8 9 11.5",
    "arrow-up": "M8 12.5v-9M4.5 7 8 3.5 11.5 7",
    "bell": "M8 2.5a3.5 3.5 0 0 1 3.5 3.5c0 3 1 4 1.5 4.5h-10c.5-.5 1.5-1.5 1.5-4.5A3.5 3.5 0 0 1 8 2.5ZM6.5 13h3",
    "branch": "M5 4.5v7M5 11.5a1.5 1.5 0 1 0 .01 0M5 4.5a1.5 1.5 0 1 1 .01 0M11 6.5a1.5 1.5 0 1 1 .01 0"
    "M11 6.5C11 9 5 8 5 11",
    "chart": "M2.5 13.5h11M4.5 11V8M8 11V3.5M11.5 11V6",
    "chat": "M3.5 3h9a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1H8l-3.5 2.5V11h-1a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1Z",
    "check": "m3.5 8.5 3 3 6-7",
    "circle": "M8 4.5a3.5 3.5 0 1 1-.01 0Z",
    "circle-dot": "M8 4.5a3.5 3.5 0 1 1-.01 0ZM8 7a1 1 0 1 1-.01 0Z",
    "chevron-left": "M9.5 4.5 6 8l3.5 3.5",
    "chevron-right": "M6.5 4.5 10 8l-3.5 3.5",
    "clock": "M8 2.5a5.5 5.5 0 1 1-.01 0ZM8 5v3l2 1.5",
    "close": "m4 4 8 8m0-8-8 8",
    "code": "M5.5 5 2.5 8l3 3M10.5 5l3 3-3 3",
    "coin": "M8 2.5a5.5 5.5 0 1 1-.01 0Z"
    "M9.8 6.2c-.4-.6-1-.9-1.8-.9-1 0-1.8.5-1.8 1.3 0 1.9 3.7.9 3.7 2.8 0 .8-.8 1.4-1.9 1.4-.9 0-1.6-.4-2-1"
    "M8 4.4v.9m0 5.5v.9",
    "copy": "M6 5.5h6.5a1 1 0 0 1 1 1V13a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V6.5a1 1 0 0 1 1-1Z"
    "M2.5 10.5V3.5a1 1 0 0 1 1-1h7",
    "download": "M8 2.5v7.5m-3-3 3 3 3-3M2.5 12.5h11",
    "edit": "M3 13l.6-2.7 7.2-7.2 2.1 2.1-7.2 7.2ZM9.3 4.6l2.1 2.1",
    "external": "M9.5 2.5h4v4m0-4-6 6M6.5 3.5h-3a1 1 0 0 0-1 1v8a1 1 0 0 0 1 1h8a1 1 0 0 0 1-1v-3",
    "file": "M4.5 2.5h4.5l3 3v7a1 1 0 0 1-1 1H4.5a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1ZM9 2.5v3h3",
    "file-plus": "M4.5 2.5h4.5l3 3v7a1 1 0 0 1-1 1H4.5a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1ZM9 2.5v3h3M7.75 7.5v4M5.75 9.5h4",
    "filter": "M2.5 4h11M4.5 8h7M6.5 12h3",
    "folder": "M2.5 4.5a1 1 0 0 1 1-1h3l1.5 2h4.5a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1Z",
    "globe": "M8 2.5a5.5 5.5 0 1 1-.01 0ZM2.5 8h11M8 2.5c2 1.6 2.6 3.4 2.6 5.5S10 12 8 13.5"
    "M8 2.5C6 4.1 5.4 5.9 5.4 8S6 12 8 13.5",
    "home": "M2.5 7.5 8 3l5.5 4.5M4 6.5v6.5h8V6.5M6.5 13V9.5h3V13",
    "keyboard": "M2.5 4.5h11a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1v-5a1 1 0 0 1 1-1ZM4.5 7h.01M7 7h.01"
    "M9.5 7h.01M11.8 7h.01M5.5 9.3h5",
    "light": "M8 5.2a2.8 2.8 0 1 1-.01 0ZM8 2v1M8 13v1M2 8h1M13 8h1M3.8 3.8l.7.7"
    "M11.5 11.5l.7.7M12.2 3.8l-.7.7M4.5 11.5l-.7.7",
    "link": "M6.5 9.5a2.5 2.5 0 0 0 3.6 0l2.2-2.2a2.5 2.5 0 0 0-3.6-3.6l-.7.7M9.5 6.5a2.5 2.5 0 0 0-3.6 0"
    "L3.7 8.7a2.5 2.5 0 0 0 3.6 3.6l.7-.7",
    "list": "m2.5 4.3 1.2 1.2 2-2.3M8 4.5h5.5m-11 6.8 1.2 1.2 2-2.3M8 11.5h5.5",
    "menu": "M3.5 8h.01M8 8h.01M12.5 8h.01",
    "moon": "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5Z",
    "note": "M3.5 2.5h9a1 1 0 0 1 1 1v6l-4 4h-6a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1ZM13.5 9.5h-3a1 1 0 0 0-1 1v3M5.5 6h5"
    "M5.5 8.5h2.5",
    "outline": "M2.5 4h11M5 8h8.5M5 12h8.5M2.5 8h.01M2.5 12h.01",
    "pane": "M2.5 3h11a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1ZM6 3v10M3.5 5.5h.5M3.5 8h.5",
    "person": "M8 3a2.5 2.5 0 1 1-.01 0ZM3 13.5c.5-2.5 2.5-3.5 5-3.5s4.5 1 5 3.5",
    "pin": "m8 2.5 1.7 3.5 3.8.5-2.8 2.7.7 3.8L8 11.2 4.6 13l.7-3.8L2.5 6.5l3.8-.5Z",
    "play": "M5 3.5v9l7-4.5Z",
    "plan": "M3.5 2.5h9v11h-9ZM5.5 5.5h5M5.5 8h5M5.5 10.5h3",
    "plug": "M5.5 2.5v3M10.5 2.5v3M4 5.5h8v2a4 4 0 0 1-8 0ZM8 11.5v2",
    "plus": "M8 3.5v9M3.5 8h9",
    "prompt": "M3.5 3h9a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1H8l-3.5 2.5V11h-1a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1Z"
    "M5.5 5.5 7 7 5.5 8.5M8.5 8.5h2",
    "question": "M8 2.5a5.5 5.5 0 1 1-.01 0ZM6.3 6.5a1.7 1.7 0 1 1 2.5 1.5c-.5.3-.8.6-.8 1.2M8 11.2h.01",
    "refresh": "M13 8a5 5 0 1 1-1.5-3.5L13 6m0-3.5V6H9.5",
    "search": "M7 2.5a4.5 4.5 0 1 1-.01 0Zm3.3 7.8 3.2 3.2",
    "settings": "M2.5 4.5h5m3 0h3M2.5 11.5h2m3 0h6M9 3v3M6 10v3",
    "share": "M8 10V2.5m-3 3 3-3 3 3M5 7.5H3.5v6h9v-6H11",
    "slash": "M10.5 2.5l-5 11",
    "spark": "M8 2.5 9.3 6.7 13.5 8 9.3 9.3 8 13.5 6.7 9.3 2.5 8 6.7 6.7Z",
    "tag": "M2.5 3.5v4l6 6 5-5-6-6h-4a1 1 0 0 0-1 1ZM5.5 5.5h.01",
    "terminal": "M2.5 3h11a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1ZM4.5 6l2 2-2 2M8 10.5h3",
    "theme": "M8 2.5a5.5 5.5 0 1 1-.01 0ZM8 2.5v11a5.5 5.5 0 0 0 0-11Z",
    "thought": "M8 2.5a4 4 0 0 0-2.2 7.3c.5.4.7.7.7 1.2h3c0-.5.2-.8.7-1.2A4 4 0 0 0 8 2.5ZM6.5 13.5h3",
    "tool": "M10.5 2.7a3.2 3.2 0 0 0-3.9 4.2l-4 4a1.3 1.3 0 0 0 1.9 1.9l4-4a3.2 3.2 0 0 0 4.2-3.9L11 6.6 9.2 4.8Z",
    "warning": "M8 2.5 14 13H2ZM8 6.5v3M8 11.3h.01",
}  # fmt: skip
"""Path of each drawing. A dot is a line of no length with round ends."""
