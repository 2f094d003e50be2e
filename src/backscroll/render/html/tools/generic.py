"""The view of tools that have none of their own: the input and the result."""

from typing import Any

from backscroll.records.content import Document, Image, Text, ToolReference, UnknownBlock
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.pictures import document_note
from backscroll.render.html.plain import json_html
from backscroll.render.html.tools.call_view import CallReader, CallView, label


def generic(reader: CallReader) -> CallView:
    """Any tool: its input field by field, and its result in the format that it seems to have."""
    about = reader.input_text("title", "name", "subject", "query") or reader.about
    return CallView(about.lstrip("# "), [_input(reader), *result(reader)])


def skill(reader: CallReader) -> CallView:
    """Skill, SlashCommand: instructions that the model read."""
    name = reader.input_text("skill", "command", "name")
    arguments = reader.input_text("args")
    parts = [label("with", el("pre", arguments, class_="plain"))] if arguments else []
    output = "" if reader.has_failed else reader.output
    return CallView(name, [*parts, el("p", output, class_="muted") if output else NOTHING])


def result(reader: CallReader) -> list[Html]:
    """Return the result, unless it is an error."""
    if reader.has_failed or reader.call.result is None:
        return []
    parts: list[Html] = []
    blocks = reader.result_blocks
    texts = [block.text for block in blocks if isinstance(block, Text)] if blocks else [reader.output]
    names = [block.tool_name or "" for block in blocks if isinstance(block, ToolReference)]
    if names:
        parts.append(el("ul", [el("li", name) for name in names], class_="file-list"))
    parts += [reader.readable(text) for text in texts if text.strip()]
    parts += reader.pictures()
    for block in blocks:
        if isinstance(block, Document):
            parts.append(document_note(block))
        elif not isinstance(block, (Text, Image, ToolReference)):
            parts.append(json_html(block.fields if isinstance(block, UnknownBlock) else str(block)))
    return [label("result", el("div", parts))] if parts else []


def _input(reader: CallReader) -> Html:
    items = [[el("dt", name), el("dd", _value(reader, value))] for name, value in reader.input.items()]
    return el("dl", items, class_="fields") if items else NOTHING


def _value(reader: CallReader, value: Any) -> Html:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, str):
        return reader.readable(value) if "\n" in value or len(value) > 200 else el("span", value)
    if isinstance(value, (dict, list)):
        if (
            isinstance(value, list)
            and value
            and all(isinstance(item, (str, int, float)) for item in value)
            and len(value) < 20
        ):
            return el("span", ", ".join(map(str, value)))
        return json_html(value, reader.view.whole)
    return el("span", "yes" if value is True else "no" if value is False else "none" if value is None else str(value))
