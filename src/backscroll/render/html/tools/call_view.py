"""Tools for the views of tool calls: reading the input and result, and truncating long parts."""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from backscroll.conversation.messages import CallState, Message, ToolCall
from backscroll.conversation.rows import Row
from backscroll.records.content import Block, Image
from backscroll.records.decode import readable_value
from backscroll.records.kinds import ChainRecord
from backscroll.render.html.code import code
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.page_data import View
from backscroll.render.html.pictures import picture
from backscroll.render.html.plain import CUT_BYTES, CUT_LINES, indent_json, readable, truncate, without_reminders
from backscroll.render.html.prose import prose
from backscroll.render.parts import call_title, result_text


class CallView(NamedTuple):
    """The pieces of a call that are shown."""

    about: str = ""
    """Subject of the call, on one line: a file, a command, a pattern."""
    parts: Sequence[Html] = ()
    """Contents of the call when expanded."""
    facts: str = ""
    """The result, in a few words."""
    words: str = ""
    """Description that the model gave."""
    is_open: bool = False
    says_error: bool = False
    """Whether the parts contain the error; otherwise it is added below them."""
    path: str = ""
    """File that the call is about."""


class CallReader:
    """Reads a tool call for its view."""

    def __init__(self, call: ToolCall, message: Message, view: View) -> None:
        self.call = call
        self.message = message
        self.view = view
        self.state = call.state

    @cached_property
    def input(self) -> dict[str, Any]:
        """Input of the call, if it is an object."""
        value = readable_value(self.call.block.input)
        return value if isinstance(value, dict) else {}

    @cached_property
    def recorded_result(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Details of the result that the client recorded, besides the text for the model."""
        return readable_value(self.call.result.details) if self.call.result else None

    @property
    def details(self) -> dict[str, Any]:
        """Recorded details of the result, if they are an object."""
        return self.recorded_result if isinstance(self.recorded_result, dict) else {}

    @cached_property
    def output(self) -> str:
        """Output for the model, without the client's wrapping."""
        return WRAPPING.sub("", without_reminders(result_text(self.call)))

    @property
    def result_blocks(self) -> list[Block]:
        """Output for the model, as blocks."""
        content = self.call.result.block.content if self.call.result else ""
        return [] if isinstance(content, str) else content

    @cached_property
    def row(self) -> Row:
        """Row that contains the call."""
        return self.message.row_of_call.get(self.call.id, self.message.rows[0])

    @property
    def seconds(self) -> float | None:
        """Seconds from the call to its result."""
        begun, ended = self.row.when, self.call.result.row.when if self.call.result else None
        seconds = (ended - begun).total_seconds() if begun and ended else None
        return seconds if seconds is not None and seconds >= 0 else None

    @property
    def has_failed(self) -> bool:
        """Whether the call failed, was denied or was interrupted."""
        return self.state in (CallState.ERROR, CallState.DENIED, CallState.INTERRUPTED)

    @property
    def about(self) -> str:
        """Subject of the call, from the input fields that most tools use."""
        return call_title(self.call)[len(self.call.name or "tool") + 1 : -1]

    @property
    def whole_link(self) -> str | None:
        """Link to the full call."""
        return self.view.links.whole(self.call.id)

    def input_text(self, *names: str) -> str:
        """Return the first of these input fields that is a non-empty string."""
        return first_text(self.input, *names)

    def detail_text(self, *names: str) -> str:
        """Return the first of these fields of the recorded details that is a non-empty string."""
        return first_text(self.details, *names)

    def short_path(self, path: str) -> str:
        """Return a path relative to the working directory."""
        record = self.row.record
        folder = record.cwd if isinstance(record, ChainRecord) else None
        return (
            path[len(folder) :].lstrip("/\\") or path
            if folder and path.startswith((f"{folder}/", f"{folder}\\"))
            else path
        )

    def truncate(
        self, text: str, show: Callable[[str], Html], lines: int = CUT_LINES, characters: int = CUT_BYTES
    ) -> Html:
        """Return a text, truncated if it is long, with a link to the rest."""
        excerpt, count = (text, 0) if self.view.whole else truncate(text, lines, characters)
        return join([show(excerpt), self.more(count)]) if count else show(excerpt)

    def prose(self, text: str) -> Html:
        """Return Markdown as HTML; more of it is shown than of output."""
        return self.truncate(text, prose, PROSE_LINES, PROSE_BYTES)

    def more(self, lines: int) -> Html:
        """Return the link to the rest of a truncated text."""
        label = f"Show all {lines:,} lines" if lines > 1 else "Show all"
        link = self.whole_link
        if link is None:
            return el("p", f"{lines:,} lines; the rest is not shown", class_="more muted")
        return el("a", label, class_="more", href=link, data_fill=link)

    def code(self, text: str, language: str = "", file: str = "", first_line: int | None = None) -> Html:
        """Return code, truncated if it is long."""
        return self.truncate(text, lambda shown: code(shown, language, file, first_line))

    def readable(self, text: str) -> Html:
        """Return a text of unknown type. JSON is formatted before it is cut, because half of it would not parse."""
        written = indent_json(text)
        return self.truncate(text, readable) if written is None else self.code(written, "json")

    def pictures(self) -> list[Html]:
        """Return the pictures in the result."""
        if self.call.result is None:
            return []
        here = [block for block in self.result_blocks if isinstance(block, Image)]
        known, unknown = self.message.picture_positions if here else {}, (self.call.result.row, 0)
        places = ((block, *known.get(id(block), unknown)) for block in here)
        return [picture(block, row.uuid, number, self.view) for block, row, number in places]

    def server_results(self) -> list[Block]:
        """Return the results of server-side tools in the same message: a search or a fetched page."""
        return self.message.server_results.get(self.call.id, [])


def first_text(fields: dict[str, Any], *names: str) -> str:
    """Return the first of these fields that is a non-empty string."""
    return next((value for name in names if isinstance(value := fields.get(name), str) and value), "")


def label(name: str, content: Html | str, *, title: str | None = None) -> Html:
    """Return a part with a small heading."""
    return (
        el("div", el("p", name, class_="part-label", title=title), content, class_="labelled") if content else NOTHING
    )


PROSE_LINES: Final = 100
PROSE_BYTES: Final = 12_000
WRAPPING: Final = re.compile(r"</?tool_use_error>")
