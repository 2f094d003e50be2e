"""Compare the texts of two copies of a row. Copies of one row come from several machines, and some leave texts out.

A machine may have masked secrets in the texts it sent, or have sent no text at all: neither is a conflict. Pure.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from backscroll.conversation.messages import blocks_of, text_of_result
from backscroll.conversation.rows import Row, text_of
from backscroll.records.content import Text, Thinking, ToolResult, ToolUse
from backscroll.records.kinds import ChainRecord


def is_other(record: ChainRecord, copy: ChainRecord) -> bool:
    """Whether a copy of a row has another text."""
    own, other = _texts(record), _texts(copy)
    return any(not _is_same(own[kind], other[kind]) for kind in own.keys() & other.keys())


def said_in(rows: Iterable[Row]) -> str:
    """Return the texts of rows, joined."""
    texts = [text for row in rows if row.record is not None for text in _texts(row.record).values()]
    return "\n".join(dict.fromkeys(texts))


def _texts(record: ChainRecord) -> dict[str, str]:
    """Return the texts of a record, by kind, without empty ones."""
    texts: dict[str, list[str]] = defaultdict(list)
    blocks = blocks_of(record)
    for block in blocks:
        if isinstance(block, Text):
            texts["text"].append(block.text)
        elif isinstance(block, Thinking):
            texts["thinking"].append(block.thinking)
        elif isinstance(block, ToolUse):
            texts["input"].append(bytes(block.input).decode("utf-8", "replace"))
        elif isinstance(block, ToolResult):
            texts["output"].append(text_of_result(block))
    if not blocks:
        texts["text"].append(text_of(record))
    joined = {kind: "\n".join(parts) for kind, parts in texts.items()}
    return {kind: text for kind, text in joined.items() if text.strip() not in WITHOUT_TEXT}


def _is_same(one: str, other: str) -> bool:
    if one == other:
        return True
    parts, others = MASK.split(one), MASK.split(other)
    if len(parts) == len(others):
        return parts == others
    if len(parts) > 1 and len(others) > 1:
        return False
    return _fits(parts, other) if len(parts) > 1 else _fits(others, one)


def _fits(parts: Sequence[str], text: str) -> bool:
    """Whether a text consists of these parts with any text between them. Takes one pass."""
    first, last = parts[0], parts[-1]
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in parts[1:-1]:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


MASK: Final = re.compile(r"\[redacted: [^\]\n]{1,80}\]")
"""A mask as `redaction` writes it."""
WITHOUT_TEXT: Final = ("", "{}", "null")
