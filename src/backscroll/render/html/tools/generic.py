"""Tools of which we know nothing but what they were asked and what they gave back."""

from typing import Any

from backscroll.records.content import Document, Image, Text, ToolReference, UnknownBlock
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.pictures import document_note
from backscroll.render.html.plain import json_of
from backscroll.render.html.tools.call_view import CallReader, CallView, label


def generic(called: CallReader) -> CallView:
    """Any tool: its input field by field, and its result as what it looks like."""
    about = called.asked("title", "name", "subject", "query") or called.about
    return CallView(about.lstrip("# "), [_input(called), *result(called)])


def skill(called: CallReader) -> CallView:
    """Skill, SlashCommand: instructions that the model read."""
    name = called.asked("skill", "command", "name")
    arguments = called.asked("args")
    parts = [label("with", el("pre", arguments, class_="plain"))] if arguments else []
    said = "" if called.has_failed else called.output
    return CallView(name, [*parts, el("p", said, class_="muted") if said else NOTHING])


def result(called: CallReader) -> list[Html]:
    """What came back, apart from errors."""
    if called.has_failed or called.call.result is None:
        return []
    parts: list[Html] = []
    blocks = called.result_blocks
    texts = [block.text for block in blocks if isinstance(block, Text)] if blocks else [called.output]
    names = [block.tool_name or "" for block in blocks if isinstance(block, ToolReference)]
    if names:
        parts.append(el("ul", [el("li", name) for name in names], class_="file-list"))
    parts += [called.readable(text) for text in texts if text.strip()]
    parts += called.pictures()
    for block in blocks:
        if isinstance(block, Document):
            parts.append(document_note(block))
        elif not isinstance(block, (Text, Image, ToolReference)):
            parts.append(json_of(block.fields if isinstance(block, UnknownBlock) else str(block)))
    return [label("result", el("div", parts))] if parts else []


def _input(called: CallReader) -> Html:
    items = [[el("dt", name), el("dd", _value(called, value))] for name, value in called.input.items()]
    return el("dl", items, class_="fields") if items else NOTHING


def _value(called: CallReader, value: Any) -> Html:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, str):
        return called.readable(value) if "\n" in value or len(value) > 200 else el("span", value)
    if isinstance(value, (dict, list)):
        if (
            isinstance(value, list)
            and value
            and all(isinstance(one, (str, int, float)) for one in value)
            and len(value) < 20
        ):
            return el("span", ", ".join(map(str, value)))
        return json_of(value, called.view.whole)
    return el("span", "yes" if value is True else "no" if value is False else "none" if value is None else str(value))
